"""The queue as the command gives it: all of it, against the files at this moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from django.db.models import Q

from review.domain.problems import Problem
from review.findings.documents import QueueEntryJson
from review.knowledge_base import Corpus, NoteList
from review.knowledge_base.notes import in_order
from review.models import FindingState
from review.queue.entries import read_entries
from review.queue.queue import Queue, QueueFilter
from review.selection.path_filters import digests_of, is_below
from review.vocabulary import NoteNow

_NO_GATE = ("",)


@dataclass(frozen=True)
class WarnQueue:
    """Entries sorted by note and gate path; those of notes that are gone stand apart.

    They are read while they are walked, as often as that is done; the knowledge base must be open.
    `problems` are those of the notes that were looked at, and of gates that cannot be used: what these
    judged cannot be shown. `hidden` are how many reviews that is, by decision.

    :param waiting: findings that are not shown, since their gate changed: they wait for a review.
    """

    entries: Iterable[QueueEntryJson]
    deleted_notes: Iterable[QueueEntryJson]
    problems: tuple[Problem, ...]
    hidden: Mapping[str, int] = field(default_factory=dict)
    waiting: int = 0
    count_entries: Callable[[], Mapping[str, int]] = dict


@dataclass(frozen=True)
class _Entries:
    queue: Queue
    corpus: Corpus
    since: tuple[str, ...]
    with_rationale: bool

    def __iter__(self) -> Iterator[QueueEntryJson]:
        lines = self.queue.lines(self.queue.rows().filter(Q(since__in=self.since)))
        return read_entries(self.queue, self.corpus, lines, with_rationale=self.with_rationale)


def read_warn_queue(
    corpus: Corpus,
    wanted: QueueFilter,
    *,
    listed: NoteList | None = None,
    with_rationale: bool = True,
) -> WarnQueue:
    """Read the findings that want an edit now, one entry per (note, gate): the latest accepted review's.

    Left out: overrides, pairs whose gate changed or went since, and entries all of whose findings
    have another state than asked for.

    :param wanted: its gates are ids, paths and bundle names.
    :param listed: the notes on disk, where they were looked at already; else those of the queue are.
    :raises UnknownGate: a gate filter does not resolve.
    """
    catalog = corpus.gates
    problems = catalog.problems_of(wanted.gates) if wanted.gates else catalog.problems
    unusable = [problem for problem in problems if problem.skipped]
    gates = tuple(gate.gate_id for gate in catalog.resolve(wanted.gates)) if wanted.gates else ()
    looked_at = listed or NoteList((), ())

    def digests(paths: Collection[str]) -> Mapping[str, str]:
        nonlocal looked_at
        if listed is None:
            looked_at = corpus.notes_at(paths)
        return digests_of(corpus, looked_at, paths)

    queue = Queue(
        replace(
            wanted,
            gates=gates or (_NO_GATE if wanted.gates else ()),
            since=tuple(NoteNow.values),
        ),
        gates=catalog,
        digests_of=digests,
        is_whole=False,
    )
    there = tuple(word.value for word in NoteNow if word is not NoteNow.GONE)
    return WarnQueue(
        entries=_Entries(queue, corpus, there, with_rationale),
        deleted_notes=_Entries(queue, corpus, (NoteNow.GONE.value,), with_rationale),
        problems=in_order([*unusable, *_problems_of_notes(queue, looked_at)]),
        hidden=_hidden([problem.path for problem in unusable], wanted.partitions),
        waiting=queue.waiting,
        count_entries=lambda: queue.entry_counts,
    )


def _problems_of_notes(queue: Queue, looked_at: NoteList) -> list[Problem]:
    """Those of notes that have an entry, and of all that are not in the queue but were listed."""
    others = set(queue.notes.paths.values()) - queue.looked_at if looked_at.problems else set()
    return [problem for problem in looked_at.problems if problem.path not in others]


def _hidden(unusable: Collection[str], partitions: tuple[str, ...]) -> Mapping[str, int]:
    """The reviews by gates that are there and cannot be used, counted by decision."""
    if not unusable:
        return {}
    rows = FindingState.objects.order_by("event_id")
    if partitions:
        rows = rows.filter(model_partition__name__in=partitions)
    last = {
        (note_id, gate_path): decision
        for note_id, gate_path, decision in rows.values_list("note_id", "gate_path", "decision")
        if is_below(gate_path, tuple(unusable))
    }
    return Counter(last.values())
