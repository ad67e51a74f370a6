"""`matrix/1` and `notes/1`: the base at a glance, as pages show it; no command prints them."""

from __future__ import annotations

from review.documents.base import Document
from review.documents.problems import ProblemJson


class FolderJson(Document, kw_only=True):
    """Pairs below a folder, counted by state over all columns; models disagree about `disputed` ones."""

    path: str
    notes: int
    counts: dict[str, int]
    disputed: int


class MatrixRowJson(Document, kw_only=True):
    """A note; `states` has one word a column, null where nothing is owed."""

    note_path: str
    states: list[str | None]


class MatrixJson(Document, kw_only=True):
    """The answer of the matrix; `columns` are gate ids, `next` is null on the last page.

    `model_partition` is empty for the best state that any partition gives a pair.
    """

    schema: str = "matrix/1"
    model_partition: str
    mode: str
    folder: str
    columns: list[str]
    counts: dict[str, int]
    folders: list[FolderJson]
    rows: list[MatrixRowJson]
    next: str | None
    counted_at: str | None


class NoteRowJson(Document, kw_only=True):
    """A note of the list; `counts` by model partition, then by state."""

    note_path: str
    title: str
    status: str
    type: str
    counts: dict[str, dict[str, int]]


class NotesJson(Document, kw_only=True):
    """The answer of the list of notes; `next` is null on the last page."""

    schema: str = "notes/1"
    total: int
    notes: list[NoteRowJson]
    next: str | None
    problems: list[ProblemJson]
    counted_at: str | None
