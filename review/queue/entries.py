"""The queue as documents and pages give it: an entry a note and gate with its findings; counts."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import chain, groupby
from operator import attrgetter
from posixpath import commonpath
from typing import Any, NamedTuple

from django.db.models import Count, Prefetch, Q, prefetch_related_objects

from review.acceptance.accept import finding_states
from review.documents.base import from_row
from review.domain.finding_identity import own_finding_text
from review.domain.paths import lens_of
from review.domain.printing import safe_cell
from review.findings.states import (
    QueueEntryJson,
    QueueFindingJson,
    QuoteFinder,
    QuoteNow,
    rationales,
)
from review.knowledge_base import Corpus, NoteList, Problem, in_order
from review.models import (
    CurrentAcceptance,
    Disposition,
    FileSnapshot,
    FindingState,
    batched,
    latest_of,
)
from review.queue.columns import QueueSort
from review.queue.queue import (
    AGES,
    FILTERS,
    OLDER,
    PRESENT,
    Queue,
    QueueCursor,
    QueueFilter,
)
from review.selection.names import within
from review.vocabulary import Decision, DispositionState, NoteNow, Seen, Severity

_LAST_ORDINAL = 2**31 - 1

_AT_ONCE = 2500


@dataclass(frozen=True)
class WarnQueue:
    """The queue as the command gives it; entries are read while they are iterated over.

    :param hidden: how many reviews by gates that cannot be used there are, by decision.
    """

    queue: Queue
    corpus: Corpus
    problems: tuple[Problem, ...]
    hidden: Mapping[str, int]

    @property
    def entries(self) -> Iterator[QueueEntryJson]:
        remarks = read_entries(self.queue, self.corpus, read_remarks(self.queue, self.corpus))
        if self.queue.wanted.sort is QueueSort.PLACE:
            return merge(self._read(*PRESENT), remarks, key=attrgetter("note_path", "gate_path"))
        return chain(self._read(*PRESENT), remarks)

    @property
    def deleted_notes(self) -> Iterator[QueueEntryJson]:
        return self._read(NoteNow.GONE)

    def _read(self, *since: str) -> Iterator[QueueEntryJson]:
        rows = self.queue.rows().filter(Q(since__in=since))
        return read_entries(self.queue, self.corpus, self.queue.lines(rows))


class QueuePageRow(NamedTuple):
    """A line on a page, with its entry and finding; `disposition` is the last one, if any."""

    line: FindingState
    entry: QueueEntryJson
    finding: QueueFindingJson
    disposition: Disposition | None


class QueueNote(NamedTuple):
    """The rows of one note on a page; `total` is how many match in all."""

    note_path: str
    total: int
    rows: list[QueuePageRow]


def read_warn_queue(
    corpus: Corpus, wanted: QueueFilter, listed: NoteList | None = None, now: datetime | None = None
) -> WarnQueue:
    """Return what needs an edit now: the latest accepted review of each note and gate.

    Overrides are left out, and reviews whose gate changed or is gone; `now` is for sorting by age.
    """
    catalog = corpus.gates
    problems = catalog.problems_of(wanted.gates) if wanted.gates else catalog.problems
    unusable = [problem for problem in problems if problem.skipped]
    notes = listed or NoteList((), ())

    def digests(paths: Collection[str]) -> Mapping[str, str]:
        nonlocal notes
        if listed is None:
            notes = corpus.notes_at(paths)
        return corpus.digests_of(paths, notes)

    gates: tuple[str, ...] = ()
    if wanted.gates:
        gates = tuple(gate.gate_id for gate in catalog.resolve(wanted.gates)) or ("",)
    wanted = replace(wanted, gates=gates, since=tuple(NoteNow.values))
    queue = Queue(wanted, catalog, digests, muted=corpus.muted, now=now, is_whole=False)
    others = set(queue.notes.paths.values()) - queue.note_paths if notes.problems else set()
    problems_of_notes = [problem for problem in notes.problems if problem.path not in others]
    hidden = _hidden([problem.path for problem in unusable], wanted.partitions)
    return WarnQueue(queue, corpus, in_order([*unusable, *problems_of_notes]), hidden)


def read_entries(
    queue: Queue, corpus: Corpus, lines: Iterable[FindingState]
) -> Iterator[QueueEntryJson]:
    """Yield the entries of lines in the order of the queue; each text is read once."""
    quotes = QuoteFinder(corpus)
    reviews = (list(found) for _event, found in groupby(lines, key=attrgetter("event_id")))
    for chunk in batched(reviews, _AT_ONCE):
        texts = rationales(found[0].pair_id for found in chunk)
        quotes.load({found[0].pair_id for found in chunk if found[0].since == NoteNow.CHANGED})
        decided = (
            line for found in chunk for line in found if line.state_now != DispositionState.OPEN
        )
        latest = latest_of(line.fingerprint for line in decided)
        for found in chunk:
            yield make_entry(queue, found, quotes, latest, texts.get(found[0].pair_id))


def make_entry(
    queue: Queue,
    lines: Sequence[FindingState],
    quotes: QuoteFinder,
    decided: Mapping[str, Disposition],
    rationale: str | None = None,
) -> QueueEntryJson:
    """Make the entry of a review; `decided` has the last disposition of each of its findings."""
    first = lines[0]
    gate_id = queue.gate_id(first.gate_path)
    return from_row(
        QueueEntryJson,
        first,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        model_partition=queue.partitions[first.model_partition_id],
        review_pair_id=first.pair_id,
        note_changed_since=first.since != NoteNow.SAME,
        later_pass_in=queue.passed_in(first),
        findings=[_finding(line, quotes, decided.get(line.fingerprint)) for line in lines],
        rationale=rationale,
        noisy=queue.why_last(first),
    )


def read_page(
    queue: Queue, corpus: Corpus, *, after: QueueCursor | None, limit: int
) -> tuple[list[QueueNote], QueueCursor | None]:
    """Read the next `limit` lines after a cursor, by note, and the cursor of the page after them."""
    found = queue.after(after, limit + 1)
    lines = found[:limit]
    quotes = QuoteFinder(corpus)
    latest = latest_of(line.fingerprint for line in lines)
    counted = queue.rows().filter(note_path__in={line.note_path for line in lines}).order_by()
    totals = dict(counted.values_list("note_path").annotate(Count("pk")))
    entries = (make_entry(queue, [line], quotes, latest) for line in lines)
    rows = [
        QueuePageRow(line, entry, entry.findings[0], latest.get(line.fingerprint))
        for line, entry in zip(lines, entries, strict=True)
    ]
    notes = [
        QueueNote(path, totals[path], list(group))
        for path, group in groupby(rows, key=attrgetter("line.note_path"))
    ]
    return notes, lines[-1].cursor if len(found) > limit else None


def read_entry_page(
    queue: Queue, corpus: Corpus, *, after: QueueCursor | None, limit: int
) -> tuple[list[QueueEntryJson], QueueCursor | None]:
    """Read the next whole entries, of at most `limit` lines together or one of more."""
    found = queue.after(after, limit + 1)
    if len(found) > limit:
        last = found[-1]
        found = [line for line in found if line.cursor[:3] != last.cursor[:3]] or list(
            queue.lines(queue.rows().filter(Q(rank=last.rank), event_id=last.event_id))
        )
    end = (*found[-1].cursor[:3], _LAST_ORDINAL) if found else None
    return list(read_entries(queue, corpus, found)), end if end and queue.after(end, 1) else None


def _finding(
    line: FindingState, quotes: QuoteFinder, decided: Disposition | None
) -> QueueFindingJson:
    quote = line.quote or ""
    now = QuoteNow(line.line if line.since == NoteNow.SAME else None, is_gone=False)
    if line.since == NoteNow.CHANGED:
        now = quotes.follow(line.note_path, quote, pair_id=line.pair_id, line=line.line)
    return from_row(
        QueueFindingJson,
        line,
        text=own_finding_text(line.decision) if line.text is None else line.text,
        quote=quote,
        line_now=now.line,
        status=line.state_now,
        regressed=line.seen == Seen.REGRESSED,
        quote_gone=now.is_gone,
        of_whole_review=line.finding_id is None,
        decided_by=decided and decided.actor,
        decision_reason=decided and decided.reason,
    )


def _hidden(unusable: Collection[str], partitions: tuple[str, ...]) -> Mapping[str, int]:
    if not unusable:
        return {}
    rows = FindingState.objects.order_by("event_id")
    if partitions:
        rows = rows.filter(model_partition__name__in=partitions)
    found, is_unusable = rows.values_list("note_id", "gate_path", "decision"), within(unusable)
    last = {(note, gate): decision for note, gate, decision in found if is_unusable(gate)}
    return Counter(last.values())


COLUMNS = (
    "note_path", "gate_id", "model_partition", "decision", "review_pair_id", "accepted_at",
    "note_changed_since", "fingerprint", "severity", "status", "regressed", "line", "line_now",
    "text", "quote",
)  # fmt: skip


def queue_csv(entries: Iterable[QueueEntryJson]) -> str:
    """A header and a row for each finding; an entry without findings has one row without them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        findings: list[QueueFindingJson | None] = [*entry.findings] or [None]
        for finding in findings:
            values = (getattr(finding, name, getattr(entry, name, None)) for name in COLUMNS)
            writer.writerow(map(safe_cell, values))
    return out.getvalue()


