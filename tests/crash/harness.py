"""Asks the zygote for commands, on copies of a base that was laid once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.tracing import Plan
from tests.helpers.commands import REPOSITORY, process_environment

KILLED = -9


@dataclass(frozen=True)
class Ran:
    """What a command gave back, the writing system calls it made, and the one it was struck at."""

    exit: int
    out: str
    err: str
    calls: tuple[str, ...]
    struck: str

    @property
    def refusal(self) -> str:
        """The code of the refusal that the last line on standard error names; "" for none."""
        lines = self.err.splitlines()
        try:
            told = json.loads(lines[-1]) if lines else {}
            return str(told["code"]) if told["schema"].startswith("error/") else ""
        except (ValueError, KeyError, TypeError):
            return ""


@dataclass(frozen=True)
class Command:
    """A command line of `commonplace`, and a file below the root that it reads as standard input."""

    argv: tuple[str, ...]
    stdin: str = ""


class Zygote:
    """The process that forks the commands; `close` ends it.

    :param before: the words of a command that starts it in other surroundings.
    """

    def __init__(self, scratch: Path, *, database: str = "", before: Sequence[str] = ()) -> None:
        self._scratch = scratch
        self._database = database
        (scratch / "kb").mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [*before, sys.executable, "-m", "tests.crash.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env=process_environment(scratch) | ({"COMMONPLACE_REVIEW_DB": database} if database else {}),
        )  # fmt: skip
        assert self._answer() == "ready"

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def run(self, root: Path, command: Command, plan: Plan | None = None, **others: Any) -> Ran:
        """Run a command on `root`, and follow its system calls if there is a plan.

        :param others: `env`; `settings`, values by the names of a module and of what is in it;
            `file_limit`, the bytes that a file may have.
        """
        stdin = str(root / command.stdin) if command.stdin else ""
        return self._ask(root, plan, argv=list(command.argv), stdin=stdin, **others)

    def call(self, root: Path, function: str, **arguments: Any) -> Any:
        """Call a function of `tests.crash` in a process that works on `root`."""
        env = arguments.pop("env", {})
        place = f"tests.crash.{function}"
        ran = self._ask(root, None, call=place, arguments=arguments, env=env)
        assert ran.exit == 0, ran.err
        return json.loads(ran.out)

    def _ask(self, root: Path, plan: Plan | None, **fields: Any) -> Ran:
        out, err = self._scratch / "stdout", self._scratch / "stderr"
        env = process_environment(root)
        request = {"argv": [], "call": "", "arguments": {}, "settings": {}, "stdin": ""}
        request |= {"file_limit": 0} | fields
        request |= {
            "cwd": str(root),
            "env": env | dict(fields.get("env", {})),
            "out": str(out),
            "err": str(err),
            "plan": None if plan is None else asdict(plan),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._answer())
        return Ran(
            exit=answer["status"],
            out=out.read_text(errors="replace") if out.exists() else "",
            err=err.read_text(errors="replace") if err.exists() else "",
            calls=tuple(answer["calls"]),
            struck=answer["struck"],
        )

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the zygote is gone"
        return line.strip()


@dataclass(frozen=True)
class Base:
    """A root that was laid once; `copy` gives a new one that is just like it."""

    root: Path
    copies: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def copy(self, name: str) -> Path:
        """A copy of the root under `name`; one that is there is replaced."""
        target = self.copies / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.root, target, symlinks=True)
        return target


def commands(*lines: Sequence[str] | str) -> tuple[Command, ...]:
    """Commands without standard input, from their words."""
    return tuple(Command(tuple(line.split() if isinstance(line, str) else line)) for line in lines)
