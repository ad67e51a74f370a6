"""What is known of each note, read from the file or remembered by the index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from review.corpus.facts import REVIEWED_IF_NAMED, facts_of, facts_of_text
from review.corpus.index import NoteRow
from review.corpus.reading import UnreadableFile
from review.domain.applicability import NoteKind
from review.domain.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from review.corpus.index import FileIndex
    from review.corpus.reading import Reader
    from review.corpus.scanning import FileEntry, ScanResult


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """One note that can be reviewed.

    `disk_path` is how `path` is spelled on disk; `status` is as written, `""` for none.
    Equal kinds are one object. `problems` are those that do not keep the note from review.
    """

    path: str
    disk_path: str
    sha256: str
    status: str
    kind: NoteKind
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class NoteList:
    """Notes sorted by path, and all that was wrong, sorted by path and code."""

    notes: tuple[NoteFacts, ...]
    problems: tuple[Problem, ...]


class NoteLoader:
    """Gives the facts of notes; reads those files that the index does not answer for."""

    def __init__(self, index: FileIndex) -> None:
        self._index = index

    def load(
        self, found: ScanResult, *, reader: Reader, now_ns: int, named: Collection[str] = ()
    ) -> NoteList:
        """Give the notes of a scan; a file that cannot be reviewed is one more problem.

        :param now_ns: the wall clock, in nanoseconds, before the scan began.
        :param named: paths of notes that were asked for one by one.
        """
        notes: list[NoteFacts] = []
        problems = list(found.problems)
        remembered = self._index.notes.get
        kinds = self._index.kinds
        # A plain loop, unpacked by hand: with nothing changed this is all a selector does per note.
        for entry in found.entries:
            path, disk_path, signature = entry
            row = remembered(path)
            if row is None or row[0] != signature:
                try:
                    row = self._read(entry, reader=reader, now_ns=now_ns)
                except UnreadableFile as refused:
                    problems.append(refused.problem)
                    continue
            _, sha256, status, kind, faults = row
            if not faults:
                notes.append(NoteFacts(path, disk_path, sha256, status, kinds[kind], ()))
                continue
            own = _as_named(faults) if path in named else faults
            problems.extend(own)
            if not any(problem.skipped for problem in own):
                notes.append(NoteFacts(path, disk_path, sha256, status, kinds[kind], own))
        return NoteList(tuple(notes), in_order(problems))

    def of_text(self, path: str, disk_path: str, *, text: str, sha256: str) -> NoteFacts:
        """Give the facts of a note whose text is at hand."""
        facts = facts_of_text(path, text, sha256)
        problems = _as_named(facts.problems)
        return NoteFacts(path, disk_path, sha256, facts.status, facts.kind, problems)

    def _read(self, entry: FileEntry, *, reader: Reader, now_ns: int) -> NoteRow:
        content = reader.read(entry.path, entry.disk_path)
        facts = facts_of(entry.path, content.data)
        row = NoteRow(
            content.signature or entry.signature,
            facts.sha256,
            facts.status,
            self._index.kind_number(facts.kind),
            facts.problems,
        )
        signature = content.signature
        if signature is not None and signature.is_settled(read_at_ns=now_ns):
            self._index.remember_note(entry.path, row)
        return row


def _as_named(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep no note out that was asked for by its name, for a reason that says: look at this first."""
    return tuple(
        replace(problem, skipped=False) if problem.code in REVIEWED_IF_NAMED else problem
        for problem in problems
    )


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by path, then code, then line; each once."""
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda found: (found.path, found.code, found.line or 0, found.message))
    )
