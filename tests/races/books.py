"""What the processes of a storm write down: each its own file, a line for everything that it did."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

NEVER = 1 << 62
# Rows that an act may have written, and did not count.
ANY = -1


@dataclass
class Act:
    """One operation, as it was reported to whoever ran it.

    :param rows: how many rows of each kind it said that it wrote, in this actor's name.
    :param texts: path and digest of each text that it named as the one on disk.
    :param refused: the name of a refusal; "" when it was done.
    :param fault: what must never happen; "" when it did not.
    """

    what: str
    actor: str
    began: int = 0
    ended: int = 0
    exit: int = 0
    refused: str = ""
    rows: dict[str, int] = field(default_factory=dict)
    jobs: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    fault: str = ""


@dataclass(frozen=True)
class Edit:
    """A file that was written (or, without a digest, taken away) between two moments."""

    path: str
    sha256: str | None
    began: int
    ended: int


class Book:
    """One process's file of acts and edits."""

    def __init__(self, path: Path) -> None:
        """Open it anew."""
        self._stream = path.open("w", encoding="utf-8", buffering=1)

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_how: object) -> None:
        self._stream.close()

    def write(self, entry: Act | Edit) -> None:
        """Add a line."""
        self._stream.write(json.dumps({"is": type(entry).__name__, **asdict(entry)}) + "\n")


def moment() -> int:
    """Nanoseconds on the one clock that all processes of this machine share."""
    return time.monotonic_ns()


def read_books(folder: Path) -> tuple[list[Act], list[Edit]]:
    """Every act and edit of every process, in no order."""
    acts: list[Act] = []
    edits: list[Edit] = []
    for entry in _entries(folder):
        if entry.pop("is") == Act.__name__:
            acts.append(Act(**entry))
        else:
            edits.append(Edit(**entry))
    return acts, edits


def _entries(folder: Path) -> Iterator[dict[str, Any]]:
    for book in sorted(folder.glob("*.jsonl")):
        for line in book.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


class Versions:
    """Which text each file had, and when at most."""

    def __init__(self, edits: list[Edit]) -> None:
        """Take edits of which those of one path were made one after the other."""
        self._edits: dict[str, list[Edit]] = {}
        for edit in sorted(edits, key=lambda item: item.began):
            self._edits.setdefault(edit.path, []).append(edit)

    def was_there(self, path: str, sha256: str, *, began: int, ended: int) -> bool:
        """Whether the file may have had this text at some moment between the two."""
        edits = self._edits.get(path, [])
        ends = [edit.ended for edit in edits[1:]] + [NEVER]
        return any(
            edit.sha256 == sha256 and edit.began <= ended and end >= began
            for edit, end in zip(edits, ends, strict=True)
        )
