"""What is known of each note, read from the file or remembered by the index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from review.corpus.facts import REVIEWED_IF_NAMED, facts_of, facts_of_text
from review.corpus.index import KindRow, NoteRow, ProblemRow
from review.corpus.reading import UnreadableFile
from review.domain.applicability import NoteKind
from review.domain.problems import Problem
from review.vocabulary import ProblemCode

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
        self._kinds = [NoteKind(kind, frozenset(traits), ok) for kind, traits, ok in index.kinds]

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
        kinds = self._kinds
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
            own = problems_of(path, faults)
            if path in named:
                own = _as_named(own)
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
            self._number(facts.kind),
            rows_of(facts.problems),
        )
        signature = content.signature
        if signature is not None and signature.is_settled(read_at_ns=now_ns):
            self._index.remember_note(entry.path, row)
        return row

    def _number(self, kind: NoteKind) -> int:
        row = KindRow(kind.type_path, tuple(sorted(kind.traits)), kind.readable)
        number = self._index.kind_number(row)
        if number == len(self._kinds):
            self._kinds.append(kind)
        return number


def _as_named(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep no note out that was asked for by its name, for a reason that says: look at this first."""
    return tuple(
        replace(problem, skipped=False) if problem.code in REVIEWED_IF_NAMED else problem
        for problem in problems
    )


def problems_of(path: str, rows: Iterable[ProblemRow]) -> tuple[Problem, ...]:
    """Make problems of a file of what the index remembers."""
    return tuple(
        Problem(path, ProblemCode(code), message, skipped, line)
        for code, message, skipped, line in rows
    )


def rows_of(problems: Iterable[Problem]) -> tuple[ProblemRow, ...]:
    """Make rows for the index; the path is the key there."""
    return tuple(
        ProblemRow(problem.code.value, problem.message, problem.skipped, problem.line)
        for problem in problems
    )


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by path, then code, then line; each once."""
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda found: (found.path, found.code, found.line or 0, found.message))
    )
