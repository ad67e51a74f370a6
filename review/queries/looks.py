"""Reviews that want a person's eye: no decision could be read, or the findings contradict it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from django.db.models import Exists, F, OuterRef, QuerySet

from review.contracts.queue import LookJson, QueueFindingJson
from review.corpus import Corpus
from review.domain.identity import gate_id_of, lens_of
from review.domain.problems import Problem
from review.models import (
    Acceptance,
    CurrentAcceptance,
    DecisionEvent,
    Disposition,
    Finding,
    ReviewPair,
    batched,
)
from review.queries.places import below, digests_of, is_below, within
from review.queries.queue_findings import FindingReader, ReviewedPair
from review.queries.review_texts import rationales
from review.vocabulary import Decision, DispositionState, Severity

FINDINGS_DISAGREE = "findings-disagree"
_REASONS = {Decision.UNKNOWN: "decision-unknown", Decision.ERROR: "decision-error"}
_GRAVE = (Severity.WARN, Severity.FAIL)
_PAIRS_AT_ONCE = 5000


@dataclass(frozen=True)
class LookRequest:
    """Which reviews to give; an empty filter keeps all.

    :param gate_folders: of gates, with all that is below them; gone ones too.
    """

    notes: tuple[str, ...] = ()
    gate_paths: tuple[str, ...] = ()
    gate_folders: tuple[str, ...] = ()
    model_partition: str | None = None
    with_rationale: bool = True


@dataclass(frozen=True)
class Looks:
    """What wants a look; `problems` are those of the notes that were looked at."""

    looks: tuple[LookJson, ...]
    problems: tuple[Problem, ...]


def read_looks(corpus: Corpus, request: LookRequest, *, gates_folder: str) -> Looks:
    """Undecided reviews nobody answered since, and passes with an open warn or fail finding.

    Sorted by note path, gate path and pair; only their notes are looked at.
    """
    is_wanted = within(request.notes)
    pairs = [
        pair
        for pair in (*_undecided(request), *chain.from_iterable(_disagreeing(request)))
        if is_wanted(pair.note.path) and is_below(pair.gate.path, request.gate_folders)
    ]
    pairs.sort(key=lambda pair: (pair.note.path, pair.gate.path, pair.pk))
    listed = corpus.notes_at({pair.note.path for pair in pairs})
    digests = digests_of(corpus, listed, (pair.note.path for pair in pairs))
    found = FindingReader(corpus, digests=digests).read_each([_reviewed(pair) for pair in pairs])
    findings = {pair.pk: items for pair, items in zip(pairs, found, strict=True)}
    kept = [
        pair for pair in pairs if pair.decision in _REASONS or _has_open_grave(findings[pair.pk])
    ]
    texts = rationales(pair.pk for pair in kept) if request.with_rationale else {}
    looks = [_look(pair, findings[pair.pk], texts.get(pair.pk), gates_folder) for pair in kept]
    return Looks(tuple(looks), listed.problems)


def count_looks(corpus: Corpus, request: LookRequest, *, gates_folder: str) -> int:
    """How many `read_looks` gives; where nothing was ever disposed of, nothing is read for it."""
    if Disposition.objects.exists():
        bare = replace(request, with_rationale=False)
        return len(read_looks(corpus, bare, gates_folder=gates_folder).looks)
    disagreeing = sum(pairs.count() for pairs in _disagreeing(request))
    return _undecided(request).count() + disagreeing


def _undecided(request: LookRequest) -> QuerySet[ReviewPair]:
    later = ReviewPair.objects.completed().filter(
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        job__model_partition_id=OuterRef("job__model_partition_id"),
        pk__gt=OuterRef("pk"),
    )
    answered = DecisionEvent.objects.filter(pair_id=OuterRef("pk"))
    accepted_later = CurrentAcceptance.objects.filter(
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        model_partition_id=OuterRef("job__model_partition_id"),
        event__accepted_at__gt=OuterRef("reviewed_at"),
    )
    return _scoped(ReviewPair.objects.undecided(), request).exclude(
        Exists(later) | Exists(answered) | Exists(accepted_later)
    )


def _disagreeing(request: LookRequest) -> Iterator[QuerySet[ReviewPair]]:
    """Passes that count, with a grave finding; some thousand pairs at a time.

    Step by step, because no planner guesses how few passes have one.
    """
    grave = Finding.objects.filter(severity__in=_GRAVE, pair__decision=Decision.PASS)
    pair_ids = grave.values_list("pair_id", flat=True).distinct()
    current = CurrentAcceptance.objects.filter(
        # By its key: a current acceptance is not found by its event.
        model_partition_id=OuterRef("model_partition_id"),
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        event_id=OuterRef("pk"),
        decision=Decision.PASS,
    )
    for chunk in batched(pair_ids.iterator(), _PAIRS_AT_ONCE):
        counting = Acceptance.objects.filter(Exists(current), review_pair_id__in=chunk)
        found = set(counting.values_list("review_pair_id", flat=True))
        if found:
            yield _scoped(ReviewPair.objects.filter(pk__in=found), request)


def _scoped(pairs: QuerySet[ReviewPair], request: LookRequest) -> QuerySet[ReviewPair]:
    pairs = pairs.select_related("note", "gate", "note_snapshot", "job__model_partition")
    pairs = pairs.defer("note_snapshot__text")
    if request.model_partition:
        pairs = pairs.filter(job__model_partition__name=request.model_partition)
    if request.gate_paths:
        pairs = pairs.filter(gate__path__in=request.gate_paths)
    if request.gate_folders:
        pairs = pairs.filter(below(request.gate_folders, field="gate__path"))
    if request.notes:
        pairs = pairs.filter(below(request.notes, field="note__path"))
    return pairs.annotate(partition=F("job__model_partition__name"))


def _reviewed(pair: ReviewPair) -> ReviewedPair:
    return ReviewedPair(
        pair_id=pair.pk,
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        moved=False,
        note_sha256=pair.note_snapshot.content_sha256,
    )


def _has_open_grave(findings: Iterable[QueueFindingJson]) -> bool:
    return any(
        finding.severity in _GRAVE and finding.status == DispositionState.OPEN
        for finding in findings
    )


def _look(
    pair: ReviewPair, findings: Iterable[QueueFindingJson], text: str | None, gates_folder: str
) -> LookJson:
    gate_id = gate_id_of(pair.gate.path, gates_folder=gates_folder)
    decision = Decision(pair.decision)
    return LookJson(
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        model_partition=pair.job.model_partition.name,
        decision=decision,
        review_pair_id=pair.pk,
        why=_REASONS.get(decision, FINDINGS_DISAGREE),
        problem=pair.problem or None,
        findings=list(findings),
        rationale=text,
    )
