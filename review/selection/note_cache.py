"""Notes as they are now, each read once for a command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from review.domain.applicability import NoteKind
from review.domain.problems import Problem
from review.knowledge_base import Corpus, Gate
from review.models import SnapshotText


@dataclass(frozen=True, eq=False, slots=True)
class CachedNote:
    """A note that can be reviewed."""

    path: str
    text: str
    sha256: str
    byte_size: int
    kind: NoteKind
    problems: tuple[Problem, ...]

    @property
    def snapshot(self) -> SnapshotText:
        return SnapshotText(self.path, self.sha256, self.text, self.byte_size)


@dataclass(frozen=True, slots=True)
class DraftPair:
    """A pair that is about to be written, with both texts."""

    note: CachedNote
    gate: Gate

    @property
    def note_path(self) -> str:
        return self.note.path

    @property
    def gate_path(self) -> str:
        return self.gate.path

    @property
    def gate_id(self) -> str:
        return self.gate.gate_id


class NoteCache:
    """Reads notes through the corpus, each once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.note = cache(self._read)

    def _read(self, path: str) -> CachedNote:
        """Return the note at `path`.

        :raises UnreadableFile: it is gone or cannot be reviewed; `problem` says why.
        """
        read = self._corpus.read_note(path)
        facts = self._corpus.facts_of(read)
        return CachedNote(path, read.text, read.sha256, len(read.data), facts.kind, facts.problems)


def gate_snapshot(gate: Gate) -> SnapshotText:
    return SnapshotText(gate.path, gate.sha256, gate.text, len(gate.text.encode()))
