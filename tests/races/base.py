"""The knowledge base of a storm, and what its files are called."""

from __future__ import annotations

from pathlib import Path

from tests.builders import gate_path
from tests.races.books import Book
from tests.races.editing import Editor, gate_text, note_text

__all__ = ["GATES", "PARTITIONS", "RULE", "gate_path", "make_base", "moved_path", "note_path"]

GATES = ("prose/x", "prose/y", "links/z")
RULE = "prose/placeholder-text"
PARTITIONS = ("model-a", "model-b")


def note_path(number: int) -> str:
    """The path of a note."""
    return f"kb/notes/n{number:03d}.md"


def moved_path(number: int) -> str:
    """Where the note is when it was moved."""
    return f"kb/notes/moved/n{number:03d}.md"


def make_base(root: Path, book: Book, *, notes: int) -> None:
    """Write the notes and gates, each written down as its first version."""
    import random

    editor = Editor(root, book, random.Random(0))  # noqa: S311
    (root / "kb" / "notes" / "moved").mkdir(parents=True)
    for number in range(notes):
        editor.write(note_path(number), note_text(number, 0))
    for gate_id in GATES:
        editor.write(gate_path(gate_id), gate_text(gate_id, 0))
    editor.write(gate_path(RULE), gate_text(RULE, 0, rule="placeholder-text"))
