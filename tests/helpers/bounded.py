"""Runs a command as a process that may take so much memory and time, and that obeys file modes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.helpers.commands import REPOSITORY, Result, process_environment

# Ample, so that no busy machine trips over them; a hang, or a huge file read whole, does.
TIMEOUT_SECONDS = 180
ADDRESS_SPACE = 900_000_000


def run_bounded(
    *argv: object, root: Path, stdin: bytes = b"", env: dict[str, str] | None = None
) -> Result:
    """Run `commonplace ARGV…` on `root`; file modes count, even where tests are run by root."""
    command = ["prlimit", f"--as={ADDRESS_SPACE}"]
    if os.geteuid() == 0:
        command += ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    done = subprocess.run(
        [*command, sys.executable, str(REPOSITORY / "manage.py"), *(str(item) for item in argv)],
        input=stdin,
        capture_output=True,
        cwd=root,
        env=process_environment(root) | (env or {}),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def selected(root: Path, *options: object) -> Result:
    """The targets of all gates, as JSON."""
    return run_bounded("review_target_selector", "--all-gates", "--json", *options, root=root)


def write(root: Path, path: str, data: bytes = b"Text\n") -> Path:
    """Write a file below the root, with the folders on the way to it."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def line_of(problem: dict[str, str]) -> int | None:
    """The line that a problem names, if it does."""
    named = re.match(r"line (\d+): ", problem["message"])
    return int(named[1]) if named else None
