"""List the reviews that a person should check: undecided, or with findings that do not fit; read
undecided ones again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.expressions import RawSQL

from review.acceptance.decide import PairOfAnotherModel, RereadJson, set_decision
from review.documents.base import Document, from_row
from review.domain.finding_identity import review_fingerprint
from review.domain.paths import lens_of
from review.findings.states import (
    LookJson,
    LooksJson,
    QueueFindingJson,
    rationales,
    read_findings_now,
)
from review.knowledge_base import Corpus
from review.models import (
    UNDECIDED,
    Acceptance,
    CurrentAcceptance,
    DecisionEvent,
    Finding,
    NamedKeys,
    ReviewPair,
    latest_of,
)
from review.protocol.decision import read_review
from review.protocol.quote_location import quote_lines
from review.selection.names import within
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    QUEUED_DECISIONS,
    RULES_PARTITION,
    Decision,
    DispositionState,
    LookReason,
    NotAccepted,
    Severity,
)

_BY_FINDINGS = (LookReason.FINDINGS_DISAGREE, LookReason.QUOTES_NOT_FOUND, LookReason.FLIPPED)


@dataclass(frozen=True)
class LookRequest:
    """A filter of reviews; an empty one keeps all."""

    notes: tuple[str, ...] = ()
    gate_paths: tuple[str, ...] = ()
    model_partition: str | None = None


def read_looks(corpus: Corpus, request: LookRequest = LookRequest()) -> LooksJson:
    """Return the reviews to check, sorted by note path, gate path and pair.

    One that was carried over is listed where it counts now; one whose findings do not fit is
    settled once each of them is, or once a person decided it.
    """
    is_wanted = within(request.notes)
    reasons = _reasons(request)
    related = ("note", "gate", "note_snapshot", "job__model_partition")
    rows = ReviewPair.objects.filter(pk__in=NamedKeys(reasons)).select_related(*related)
    accepted = Acceptance.objects.filter(review_pair_id__in=NamedKeys(reasons)).order_by("pk")
    places = accepted.values_list("review_pair_id", "note__path", "gate__path")
    latest = {pair_id: place for pair_id, *place in places}
    placed = (
        (pair, *latest.get(pair.pk, (pair.note.path, pair.gate.path)))
        for pair in rows.defer("note_snapshot__text")
    )
    reviewed = sorted(
        (item for item in placed if is_wanted(item[1])), key=lambda item: (*item[1:], item[0].pk)
    )
    listed = corpus.notes_at({path for _pair, path, _gate in reviewed})
    digests = corpus.digests_of((path for _pair, path, _gate in reviewed), listed)
    found = read_findings_now(corpus, reviewed, digests=digests)
    looks = [
        look
        for item, findings in zip(reviewed, found, strict=True)
        if not _is_settled(look := _look(item, reasons[item[0].pk], findings, corpus))
    ]
    texts = rationales(look.review_pair_id for look in looks)
    for look in looks:
        look.rationale = texts.get(look.review_pair_id)
    notes = {look.note_path for look in looks}
    problems = [problem for problem in listed.problems if problem.path in notes]
    return LooksJson(needs_a_look=looks, problems=problems)


def undecided_pairs(request: LookRequest) -> QuerySet[ReviewPair]:
    """Return the pairs whose decision is unknown or an error, and that nothing answered since."""
    key = {name: OuterRef(name) for name in ("note_id", "gate_id")}
    partition = OuterRef("job__model_partition_id")
    later = ReviewPair.objects.completed().filter(
        **key, job__model_partition_id=partition, pk__gt=OuterRef("pk")
    )
    accepted_later = CurrentAcceptance.objects.filter(
        **key, model_partition_id=partition, event__accepted_at__gt=OuterRef("reviewed_at")
    )
    return _scoped(undecided(), request).exclude(Exists(later) | Exists(accepted_later))


def undecided() -> QuerySet[ReviewPair]:
    return _decided(UNDECIDED)


def _decided(decisions: Iterable[Decision]) -> QuerySet[ReviewPair]:
    # Written out: SQLite takes an index of some rows only where the statement itself says that no
    # other is wanted, and not for what a parameter holds.
    words = RawSQL(", ".join(f"'{word.value}'" for word in decisions), (), TextField())  # noqa: S611
    return ReviewPair.objects.filter(decision__in=words).exclude(not_accepted=NotAccepted.TRIAL)


def _reasons(request: LookRequest) -> dict[int, LookReason]:
    # A rule that cannot read the frontmatter asks no person: the file is to be mended.
    unknown = undecided_pairs(request).exclude(job__model_partition__name=RULES_PARTITION)
    found = {pair_id: LookReason(why) for pair_id, why in unknown.values_list("pk", "not_accepted")}
    passes = _scoped(ReviewPair.objects.filter(pk__in=NamedKeys(_accepted_passes())), request)
    found |= dict.fromkeys(passes.values_list("pk", flat=True), LookReason.FINDINGS_DISAGREE)
    queued = CurrentAcceptance.objects.queued().filter(event__review_pair__note_id=F("note_id"))
    pair_ids = queued.values_list("event__review_pair_id", flat=True)
    pairs = _scoped(ReviewPair.objects.filter(pk__in=NamedKeys(pair_ids)), request)
    decisions = dict(pairs.values_list("pk", "decision"))
    rows = Finding.objects.filter(pair_id__in=NamedKeys(decisions)).values("pair_id")
    counts = rows.annotate(
        fails=Count("pk", filter=Q(severity=Severity.FAIL)),
        lines=Count("note_line"),
        quotes=Count("pk", filter=~Q(quote="")),
    ).values_list("pair_id", "fails", "lines", "quotes")
    unfit, unplaced = dict.fromkeys(decisions, LookReason.NO_FINDINGS), []
    for pair_id, fails, lines, quotes in counts:
        del unfit[pair_id]
        if (decisions[pair_id] == Decision.FAIL) != (fails > 0):
            unfit[pair_id] = LookReason.FINDINGS_DISAGREE
        elif quotes and not lines:
            unplaced.append(pair_id)
    flipped = _scoped(_passed_since(), request).values_list("pk", flat=True)
    found |= dict.fromkeys(flipped, LookReason.FLIPPED)
    return found | unfit | dict.fromkeys(_without_quotes(unplaced), LookReason.QUOTES_NOT_FOUND)


def _without_quotes(pair_ids: Iterable[int]) -> Iterator[int]:
    pairs = ReviewPair.objects.filter(pk__in=NamedKeys(pair_ids))
    for pair_id, text in pairs.values_list("pk", "note_snapshot__text").iterator(chunk_size=100):
        quotes = Finding.objects.filter(pair_id=pair_id).exclude(quote="")
        if not any(quote_lines(text, quote) for quote in quotes.values_list("quote", flat=True)):
            yield pair_id


def _accepted_passes() -> Iterator[int]:
    grave = Finding.objects.filter(
        severity__in=(Severity.WARN, Severity.FAIL), pair__decision=Decision.PASS
    )
    current = CurrentAcceptance.objects.filter(
        # By its key: a current acceptance is not found by its event.
        model_partition_id=OuterRef("model_partition_id"),
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        event_id=OuterRef("pk"),
        decision=Decision.PASS,
    )
    pair_ids = NamedKeys(grave.values_list("pair_id", flat=True).distinct())
    accepted = Acceptance.objects.filter(Exists(current), review_pair_id__in=pair_ids)
    yield from set(accepted.values_list("review_pair_id", flat=True))


def _passed_since() -> QuerySet[ReviewPair]:
    """Return the pairs that flagged texts which a later review, which counts, passes.

    A rule does so only where linked files changed, which is no contradiction.
    """
    key = ("note_id", "gate_id", "note_snapshot_id", "gate_snapshot_id")
    passed = CurrentAcceptance.objects.filter(
        **{name: OuterRef(name) for name in key},
        model_partition_id=OuterRef("job__model_partition_id"),
        decision=Decision.PASS,
        event__reason="",
        event__review_pair_id__gt=OuterRef("pk"),
    )
    by_models = _decided(QUEUED_DECISIONS).exclude(job__model_partition__name=RULES_PARTITION)
    return by_models.filter(Exists(passed))


def _scoped(pairs: QuerySet[ReviewPair], request: LookRequest) -> QuerySet[ReviewPair]:
    pairs = pairs.exclude(Exists(DecisionEvent.objects.filter(pair_id=OuterRef("pk"))))
    if request.model_partition:
        pairs = pairs.filter(job__model_partition__name=request.model_partition)
    if request.gate_paths:
        pairs = pairs.filter(gate__path__in=request.gate_paths)
    return pairs


def _is_settled(look: LookJson) -> bool:
    if look.why not in _BY_FINDINGS:
        return False
    if not look.findings:
        own = review_fingerprint(
            note_path=look.note_path, gate_path=look.gate_path, partition=look.model_partition
        )
        return any(last.state != DispositionState.OPEN for last in latest_of([own]).values())
    grave_only = look.decision == Decision.PASS
    return not any(
        finding.status == DispositionState.OPEN
        and not (grave_only and finding.severity == Severity.INFO)
        for finding in look.findings
    )


def _look(
    item: tuple[ReviewPair, str, str],
    why: LookReason,
    findings: list[QueueFindingJson],
    corpus: Corpus,
) -> LookJson:
    pair, note_path, gate_path = item
    gate_id = corpus.config.gate_id(gate_path)
    return LookJson(
        note_path=note_path,
        gate_path=gate_path,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        model_partition=pair.job.model_partition.name,
        decision=pair.decision,
        review_pair_id=pair.pk,
        why=why.value,
        problem=pair.problem or None,
        findings=findings,
        rationale=None,
    )


class RereadReviewsJson(Document, kw_only=True, tag_field="schema", tag="reread-reviews/1"):
    dry_run: bool
    decided: list[RereadJson]
    still_unknown: int


REASON = "the stored review was read again"


def reread_reviews(
    *, actor: str, dry_run: bool, corpus: Corpus, now: datetime
) -> RereadReviewsJson:
    """Decide the unanswered reviews of the partition's own models whose text states a decision."""
    found = undecided_pairs(LookRequest()).filter(not_accepted=NotAccepted.DECISION_UNKNOWN)
    related = ("note", "gate", "job__model_partition", "review_text")
    pair_ids = list(found.order_by("pk").values_list("pk", flat=True))
    decided: list[RereadJson] = []
    for pair_id in pair_ids:
        pair = ReviewPair.objects.select_related(*related).get(pk=pair_id)
        decision = read_review(pair.review_text.text).decision.decision
        if decision not in ACCEPTING_DECISIONS:
            continue
        if dry_run:
            found_now = RereadJson(
                review_pair_id=pair_id,
                note_path=pair.note.path,
                gate_path=pair.gate.path,
                gate_id=corpus.config.gate_id(pair.gate.path),
                model_partition=pair.job.model_partition.name,
                decision=decision.value,
            )
            decided.append(found_now)
            continue
        with suppress(PairOfAnotherModel):
            done = set_decision(
                pair_id, decision, reason=REASON, actor=actor, config=corpus.config, now=now
            )
            decided.append(from_row(RereadJson, done))
    return RereadReviewsJson(
        dry_run=dry_run, decided=decided, still_unknown=len(pair_ids) - len(decided)
    )
