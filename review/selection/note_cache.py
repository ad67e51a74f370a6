"""Notes as they stand now, read once for the jobs of one command and held within bounds."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from review.domain.applicability import NoteKind
from review.domain.problems import Problem
from review.knowledge_base import Corpus, Gate, UnreadableFile
from review.models import SnapshotText
from review.protocol.prompt import PromptNote

_MAX_BYTES = 64_000_000


@dataclass(slots=True)
class ShelvedNote:
    """A note that can be reviewed."""

    path: str
    text: str
    sha256: str
    byte_size: int
    kind: NoteKind
    problems: tuple[Problem, ...]
    for_prompt: PromptNote | None = None

    @property
    def snapshot(self) -> SnapshotText:
        """What the store keeps of it."""
        return SnapshotText(self.path, self.sha256, self.text, self.byte_size)


@dataclass(frozen=True, slots=True)
class PairRequest:
    """A pair that a job shall ask for."""

    note_path: str
    gate: Gate


@dataclass(frozen=True, slots=True)
class DraftPair:
    """A pair that a job shall ask for, with both texts."""

    note: ShelvedNote
    gate: Gate


class NoteShelf:
    """Reads notes through the corpus; what it holds is let go when it grows too large."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._notes: dict[str, ShelvedNote] = {}
        self._bytes = 0

    def note(self, path: str) -> ShelvedNote:
        """The note at `path`.

        :raises UnreadableFile: it is gone or cannot be reviewed; `problem` says why.
        """
        note = self._notes.get(path)
        return note if note is not None else self._read(path)

    def readable(self, pairs: Iterable[PairRequest]) -> list[DraftPair]:
        """The pairs with their texts, less those whose note is gone since it was looked at."""
        found = []
        for pair in pairs:
            with suppress(UnreadableFile):
                found.append(DraftPair(self.note(pair.note_path), pair.gate))
        return found

    def byte_size(self, pairs: Iterable[PairRequest]) -> int:
        """The bytes of the notes of the pairs, each once."""
        notes = {pair.note.path: pair.note for pair in self.readable(pairs)}
        return sum(note.byte_size for note in notes.values())

    def for_prompt(self, note: ShelvedNote) -> PromptNote:
        """The note with its links resolved."""
        if note.for_prompt is None:
            note.for_prompt = self._corpus.linker.prompt_note(note.path, note.text)
        return note.for_prompt

    def _read(self, path: str) -> ShelvedNote:
        read = self._corpus.read_note(path)
        facts = self._corpus.facts_of(read)
        note = ShelvedNote(path, read.text, read.sha256, len(read.data), facts.kind, facts.problems)
        if self._bytes > _MAX_BYTES:
            self._notes.clear()
            self._bytes = 0
        self._notes[path] = note
        self._bytes += note.byte_size
        return note


def gate_snapshot(gate: Gate) -> SnapshotText:
    """What the store keeps of a gate."""
    return SnapshotText(gate.path, gate.sha256, gate.text, len(gate.text.encode()))
