"""Runs commands in a process that stays, with real connections, and judges how each ended."""

from __future__ import annotations

import io
import json
import os
import random
import traceback
from importlib import import_module
from typing import Any

from tests.races.books import Act

# What a user must never read, whatever the exit code.
_NEVER_SAID = ("database is locked", "Traceback", "deadlock detected", "could not serialize")


class Runner:
    """The commands of one process; the connection is closed now and then, as a command's is."""

    def __init__(self, number: int, rng: random.Random) -> None:
        self._rng = rng
        self._number = number
        self._count = 0

    def begin(self, what: str) -> Act:
        """A new act in a name of its own, which the commands that follow take."""
        self._count += 1
        actor = f"agent:w{self._number}-{self._count}"
        os.environ["COMMONPLACE_ACTOR"] = actor
        return Act(what, actor)

    def run(
        self, act: Act, name: str, *args: object, allowed: tuple[int, ...], stdin: str | None = None
    ) -> Any:
        """Run `name --json` as a part of `act`; the document, or None where it gave none."""
        from django.db import connections

        out, err = io.StringIO(), io.StringIO()
        command = import_module(f"review.management.commands.{name}").Command(
            stdout=out, stderr=err
        )
        argv = ["commonplace", name, *map(str, args), "--json"]
        stream = None if stdin is None else io.BytesIO(stdin.encode())
        try:
            act.exit = command.answer(argv, stdin=stream)
        except Exception:  # noqa: BLE001 - a traceback is what this looks for
            act.exit = -1
            err.write(traceback.format_exc())
        said = err.getvalue()
        if act.exit not in allowed or any(words in out.getvalue() + said for words in _NEVER_SAID):
            act.fault = f"{' '.join(argv[1:])}: exit {act.exit}: {said[-3000:]}"
        if act.exit and said.startswith("{"):
            act.refused = json.loads(said.splitlines()[-1])["code"]
        if self._rng.random() < 0.5:
            connections.close_all()
        return json.loads(out.getvalue()) if out.getvalue().strip() else None
