"""Ctrl-C, and no memory, while a command is still being loaded, where no command can answer yet."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.helpers.commands import REPOSITORY

# Ctrl-C at the moment when the module of this name is looked for.
INTERRUPTED_AT = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            {act}
sys.meta_path.insert(0, Finder())
sys.modules.pop({name!r}, None)
from commonplace_site.console import main
main()
"""
IN_A_FINALIZER = """
            class Dropped:
                def __del__(self):
                    raise {fault}
            Dropped()
"""


def start(name, *options, fault="KeyboardInterrupt", act="", command="version"):
    code = INTERRUPTED_AT.format(name=name, act=act or f"raise {fault}")
    command = [sys.executable, "-c", code, command, *options]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


class TestLoading:
    @pytest.mark.parametrize(
        "name",
        [
            "commonplace_site.console", "errno", "commonplace_site.catalogue",
            "commonplace_site.loading", "review.errors",
        ],
    )  # fmt: skip
    def test_is_left_quietly(self, name):
        done = start(name)

        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

    def test_is_left_quietly_where_python_would_ignore_it(self):
        done = start("errno", act=IN_A_FINALIZER.format(fault="KeyboardInterrupt"))

        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

    def test_goes_on_where_python_ignores_any_other_fault(self):
        done = start("errno", act=IN_A_FINALIZER.format(fault="OSError('it broke')"))

        assert done.returncode == 0
        assert done.stderr.startswith("Exception ignored in")
        assert done.stderr.endswith("OSError: it broke\n")

    def test_shows_where_any_other_fault_is(self):
        done = start("commonplace_site.catalogue", fault="OSError('it broke')")

        assert done.returncode == 1
        assert done.stderr.endswith("OSError: it broke\n")


FAULTS = ("MemoryError", "ImportError('x.so: failed to map segment')", "OSError(12, 'no memory')")
NO_ROOM = "the memory that this process may have is not enough"


class TestWantOfMemory:
    @pytest.mark.parametrize("name", ["errno", "review.errors", "review.selection.gate_documents"])
    @pytest.mark.parametrize("fault", FAULTS)
    def test_is_named_in_one_line_whenever_it_shows(self, name, fault):
        done = start(name, fault=fault, command="resolve_gates")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"error: {NO_ROOM}\n")
        assert len(done.stderr.splitlines()) == 2

    def test_is_a_document_for_who_asks_for_one(self):
        done = start("review.errors", "--json", fault="MemoryError", command="resolve_gates")

        told = json.loads(done.stderr)
        assert told["schema"] == "error/1"
        assert (told["code"], told["message"], told["exit"]) == ("out-of-memory", NO_ROOM, 1)

    def test_is_not_said_of_a_module_that_is_missing(self):
        done = start(
            "review.selection.gate_documents",
            fault="ImportError('it is not here')",
            command="resolve_gates",
        )

        assert done.returncode == 1
        assert done.stderr.endswith("ImportError: it is not here\n")
