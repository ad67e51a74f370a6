"""What a command loads before it does anything: start-up time is a budget, counted in modules."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from commonplace_site.catalogue import review_commands
from tests.helpers.commands import REPOSITORY, process_environment

# Modules that only some work needs; each costs a start between 3 and 40 ms.
COLD = (
    "django.contrib", "django.core.mail", "django.core.servers", "django.db.migrations",
    "django.urls", "markdown_it", "mcp", "multiprocessing", "psycopg", "rapidfuzz", "rich",
    "tomllib", "unittest", "urllib.request", "yaml",
)  # fmt: skip
# Each command is loaded in a process of its own; what all of them load first is loaded once.
PROBE = """
import importlib, json, os, sys
from commonplace_site.loading import CLI_SETTINGS, load_apps
load_apps(CLI_SETTINGS)
for command in sys.argv[1:]:
    if os.fork():
        os.wait()
        continue
    try:
        importlib.import_module("review.management.commands." + command)
        print(json.dumps([command, sorted(sys.modules)]), flush=True)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> dict[str, list[str]]:
    """The modules that are loaded when a command is ready to run, by command."""
    root = tmp_path_factory.mktemp("start")
    (root / "kb").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *review_commands()],
        capture_output=True,
        check=True,
        cwd=root,
        env=process_environment(root) | {"PYTHONPATH": str(REPOSITORY)},
    )
    assert not done.stderr, done.stderr.decode()
    return dict(json.loads(line) for line in done.stdout.splitlines())


class TestStart:
    @pytest.mark.parametrize("command", review_commands())
    def test_loads_nothing_that_only_some_work_needs(self, command, loaded):
        cold = {name for name in loaded[command] if is_cold(name)}

        assert not cold

    @pytest.mark.parametrize("command", ["ingest_bundle_output", "warn_selector"])
    def test_of_a_hot_command_loads_no_formats_processes_or_selection(self, command, loaded):
        cold = {"psutil", "xml.etree.ElementTree", "review.selection.select"}
        assert not cold.intersection(loaded[command])


def is_cold(name: str) -> bool:
    """Whether a module is one of COLD or inside one, not merely named alike."""
    return any(name == cold or name.startswith(f"{cold}.") for cold in COLD)