@dataclass(frozen=True)
class QueueFacets:
    """Lines of each value, under all filters but its own; `waiting`: of gates that changed."""

    total: int
    waiting: int
    counts: Mapping[str, Mapping[str, int]]


# Two of them hide lines without being a facet.
_NAMES = tuple(name for name in FILTERS if name != "notes")
_COLUMNS = list(dict.fromkeys(FILTERS[name] for name in _NAMES))


def read_facets(queue: Queue) -> QueueFacets:
    """Count all facets with one query: rows have few combinations of values."""
    rows = queue.rows(without=_NAMES).order_by().values_list(*_COLUMNS)
    positions = {name: _COLUMNS.index(FILTERS[name]) for name in _NAMES}
    filters = [name for name in _NAMES if name in queue.filters]
    allowed = [(name, positions[name], frozenset(queue.filters[name])) for name in filters]
    counts: dict[str, Counter[Any]] = {name: Counter() for name in _NAMES}
    for *kind, number in rows.annotate(number=Count("pk")):
        hidden_by = {name for name, at, values in allowed if kind[at] not in values}
        for name in _counted_in(hidden_by):
            counts[name][kind[positions[name]]] += number
    return _facets(queue, counts)


def _counted_in(hidden_by: set[str]) -> Collection[str]:
    """Return the facets that count a line: all, or the only one whose own filter hides it."""
    if not hidden_by:
        return _NAMES
    if len(hidden_by) == 1:
        # Of each partition its own reviews, as they are when it is set: not only the latest.
        return ["partitions"] if hidden_by == {"shown"} else hidden_by
    return ["partitions"] if hidden_by == {"shown", "partitions"} else ()


