"""Has the doctor look, and reads what it says."""

from __future__ import annotations

from typing import Any

from tests.helpers.commands import run


def examine(*args: object) -> tuple[int, dict[str, Any]]:
    """The exit code, and the checks by name."""
    done = run("review_doctor", *args, "--json")
    return done.exit, {check["name"]: check for check in done.json["checks"]}


def state(name: str, *args: object) -> str:
    """The state of one check."""
    return examine(*args)[1][name]["state"]
