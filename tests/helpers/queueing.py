"""Asks for the queue, and reads its answer."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.builders import NOW
from tests.helpers.commands import run

HOUR = timedelta(hours=1)


def queue(*args: object) -> Any:
    """The document of `warn_selector`."""
    return run("warn_selector", *args, "--json").json


def entries(*args: object) -> list[tuple[str, str]]:
    """Note path and gate id of each entry."""
    return [(entry["note_path"], entry["gate_id"]) for entry in queue(*args)["entries"]]


def finding(*args: object) -> Any:
    """The one finding of the one entry."""
    (entry,) = queue(*args)["entries"]
    (found,) = entry["findings"]
    return found


def dispose(fingerprint: str, state: str, *args: object, now: datetime = NOW + HOUR) -> None:
    """Record a disposition, as a person does."""
    named = ("--as", state, "--actor", "human:ana", *args)
    done = run("dispose_finding", fingerprint, *named, now=now)
    assert done.exit == 0, done.err
