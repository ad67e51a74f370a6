"""The queue: the findings of current reviews, filtered, sorted and counted in the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Value, When

from review.domain.paths import gate_label, lens_of
from review.knowledge_base import Corpus, GateCatalog
from review.models import FindingState, ModelPartition, NamedKeys
from review.queue.columns import (
    DigestReader,
    QueueSort,
    Ranking,
    files_now,
    gate_keys,
    make_ranking,
    read_note_states,
    values_below,
)
from review.selection.names import carried_away
from review.settings import Config
from review.vocabulary import QUEUED_DECISIONS, DispositionState, NoteNow, Severity

# Rank, note path, gate path and ordinal: what the queue is sorted by.
QueueCursor = tuple[int, str, str, int]

AGES = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}
OLDER = "older"
PRESENT = (NoteNow.SAME.value, NoteNow.CHANGED.value)
# Filter to the column whose values it lets through.
FILTERS = {
    "shown": "shown",
    "notes": "note_id",
    "folders": "folder",
    "gates": "gate_id",
    "lenses": "gate_id",
    "partitions": "model_partition_id",
    "severities": "severity",
    "decisions": "decision",
    "seen": "seen",
    "ages": "age",
    "gate_now": "gate_snapshot_id",
    "states": "state_now",
    "since": "since",
}
# Filters of the store alone that leave few notes to look at.
_NARROWING = ("notes", "gates", "partitions", "decisions")
_Rows = QuerySet[FindingState]
_PAIR = {name: OuterRef(name) for name in ("note_id", "gate_id", "gate_snapshot_id")}


@dataclass(frozen=True)
class QueueFilter:
    """A filter of findings; empty values keep all, but an empty `states` keeps the open ones.

    :param since: of `NoteNow`; without it, all but `gone`.
    :param words: occurs in the note's path, the gate's id, the finding or its quote.
    :param confirmed_by: a partition whose current review of the pair warns or fails, too.
    """

    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    lenses: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    words: str = ""
    confirmed_by: str = ""
    sort: QueueSort = QueueSort.PLACE


_ORDER = ("note_path", "gate_path", "ordinal")
# Of other tables, joined for lines alone: an instance of each would double the time.
_SHOWN = {
    "text": F("finding__text"),
    "quote": F("finding__quote"),
    "line": F("finding__note_line"),
    "accepted_at": F("event__accepted_at"),
}


class Queue:
    """The queue under a filter, against the files as they are."""

    def __init__(
        self,
        wanted: QueueFilter,
        gates: GateCatalog,
        digests_of: DigestReader,
        *,
        muted: Mapping[str, str],
        now: datetime | None = None,
        is_whole: bool = True,
    ) -> None:
        """Look at the gates and notes of all rows; only of matching ones unless `is_whole`."""
        self.wanted = wanted
        self.looked_at = now
        self._as_of = now and now.replace(minute=0, second=0, microsecond=0)
        self._folder = gates.folder
        self.gates, gate_texts = gate_keys(gates.gates)
        self._order = _ORDER if wanted.sort is QueueSort.PLACE else ("rank", *_ORDER)
        self._muted = {
            path: muted[gate_id]
            for path in self.gates.values()
            if (gate_id := self.gate_id(path)) in muted and gate_id not in wanted.gates
        }
        self.filters = self._stored_filters()
        rows = FindingState.objects.all()
        if not is_whole:
            narrow = [self.condition(name) for name in _NARROWING if name in self.filters]
            rows = rows.filter(*narrow, gate_id__in=NamedKeys(self.gates))
        self.notes = read_note_states(rows, digests_of)
        self.filters |= {
            "gate_now": gate_texts,
            "states": wanted.states or (DispositionState.OPEN.value,),
            "since": wanted.since or PRESENT,
        }

    def condition(self, name: str) -> Q:
        """Select the rows that a filter lets through."""
        column, values = FILTERS[name], self.filters[name]
        return Q(**{f"{column}__in": NamedKeys(values) if column.endswith("_id") else values})

    def rows(self, *, without: Collection[str] = ()) -> _Rows:
        """Return the rows under all filters but these; none of a gate that is gone."""
        wanted = self.wanted
        kept = [self.condition(name) for name in self.filters if name not in without]
        if self._muted and "muted" not in without:
            kept.append(~Q(gate_path__in=self._muted))
        if wanted.confirmed_by:
            theirs = FindingState.objects.filter(model_partition__name=wanted.confirmed_by, **_PAIR)
            kept.append(Q(Exists(theirs)))
        if wanted.words:
            kept.append(self._with(wanted.words))
        if "gate_now" in without:
            kept.append(Q(gate_id__in=NamedKeys(self.gates)))
        if self._carried_away:
            kept.append(~Q(event_id__in=NamedKeys(self._carried_away)))
        return self.every_row().filter(*kept)

    def lines(
        self, rows: _Rows | None = None, *, limit: int | None = None, backwards: bool = False
    ) -> Iterator[FindingState]:
        """Yield the lines of some rows, or of all that match, in the order of the queue."""
        order = [f"-{name}" for name in self._order] if backwards else self._order
        lines = (self.rows() if rows is None else rows).annotate(**_SHOWN)
        return lines.order_by(*order)[:limit].iterator(2000)

    def after(self, cursor: QueueCursor | None, limit: int) -> list[FindingState]:
        return list(self.lines(cursor and self._beyond(cursor, "gt"), limit=limit))

    def next(self, cursor: QueueCursor) -> FindingState | None:
        return next(iter(self.after(cursor, 1)), None)

    def before(self, cursor: QueueCursor) -> FindingState | None:
        return next(self.lines(self._beyond(cursor, "lt"), limit=1, backwards=True), None)

    def rank(self, cursor: QueueCursor) -> int:
        """Return the number of matching lines before a cursor."""
        return self._beyond(cursor, "lt").count()

    def _beyond(self, cursor: QueueCursor, way: str) -> _Rows:
        """Return the matching rows after a cursor (`gt`) or before it (`lt`)."""
        places = list(zip(self._order, cursor[-len(self._order) :], strict=True))
        found = Q(pk__in=())
        for name, value in reversed(places):
            found = Q(**{f"{name}__{way}": value}) | Q(**{name: value}) & found
        # The first condition lets the database start in the index.
        return self.rows().filter(Q(**{f"{places[0][0]}__{way}e": places[0][1]}) & found)

    def page_start(self, cursor: QueueCursor, size: int) -> QueueCursor | None:
        """Return the cursor before the page that has a line, if each page has `size` lines."""
        first = self.rank(cursor) // size * size
        cursors = self.rows().order_by(*self._order).values_list("rank", *_ORDER)
        return cursors[first - 1] if first else None

    def of(self, fingerprints: Iterable[str]) -> list[FindingState]:
        return list(self.lines(self.rows().filter(fingerprint__in=list(fingerprints))))

    def fingerprints(self) -> list[str]:
        """Return the fingerprints of all matching findings, each once, in order."""
        found = self.rows().order_by(*self._order).values_list("fingerprint", flat=True)
        return list(dict.fromkeys(found))

    @cached_property
    def _carried_away(self) -> set[int]:
        """Acceptances of deleted notes whose reviews were carried over to another path."""
        gone = FindingState.objects.filter(note_id__in=NamedKeys(self.notes.gone))
        pairs = gone.values_list("event_id", "pair_id").distinct()
        return carried_away(pairs) if self.notes.gone else set()

    @cached_property
    def total(self) -> int:
        return self.rows().count()

    @cached_property
    def note_count(self) -> int:
        return self.rows().values("note_id").distinct().count()

    @cached_property
    def waiting(self) -> int:
        """Findings that wait for a new review: they would match, had their gate not changed."""
        return self.rows(without=["gate_now"]).count() - self.total

    @cached_property
    def muted(self) -> int:
        """Findings of muted gates, which would match."""
        return self.rows(without=["muted"]).count() - self.total if self._muted else 0

    @cached_property
    def ranking(self) -> Ranking:
        ages = (*AGES, OLDER) if self._as_of else ()
        return make_ranking(self.wanted.sort, self.filters["gate_now"], ages, self.gate_id)

    def why_last(self, line: FindingState) -> str | None:
        """Return why a line comes after those of other gates, if it does."""
        return self.ranking.sinks_because.get((line.gate_id, line.model_partition_id))

    def why_muted(self, line: FindingState) -> str:
        why = self._muted.get(line.gate_path)
        return f"its gate is muted: {why}" if why else ""

    def first_cursor(self, fingerprints: Collection[str]) -> QueueCursor | None:
        """Return the cursor of the first of these findings, whatever is filtered."""
        rows = self.every_row().filter(fingerprint__in=fingerprints).order_by(*self._order)
        return rows.values_list("rank", *_ORDER).first()

    def count_by_gate(self) -> dict[str, int]:
        """Return gate ids with the number of matching lines, the most frequent first."""
        counts = self.rows().order_by().values_list("gate_path").annotate(number=Count("pk"))
        return {self.gate_id(path): n for path, n in counts.order_by("-number", "gate_path")}

    def count_entries(self) -> dict[str, int]:
        """Count the pairs of note and gate that want an edit, by decision; gone notes apart."""
        rows = self.rows().filter(~Q(since=NoteNow.GONE), ~Q(severity=Severity.INFO)).order_by()
        pairs = rows.values_list("note_id", "gate_id", "decision").distinct()
        counts = Counter(decision for *_pair, decision in pairs)
        return {word.value: counts[word.value] for word in QUEUED_DECISIONS}

    @cached_property
    def note_paths(self) -> set[str]:
        """The notes of the reviews in question, whatever the state of their findings."""
        rows = self.rows(without=["states", "severities"])
        return set(rows.order_by().values_list("note_path", flat=True).distinct())

    @cached_property
    def partitions(self) -> Mapping[int, str]:
        return dict(ModelPartition.objects.values_list("pk", "name"))

    def gate_id(self, gate_path: str) -> str:
        return gate_label(gate_path, self._folder)

    def passed_in(self, line: FindingState) -> tuple[str, ...]:
        """Return the partitions that passed the line's note and gate after its review was accepted."""
        keys = line.passed_in.split(",") if line.passed_in else ()
        return tuple(sorted(self.partitions[int(key)] for key in keys))

    def every_row(self) -> _Rows:
        """Return the rows under no filter, including those of gates that changed or are gone."""
        notes = self.notes
        columns: dict[str, Case] = {
            "state_now": Case(
                When(pk__in=NamedKeys(notes.reopened), then=Value(DispositionState.OPEN.value)),
                default=F("state"),
            ),
            "since": Case(
                When(note_id__in=NamedKeys(notes.gone), then=Value(NoteNow.GONE.value)),
                When(
                    note_id__in=NamedKeys(notes.changed),
                    read_snapshot_id__in=NamedKeys(notes.changed_texts),
                    then=Value(NoteNow.CHANGED.value),
                ),
                default=Value(NoteNow.SAME.value),
            ),
            "shown": Case(When(self._latest(), then=Value(1)), default=Value(0)),
        }
        if self._as_of:
            steps = [When(first_at__gt=self._as_of - AGES[name], then=Value(name)) for name in AGES]
            columns["age"] = Case(*steps, default=Value(OLDER))
        return FindingState.objects.annotate(**columns).annotate(**{"rank": self.ranking.rank})

    def _stored_filters(self) -> dict[str, Sequence[Any]]:
        """Return the filters that are set, of those that do not depend on the files."""
        wanted = self.wanted
        partitions = {name: key for key, name in self.partitions.items()}
        gates, lenses = set(wanted.gates), set(wanted.lenses)
        found: dict[str, Sequence[Any]] = {
            "notes": values_below(wanted.notes, "note_path", "note_id"),
            "folders": values_below(wanted.folders, "folder", "folder"),
            "gates": self._gate_keys(lambda gate_id: gate_id in gates),
            "lenses": self._gate_keys(lambda gate_id: lens_of(gate_id) in lenses),
            "partitions": [partitions.get(name, 0) for name in wanted.partitions],
            "severities": wanted.severities,
            "decisions": wanted.decisions,
            "seen": wanted.seen,
            "ages": wanted.ages,
        }
        is_set = {name: values for name, values in found.items() if getattr(wanted, name)}
        return {"shown": (1,), **is_set}

    def _gate_keys(self, is_wanted: Callable[[str], bool]) -> list[int]:
        return [key for key, path in self.gates.items() if is_wanted(self.gate_id(path))] or [0]

    def _latest(self) -> Q:
        """Select one review for each note and gate: the latest of the requested partitions."""
        wanted = self.wanted.partitions
        if not wanted:
            return Q(later_objections=0)
        later = FindingState.objects.filter(event_id__gt=OuterRef("event_id"), **_PAIR)
        return Q(~Exists(later.filter(model_partition__name__in=wanted)))

    def _with(self, words: str) -> Q:
        folded = words.casefold()
        notes = [key for key, path in self.notes.paths.items() if folded in path.casefold()]
        gates = self._gate_keys(lambda gate_id: folded in gate_id.casefold())
        in_names = Q(note_id__in=NamedKeys(notes)) | Q(gate_id__in=NamedKeys(gates))
        return in_names | Q(finding__text__icontains=words) | Q(finding__quote__icontains=words)


def queue_now(config: Config, wanted: QueueFilter, *, now: datetime) -> Queue:
    """Return the queue as a page shows it."""
    notes, gates, looked_at = files_now(config, now=now)

    def digests(paths: Collection[str]) -> Mapping[str, str]:
        with Corpus(config) as corpus:
            return corpus.digests_of(paths, notes)

    queue = Queue(wanted, gates, digests, muted=config.muted, now=now)
    queue.looked_at = looked_at
    return queue
