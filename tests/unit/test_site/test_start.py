"""What a command loads before it does anything: start-up time is a budget, counted in modules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace_site.catalogue import review_commands
from tests.helpers.commands import REPOSITORY, process_environment

# Modules that only some work needs; each costs a start between 3 and 40 ms.
COLD = (
    "django.contrib", "django.core.mail", "django.core.servers", "django.db.migrations",
    "django.urls", "markdown_it", "mcp", "multiprocessing", "psycopg", "rapidfuzz", "rich",
    "tomllib", "unittest", "urllib.request", "yaml",
)  # fmt: skip
PROBE = """
import json, sys
from commonplace_site.loading import CLI_SETTINGS, load_apps
load_apps(CLI_SETTINGS)
import importlib
importlib.import_module("review.management.commands." + sys.argv[1])
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    (folder / "kb").mkdir()
    return folder


def modules_of(command: str, root: Path) -> set[str]:
    """The modules that are loaded when `command` is ready to run."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, command],
        capture_output=True,
        check=True,
        cwd=root,
        env=process_environment(root) | {"PYTHONPATH": str(REPOSITORY)},
    )
    return set(json.loads(done.stdout))


class TestStart:
    @pytest.mark.parametrize("command", review_commands())
    def test_loads_nothing_that_only_some_work_needs(self, command, root):
        loaded = modules_of(command, root)

        cold = {name for name in loaded if is_cold(name)}

        assert not cold


def is_cold(name: str) -> bool:
    """Whether a module is one of COLD or inside one, not merely named alike."""
    return any(name == cold or name.startswith(f"{cold}.") for cold in COLD)
