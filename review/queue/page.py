"""A page of the queue: its lines grouped by note, for people, and by entry, for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.db.models import Count

from review.findings.documents import QueueEntryJson, QueueFindingJson
from review.findings.quotes import QuoteFinder
from review.knowledge_base import Corpus
from review.models import Disposition
from review.queue.entries import finding_json, read_entries
from review.queue.queue import Place, Queue, QueueLine

# Longer ones are cut: the finding's own page has all of it, and a list stays below 500 kB.
TEXT_SHOWN = 600
QUOTE_SHOWN = 280
_LAST_ORDINAL = 2**31 - 1


@dataclass(frozen=True)
class QueueRow:
    """A finding as a list shows it; `disposition` is the last one, if there is any."""

    row_id: str
    finding: QueueFindingJson
    disposition: Disposition | None
    decision: str
    seen: str
    gate_id: str
    partition: str
    pair_id: int
    first_at: datetime
    later_pass_in: tuple[str, ...]

    @property
    def text(self) -> str:
        """What it says, as far as a list has room for it."""
        return _cut(self.finding.text, TEXT_SHOWN)

    @property
    def quote(self) -> str:
        """What it quotes, as far as a list has room for it."""
        return _cut(self.finding.quote, QUOTE_SHOWN)

    @property
    def last_disposition_id(self) -> int:
        """0 where there is none."""
        return self.disposition.pk if self.disposition else 0


@dataclass(frozen=True)
class NoteGroup:
    """The rows of one note on a page; `total` is how many match in all."""

    note_path: str
    since: str
    total: int
    rows: tuple[QueueRow, ...]


@dataclass(frozen=True)
class QueuePage:
    """Some of the lines that match.

    :param first: the place of the first among all that match, from 1; `last` of the last.
    :param next_place: where the page after this starts, or None.
    """

    groups: tuple[NoteGroup, ...]
    first: int
    last: int
    next_place: Place | None


@dataclass(frozen=True)
class EntryPage:
    """Some of the entries that match, as the command gives them; those of gone notes apart."""

    entries: tuple[QueueEntryJson, ...]
    deleted_notes: tuple[QueueEntryJson, ...]
    next_place: Place | None


def row_id(line: QueueLine) -> str:
    """The id of the line's element on a page."""
    return f"finding-{line.finding_id}" if line.finding_id else f"review-{line.pair_id}"


def read_page(queue: Queue, corpus: Corpus, *, after: Place | None, limit: int) -> QueuePage:
    """The next `limit` lines behind a place."""
    found = queue.after(after, limit + 1)
    lines = found[:limit]
    first = queue.rank(lines[0].place) + 1 if after and lines else min(len(lines), 1)
    return QueuePage(
        groups=tuple(_groups(queue, corpus, lines)),
        first=first,
        last=first + len(lines) - 1,
        next_place=lines[-1].place if len(found) > limit else None,
    )


def _groups(queue: Queue, corpus: Corpus, lines: Sequence[QueueLine]) -> Iterable[NoteGroup]:
    quotes = QuoteFinder(corpus)
    dispositions = Disposition.objects.latest_of(line.fingerprint for line in lines)
    rows = queue.rows().filter(note_path__in={line.note_path for line in lines}).order_by()
    totals = Counter(dict(rows.values_list("note_path").annotate(Count("pk"))))
    for note_path, found in groupby(lines, key=lambda line: line.note_path):
        of_note = list(found)
        yield NoteGroup(
            note_path=note_path,
            since=of_note[0].since,
            total=totals[note_path],
            rows=tuple(_row(queue, line, quotes, dispositions) for line in of_note),
        )


def _row(
    queue: Queue, line: QueueLine, quotes: QuoteFinder, dispositions: Mapping[str, Disposition]
) -> QueueRow:
    return QueueRow(
        row_id=row_id(line),
        finding=finding_json(line, quotes),
        disposition=dispositions.get(line.fingerprint),
        decision=line.decision,
        seen=line.seen,
        gate_id=queue.gate_id(line.gate_path),
        partition=queue.partitions[line.partition_id],
        pair_id=line.pair_id,
        first_at=line.first_at,
        later_pass_in=queue.passed_in(line),
    )


def read_entry_page(queue: Queue, corpus: Corpus, *, after: Place | None, limit: int) -> EntryPage:
    """The next entries behind a place, each whole; at most `limit` lines.

    An entry of more lines than that stands alone.
    """
    found = queue.after(after, limit + 1)
    if len(found) > limit:
        last = found[-1].event_id
        found = [line for line in found if line.event_id != last] or list(
            queue.lines(queue.rows().filter(event_id=last))
        )
    entries = tuple(read_entries(queue, corpus, found))
    end = (*found[-1].place[:2], _LAST_ORDINAL) if found else None
    return EntryPage(
        entries=tuple(entry for entry in entries if entry.note_path in queue.notes.digests),
        deleted_notes=tuple(
            entry for entry in entries if entry.note_path not in queue.notes.digests
        ),
        next_place=end if end and queue.after(end, 1) else None,
    )


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[:size].rstrip()}…"
