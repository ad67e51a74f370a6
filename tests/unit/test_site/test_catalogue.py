"""Which commands there are, and that each exists three ways."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from commonplace_site import catalogue
from commonplace_site.catalogue import DJANGO, OURS, SITE, find_command
from review.errors import ExitCode
from tests.helpers.refusals import refuses

REPOSITORY = Path(__file__).resolve().parents[3]
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


class TestFindCommand:
    @pytest.mark.parametrize(
        ("word", "name", "kind"),
        [
            pytest.param("ingest_bundle_output", "ingest_bundle_output", OURS, id="ours"),
            pytest.param("ingest-bundle-output", "ingest_bundle_output", OURS, id="dashes"),
            pytest.param("serve", "serve", SITE, id="site"),
            pytest.param("migrate", "migrate", DJANGO, id="django"),
            pytest.param("createsuperuser", "createsuperuser", DJANGO, id="django-auth"),
            pytest.param("show_urls", "show_urls", DJANGO, id="django-extensions"),
        ],
    )
    def test_knows_whose_a_command_is(self, word, name, kind):
        assert find_command(word) == (name, kind)

    @pytest.mark.parametrize(
        "word",
        [
            pytest.param("nonsense", id="unknown"),
            pytest.param("__init__", id="private"),
            pytest.param("../console", id="path"),
            pytest.param("", id="empty"),
            pytest.param("\x1b[2J", id="escape"),
        ],
    )
    def test_refuses(self, word):
        with refuses("unknown-command") as refused:
            find_command(word)

        assert refused.value.exit_code is ExitCode.USAGE

    def test_names_what_was_meant(self):
        with refuses("unknown-command") as refused:
            find_command("ingest_bundel_output")

        assert "ingest_bundle_output" in refused.value.hint


class TestScripts:
    def test_every_command_has_its_script(self):
        scripts = PYPROJECT["project"]["scripts"]
        commands = [*catalogue.review_commands(), *catalogue.site_commands()]

        assert set(scripts) - {"commonplace"} == {
            f"commonplace-{name.replace('_', '-')}" for name in commands
        }

    def test_every_script_enters_by_the_same_door(self):
        scripts = PYPROJECT["project"]["scripts"]

        assert scripts.pop("commonplace") == "commonplace_site.console:main"
        assert set(scripts.values()) == {"commonplace_site.console:named"}


class TestRequirements:
    @pytest.mark.parametrize("extra", ["web", "team", "dev"])
    def test_every_declared_dependency_is_locked(self, extra):
        declared = [
            *PYPROJECT["project"]["dependencies"],
            *PYPROJECT["project"]["optional-dependencies"][extra],
        ]
        names = {re.split(r"[\[<>=]", line)[0] for line in declared} - {"commonplace-review"}
        locked = (REPOSITORY / "requirements" / "dev.txt").read_text(encoding="utf-8")

        missing = {name for name in names if not re.search(rf"^{name}==", locked, re.MULTILINE)}

        assert not missing

    @pytest.mark.parametrize("name", ["base", "web", "dev"])
    def test_a_lock_file_names_no_place_to_fetch_from(self, name):
        text = (REPOSITORY / "requirements" / f"{name}.txt").read_text(encoding="utf-8")

        assert "--hash=sha256:" in text
        assert not re.search(r"://|^--|index-url|find-links", text, re.MULTILINE)