def _facets(queue: Queue, counts: Mapping[str, Counter[Any]]) -> QueueFacets:
    def gate_id(key: int) -> str:
        return queue.gate_id(queue.gates[key])

    total = sum(counts["shown"].values())
    shown = {
        "states": _ordered(counts["states"], DispositionState.values),
        "severities": _ordered(counts["severities"], reversed(Severity.values)),
        "decisions": _ordered(counts["decisions"], ("fail", "warn")),
        "seen": dict(counts["seen"].most_common()),
        "ages": _ordered(counts["ages"], (*AGES, OLDER)),
        "since": _ordered(counts["since"], NoteNow.values),
        "lenses": _relabelled(counts["lenses"], lambda key: lens_of(gate_id(key))),
        "gates": _relabelled(counts["gates"], gate_id),
        "folders": _folders(counts["folders"], queue.wanted.folders),
        "partitions": _relabelled(counts["partitions"], queue.partitions.__getitem__),
    }
    return QueueFacets(total, sum(counts["gate_now"].values()) - total, shown)


def _ordered(counts: Counter[Any], words: Iterable[str]) -> dict[str, int]:
    return {word: counts[word] for word in words}


def _relabelled(counts: Counter[Any], label: Callable[[Any], str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for value, number in counts.items():
        found[label(value)] += number
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _folders(counts: Counter[str], chosen: tuple[str, ...]) -> dict[str, int]:
    """Count the folders that are set, with all below them, and the ones a step below them."""
    tops = chosen or (commonpath(counts) if counts else "",)
    steps = _relabelled(counts, lambda folder: _step_below(folder, tops))
    steps.pop("", None)
    whole = {top: sum(n for f, n in counts.items() if within((top,))(f)) for top in chosen}
    return {**whole, **{step: n for step, n in steps.items() if step not in tops}}


def _step_below(folder: str, tops: Sequence[str]) -> str:
    """Return the part of a folder one step below the top that contains it; "" if none does."""
    for top in tops:
        if not top or within((top,))(folder):
            steps = len(top.split("/")) + 1 if top else 1
            return "/".join(folder.split("/")[:steps])
    return ""


_REMARKS_AT_ONCE = 500
_TEXTS = Prefetch("read_snapshot", FileSnapshot.objects.defer("text"))


def read_remarks(queue: Queue, corpus: Corpus) -> Iterator[FindingState]:
    """Yield them by place, of the latest review of a pair that has any, under the filters of the queue.

    Left out are pairs that the queue has a review of, notes that are gone, and gates that changed.
    """
    wanted, filters = queue.wanted, queue.filters
    if Severity.INFO not in wanted.severities or wanted.decisions or wanted.confirmed_by:
        return
    names = filters.keys() & {"gate_now", "gates", "partitions"}
    keys = {"decision__in": [Decision.PASS]} | {f"{FILTERS[it]}__in": filters[it] for it in names}
    passed = CurrentAcceptance.objects.filter(event__review_pair__findings__severity=Severity.INFO)
    notes = dict(passed.filter(**keys).order_by().values_list("note__path", "note_id").distinct())
    queued = queue.rows(without=["severities", "states"]).values_list("note_id", "gate_id")
    queued_pairs = set(queued.order_by())
    for paths in batched(sorted(filter(within(wanted.notes), notes)), _REMARKS_AT_ONCE):
        digests = corpus.digests_of(paths)
        here = [notes[path] for path in paths if path in digests]
        states = finding_states({"note_id__in": here, **keys})
        rows = [state for state in states if state.severity == Severity.INFO]
        prefetch_related_objects(rows, "finding", "event", _TEXTS)
        latest = {(row.note_id, row.gate_id): row.event_id for row in rows}
        for row in sorted(rows, key=attrgetter("note_path", "gate_path", "ordinal")):
            pair, now = (row.note_id, row.gate_id), digests[row.note_path]
            is_over = row.state == DispositionState.DEFERRED and row.decided_sha256 != now
            row.state_now = DispositionState.OPEN.value if is_over else row.state
            is_same = row.read_snapshot.content_sha256 == now
            row.since, row.rank = (NoteNow.SAME if is_same else NoteNow.CHANGED), 0
            found, row.accepted_at = row.finding, row.event.accepted_at
            row.text, row.quote, row.line = found.text, found.quote, found.note_line
            is_shown = pair not in queued_pairs and latest[pair] == row.event_id
            if is_shown and row.state_now in filters["states"] and not queue.why_muted(row):
                yield row
