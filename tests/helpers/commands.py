"""Runs a command for a test: in this process, or as a real one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.db import connection
from django.test import TestCase

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = "commonplace"


@dataclass(frozen=True)
class Result:
    """What a command gave back."""

    exit: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error document: the last line on stderr."""
        return json.loads(self.err.splitlines()[-1])


def run(
    name: str,
    *args: object,
    stdin: str | bytes | None = None,
    now: datetime | None = None,
) -> Result:
    """Run a command in this process, on the test's database; what waits for the commit runs too."""
    out, err = io.StringIO(), io.StringIO()
    command = import_module(f"review.management.commands.{name}").Command(stdout=out, stderr=err)
    stream = (
        None if stdin is None else io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
    )
    argv = [PROGRAM, name, *(str(item) for item in args)]

    with TestCase.captureOnCommitCallbacks(execute=True):
        code = command.answer(argv, stdin=stream, now=now)

    return Result(code, out.getvalue(), err.getvalue())


def run_process(
    *argv: object,
    root: Path,
    stdin: str | bytes | None = None,
    env: dict[str, str] | None = None,
    timeout: float = 60,
) -> Result:
    """Run `commonplace ARGV…` as a process of its own on the repository at `root`.

    Its store is an SQLite file below `root`, unless `env` names another.
    """
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "manage.py"), *(str(item) for item in argv)],
        input=b"" if data is None else data,
        capture_output=True,
        cwd=root,
        env=process_environment(root) | (env or {}),
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def process_environment(root: Path) -> dict[str, str]:
    """The environment of a command that works on `root`, and on nothing of the developer's own."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
    return kept | {
        "COMMONPLACE_ROOT": str(root),
        "COMMONPLACE_REVIEW_DB": str(root / "kb" / "reports" / "review-store.sqlite"),
        "COMMONPLACE_ACTOR": "human:test",
    }


def shared_store() -> dict[str, str]:
    """What `run_process(env=…)` needs to work on this test's database.

    On SQLite, which is in memory, nothing: the processes share the file below their root. Use it in
    a test that commits (`django_db(transaction=True)`).
    """
    if connection.vendor != "postgresql":
        return {}
    settings = connection.settings_dict
    account = quote(settings["USER"], safe="")
    if settings["PASSWORD"]:
        account = f"{account}:{quote(settings['PASSWORD'], safe='')}"
    place = {"host": settings["HOST"], "port": settings["PORT"]}
    query = urlencode({key: str(value) for key, value in place.items() if value})
    return {"COMMONPLACE_REVIEW_DB": f"postgres://{account}@/{settings['NAME']}?{query}"}
