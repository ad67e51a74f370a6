"""The runners that the starter kb/review.toml shows are ones that can be declared."""

from __future__ import annotations

from review.runners.registry import Dialect, find_runner
from review.settings.file import RUNNER_FIELDS
from tests.helpers.commands import REPOSITORY
from tests.unit.runners.test_registry import config_of

STARTER = REPOSITORY / "review" / "starter" / "review.toml"


def shown() -> str:
    """The example runners of the starter file, without their comment signs."""
    lines = STARTER.read_text(encoding="utf-8").splitlines()
    first = lines.index("# [runners.local]")
    bare = [line.removeprefix("#").removeprefix(" ") for line in lines[first:]]
    return "\n".join(line for line in bare if line.startswith("[") or " = " in line)


class TestStarter:
    def test_its_examples_are_runners(self, tmp_path):
        config = config_of(tmp_path, shown())

        found = {name: find_runner(name, config=config) for name in config.runners}

        assert list(found) == ["local", "events", "claude-code", "claude-writer", "some-api"]
        assert found["events"].dialect == Dialect.JSON_LINES
        assert found["claude-writer"].writes_file

    def test_it_shows_every_field(self, tmp_path):
        config = config_of(tmp_path, shown())

        assert set(config.runners["events"].fields) == set(RUNNER_FIELDS)
