"""Edits of notes and gates on disk, in every way that editors and people do it, each written down."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.builders import make_gate
from tests.races.books import Book, Edit, moment

_FRONTMATTER = "---\ntype: kb/types/concept.md\nstatus: current\n---\n"


def note_text(number: int, turn: int) -> str:
    """A note that is told apart by its turn, and always of one size."""
    return (
        f"{_FRONTMATTER}# Note {number:03d}\n\n"
        f"A reader finds note {number:03d} by its title, in turn {turn:06d}.\n\n"
        "Then by its links, such as [the first](n000.md).\n"
    )


def gate_text(gate_id: str, turn: int, *, rule: str = "") -> str:
    """A gate that lets small changes pass as trivial."""
    fields = {"watches": "[title, body]", "staleness": "rewrite(0.4)"}
    if rule:
        fields["rule"] = rule
    return make_gate(gate_id, body=f"Question of turn {turn:06d}.\n", **fields)


class Editor:
    """Edits the files that are its own: no path is edited by two."""

    def __init__(self, root: Path, book: Book, rng: random.Random) -> None:
        self._root = root
        self._book = book
        self._rng = rng
        self._turn = rng.randrange(1, 1000)

    def write(self, path: str, text: str) -> None:
        """Put a whole file in place, as careful editors do."""
        began = moment()
        file = self._root / path
        draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
        self._tell(path, hashlib.sha256(text.encode()).hexdigest(), began)

    def edit_note(self, path: str, number: int) -> None:
        """Change the note in one of many ways."""
        ways: list[Callable[[str, int], None]] = [
            self._rewrite,
            self._rewrite,
            self._rewrite_with_old_times,
            self._touch,
            self._there_and_back,
            self._take_away,
        ]
        self._rng.choice(ways)(path, number)

    def edit_gate(self, path: str, gate_id: str, *, rule: str = "") -> None:
        """Ask something else."""
        self._turn += 1
        self.write(path, gate_text(gate_id, self._turn, rule=rule))

    def move(self, old: str, new: str) -> None:
        """Give a file another name."""
        began = moment()
        source = self._root / old
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        source.rename(self._root / new)
        self._tell(old, None, began)
        self._tell(new, digest, began)

    def _rewrite(self, path: str, number: int) -> None:
        self._turn += 1
        self.write(path, note_text(number, self._turn))

    def _rewrite_with_old_times(self, path: str, number: int) -> None:
        """Another text of the same size, with the times of the one before, as a restore leaves it."""
        file = self._root / path
        before = file.stat() if file.exists() else None
        self._rewrite(path, number)
        if before is not None:
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _touch(self, path: str, number: int) -> None:
        if (self._root / path).exists():
            os.utime(self._root / path)

    def _there_and_back(self, path: str, number: int) -> None:
        file = self._root / path
        before = file.read_text(encoding="utf-8") if file.exists() else note_text(number, 0)
        self._rewrite(path, number)
        self.write(path, before)

    def _take_away(self, path: str, number: int) -> None:
        """Away, and at the next edit of this kind there again."""
        if not (self._root / path).exists():
            self._rewrite(path, number)
            return
        began = moment()
        (self._root / path).unlink()
        self._tell(path, None, began)

    def _tell(self, path: str, sha256: str | None, began: int) -> None:
        self._book.write(Edit(path, sha256, began, moment()))
