"""Asks for the queue, and reads its answer."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.builders import NOTE, NOW, make_gate, make_root, note_path
from tests.helpers.commands import run

HOUR = timedelta(hours=1)
NOTE_A = note_path("a.md")
DEEP = "kb/notes/deep/c.md"
QUOTE = "A reader finds a note by its title"


def three_notes(folder: Path) -> Path:
    """A knowledge base of three notes, one in a folder of its own, and gates of two lenses."""
    return make_root(
        folder,
        notes={"a.md": NOTE, "b.md": NOTE, DEEP: NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "links/z")},
    )


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
