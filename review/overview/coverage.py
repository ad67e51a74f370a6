"""How much of the knowledge base each model partition has judged, and what is gone from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from django.db.models import Count

from review.knowledge_base import Corpus, Gate
from review.models import KbPath, ReviewJob, ReviewPair
from review.overview.documents import GateStatusJson, OrphanJson, PartitionStatusJson
from review.reviews.pair_states import BEST, DECIDED, STALE, PairStates
from review.selection.orphans import is_there, live_acceptances
from review.vocabulary import ACCEPTING_DECISIONS, JobStatus, Staleness


def read_coverage(states: PairStates, partitions: Iterable[str]) -> list[PartitionStatusJson]:
    """The coverage of each partition, by what it owes."""
    return [_partition(states, name) for name in partitions]


def count_uncovered(states: PairStates, *, partition: str = BEST) -> int:
    """Count the pairs that are not fresh: in any partition, or in this one."""
    counts = states.count(partition, states.notes)
    return sum(count[state] for count in counts for state in STALE)


def count_jobs() -> dict[str, int]:
    """Jobs by status; a status without jobs counts 0."""
    rows = ReviewJob.objects.values_list("status").annotate(Count("pk")).order_by()
    return {status.value: 0 for status in JobStatus} | dict(rows)


def find_orphans(corpus: Corpus, states: PairStates) -> list[OrphanJson]:
    """Paths with current acceptances under which there is no file any more, sorted.

    Acceptances that were carried over to another path, or retired, do not count. A file that was
    left out for a problem, or that lies outside the note roots, still exists.
    """
    known = {problem.path for problem in states.problems}
    orphans = []
    for kind, paths in states.gone.items():
        gone = [
            path
            for path in paths
            if path not in known and (kind == "gate" or not is_there(corpus, path))
        ]
        orphans += [
            OrphanJson(path=path, kind=kind, acceptances=count)
            for path, count in live_acceptances(kind, KbPath.objects.ids(gone)).items()
        ]
    return sorted(orphans, key=lambda orphan: (orphan.path, orphan.kind))


def _partition(states: PairStates, name: str) -> PartitionStatusJson:
    decisions = states.decisions.get(name, {})
    gates = [
        _gate(gate, count, decisions.get(gate.path, Counter()))
        for gate, count in zip(states.gates, states.count(name, states.notes), strict=True)
    ]
    # Pairs that an open job will answer, each once.
    in_flight = ReviewPair.objects.in_flight(name).values("note_id", "gate_id").distinct()
    return PartitionStatusJson(
        model_partition=name,
        applicable=sum(gate.applicable for gate in gates),
        fresh=sum(gate.fresh for gate in gates),
        in_flight=in_flight.count(),
        gates=gates,
    )


def _gate(gate: Gate, count: Counter[str], decisions: Mapping[str, int]) -> GateStatusJson:
    return GateStatusJson(
        gate_id=gate.gate_id,
        applicable=count.total(),
        fresh=sum(count[state] for state in DECIDED),
        missing_review=count[Staleness.MISSING_REVIEW.value],
        gate_changed=count[Staleness.GATE_CHANGED.value],
        note_changed=count[Staleness.NOTE_CHANGED.value],
        decisions={word.value: decisions.get(word.value, 0) for word in ACCEPTING_DECISIONS},
    )
