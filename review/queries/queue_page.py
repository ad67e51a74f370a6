"""A page of the queue: its lines grouped by note, for people, and by entry, for programs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from review.contracts.base import timestamp
from review.contracts.queue import QueueEntryJson, QueueFindingJson
from review.corpus import Corpus
from review.domain.identity import lens_of
from review.models import Acceptance, ReviewText
from review.queries.orphans import carried_away
from review.queries.queue_choice import Choice, Place
from review.queries.queue_lines import QueueLine
from review.queries.queue_shown import Shown, Spoken, read_shown
from review.queries.review_details import gate_label

# Longer ones are cut: the finding's own page has all of it, and a list stays below 500 kB.
TEXT_SHOWN = 600
QUOTE_SHOWN = 280
_LAST_ORDINAL = 1 << 40


@dataclass(frozen=True)
class QueueRow:
    """A finding, or a review that lists none (then `fingerprint` is empty), as a list shows it.

    :param line: of the quote, from 1, in today's note; None where it does not stand there.
    :param line_then: in the text that was reviewed.
    """

    row_id: str
    fingerprint: str
    spoken: Spoken | None
    severity: str
    decision: str
    text: str
    quote: str
    line: int | None
    line_then: int | None
    state: str
    seen: str
    gate_id: str
    partition: str
    pair_id: int
    first_at: datetime
    later_pass_in: tuple[str, ...]

    @property
    def last_word_id(self) -> int:
        """Key of the disposition that counts, 0 without one."""
        return self.spoken.disposition_id if self.spoken else 0


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


def place_of(line: QueueLine) -> Place:
    """Where the page after this line starts."""
    return (line.note_path, line.gate_path, line.ordinal)


def read_page(choice: Choice, corpus: Corpus, *, after: Place | None, limit: int) -> QueuePage:
    """The next `limit` lines behind a place."""
    found = choice.lines_after(after, limit + 1)
    numbers = [number for number, _line in found[:limit]]
    lines = [line for _number, line in found[:limit]]
    shown = read_shown(choice.board, corpus, lines)
    first = choice.rank(numbers[0]) + 1 if numbers else 0
    return QueuePage(
        groups=tuple(_groups(choice, zip(numbers, lines, strict=True), shown)),
        first=first,
        last=first + len(lines) - 1,
        next_place=place_of(lines[-1]) if len(found) > limit else None,
    )


def _groups(
    choice: Choice, numbered: Iterable[tuple[int, QueueLine]], shown: Shown
) -> Iterator[NoteGroup]:
    for note_path, items in groupby(numbered, key=lambda item: item[1].note_path):
        rows = list(items)
        yield NoteGroup(
            note_path=note_path,
            since=shown.since(rows[0][1]),
            total=_total_in(choice, note_path),
            rows=tuple(_row(choice, number, line, shown) for number, line in rows),
        )


def read_entries(choice: Choice, corpus: Corpus, *, after: Place | None, limit: int) -> EntryPage:
    """The next entries behind a place, each whole; at most `limit` lines.

    An entry of more lines than that stands alone.
    """
    found = [line for _number, line in choice.lines_after(after, limit + 1)]
    if len(found) > limit:
        found = _whole_entries(choice, found)
    shown = read_shown(choice.board, corpus, found)
    pair_ids = {line.pair_id for line in found}
    texts = dict(ReviewText.objects.filter(pk__in=pair_ids).values_list("pk", "text"))
    events = Acceptance.objects.filter(pk__in={line.event_id for line in found})
    accepted_at = dict(events.values_list("pk", "accepted_at"))
    entries = [
        _entry(list(lines), shown, choice, accepted_at=accepted_at[event_id], texts=texts)
        for event_id, lines in groupby(found, key=lambda line: line.event_id)
    ]
    gone = [line for line in found if line.note_path not in shown.digests]
    carried = carried_away((line.event_id, line.pair_id) for line in gone)
    entries = [
        entry
        for entry, event_id in zip(
            entries, dict.fromkeys(line.event_id for line in found), strict=True
        )
        if event_id not in carried
    ]
    end = _end_of(found[-1]) if found else None
    return EntryPage(
        entries=tuple(entry for entry in entries if entry.note_path in shown.digests),
        deleted_notes=tuple(entry for entry in entries if entry.note_path not in shown.digests),
        next_place=end if end and choice.lines_after(end, 1) else None,
    )


def _whole_entries(choice: Choice, found: Sequence[QueueLine]) -> list[QueueLine]:
    """Without the last entry, which may go on; all of it where it is the only one."""
    last = found[-1].event_id
    whole = [line for line in found if line.event_id != last]
    if whole:
        return whole
    start = (found[0].note_path, found[0].gate_path, -1)
    lines = choice.lines_after(start, len(choice.board.layout.lines))
    return [line for _number, line in lines if line.event_id == last]


def _end_of(line: QueueLine) -> Place:
    return (line.note_path, line.gate_path, _LAST_ORDINAL)


def _total_in(choice: Choice, note_path: str) -> int:
    paths = choice.board.column("note_path")
    start = bisect_left(paths, note_path)
    end = bisect_left(paths, f"{note_path}\0")
    return choice.mask.count(1, start, end)


def _row(choice: Choice, number: int, line: QueueLine, shown: Shown) -> QueueRow:
    finding = shown.finding(line)
    return QueueRow(
        row_id=row_id(line),
        fingerprint=line.fingerprint,
        spoken=shown.spoken.get(line.fingerprint),
        severity=line.severity,
        decision=line.decision,
        text=_cut(finding.text, TEXT_SHOWN) if finding else "",
        quote=_cut(finding.quote, QUOTE_SHOWN) if finding else "",
        line=finding.line_now if finding else None,
        line_then=finding.line if finding else None,
        state=choice.board.column("state")[number],
        seen=choice.board.column("seen")[number],
        gate_id=gate_label(line.gate_path, choice.gates_folder),
        partition=line.partition,
        pair_id=line.pair_id,
        first_at=line.first_at,
        later_pass_in=shown.passed_later(line),
    )


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[:size].rstrip()}…"


def _entry(
    lines: Sequence[QueueLine],
    shown: Shown,
    choice: Choice,
    *,
    accepted_at: datetime,
    texts: Mapping[int, str],
) -> QueueEntryJson:
    first = lines[0]
    gate_id = gate_label(first.gate_path, choice.gates_folder)
    findings: list[QueueFindingJson] = [
        finding for line in lines if (finding := shown.finding(line)) is not None
    ]
    return QueueEntryJson(
        note_path=first.note_path,
        gate_path=first.gate_path,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        model_partition=first.partition,
        decision=first.decision,
        review_pair_id=first.pair_id,
        accepted_at=timestamp(accepted_at),
        note_changed_since=shown.digests.get(first.note_path) != first.note_sha256,
        later_pass_in=shown.passed_later(first),
        findings=findings,
        rationale=texts.get(first.pair_id),
    )
