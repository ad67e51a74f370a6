"""Ctrl-C while a command is still being loaded, where no command can answer yet."""

from __future__ import annotations

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


def start(name, *, fault="KeyboardInterrupt"):
    code = INTERRUPTED_AT.format(name=name, act=f"raise {fault}")
    command = [sys.executable, "-c", code, "version"]
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

    def test_shows_where_any_other_fault_is(self):
        done = start("commonplace_site.catalogue", fault="OSError('it broke')")

        assert done.returncode == 1
        assert done.stderr.endswith("OSError: it broke\n")
