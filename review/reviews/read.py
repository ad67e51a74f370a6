"""Reads reviews with all that is known of them, of deleted notes too, and texts as they were."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import QuerySet

from review import models
from review.documents.base import Document, SaidJson, from_row, timestamp
from review.domain import paths
from review.errors import InputRejected
from review.findings.states import DecidedPairJson, QueueFindingJson, read_findings_now
from review.jobs.provenance import contradicting_models, partition_contradicts
from review.knowledge_base import Corpus, UnreadableFile
from review.protocol.telemetry import telemetry_models
from review.vocabulary import PairStatus, ProblemCode

_TEXTS = ("note_snapshot__text", "gate_snapshot__text")


class PersonDecisionJson(SaidJson, kw_only=True):
    """A person's decision about a review, made after parsing; the last one counts."""

    decision: str


class FileStateJson(Document, kw_only=True):
    """A file as it was reviewed; `now` is `same`, `changed` or `gone`."""

    path: str
    sha256: str
    now: str


class ProvenanceJson(Document, kw_only=True):
    """The parent's statement; `claim_problem`: the output names a model of another partition."""

    runner: str | None
    runner_model: str | None
    runner_effort: str | None
    claimed_by: str | None
    claimed_at: str | None
    self_reported_model: str | None
    claim_problem: str | None
    telemetry_models: list[str]
    telemetry_contradicts: bool = False


class AcceptanceJson(Document, kw_only=True):
    """A current acceptance; `review_pair_id` is null for an override."""

    note_path: str
    gate_id: str
    model_partition: str
    kind: str
    decision: str
    review_pair_id: int | None
    actor: str
    reason: str
    accepted_at: str | None
    note_sha256: str
    gate_sha256: str


class ReviewJson(DecidedPairJson, kw_only=True):
    """One completed review.

    `decision` is the one that counts, `parsed_decision` what the text was read as. `acceptance` is
    the current one of the key, whether or not this review is its evidence (`is_current`).
    `note` and `gate` say how the reviewed text relates to today's files.
    """

    review_job_id: int
    parsed_decision: str
    decision_source: str | None
    problem: str | None
    person_decisions: list[PersonDecisionJson]
    reviewed_at: str | None
    not_accepted_because: str | None
    is_current: bool
    later_review_pair_id: int | None
    acceptance: AcceptanceJson | None
    note: FileStateJson
    gate: FileStateJson
    provenance: ProvenanceJson
    findings: list[QueueFindingJson]
    result_path: str | None
    text: str


class RenderedJson(Document, kw_only=True, tag_field="schema", tag="render-review/1"):
    """The answer of `render_review`; `unreviewed` are acceptances without a review as evidence."""

    reviews: list[ReviewJson]
    unreviewed: list[AcceptanceJson]


@dataclass(frozen=True)
class HistoryRequest:
    """A pair by its id, or the current reviews of a note that may be gone; "" keeps all."""

    pair_id: int | None = None
    note: str = ""
    gate: str = ""
    model_partition: str = ""


class _Shown(NamedTuple):
    """A completed pair, and the note and gate it is shown for, which a carry over changed."""

    pair: models.ReviewPair
    note_path: str
    gate_path: str
    acceptance: models.CurrentAcceptance | None


def read_reviews(corpus: Corpus, request: HistoryRequest) -> RenderedJson:
    """Return the requested reviews, sorted by gate path and partition.

    A note's review for a gate and partition is the evidence of the current acceptance, else the
    latest completed one.
    """
    current = models.CurrentAcceptance.objects.select_related(
        "event", "note", "gate", "model_partition", "note_snapshot", "gate_snapshot"
    )
    current = current.defer(*_TEXTS).order_by("pk")
    unreviewed: list[models.CurrentAcceptance] = []
    if request.pair_id is not None:
        shown = [_one(request.pair_id, current)]
    else:
        shown, unreviewed = _of_note(request, current, corpus)
    digests = {note: _digest(note, corpus.read_note) or "" for _pair, note, *_rest in shown}
    reviewed = [(pair, note, gate) for pair, note, gate, *_rest in shown]
    findings = read_findings_now(corpus, reviewed, digests=digests)
    return RenderedJson(
        reviews=[
            _review_json(item, found, corpus) for item, found in zip(shown, findings, strict=True)
        ],
        unreviewed=[_acceptance_json(row, corpus) for row in unreviewed],
    )


def _one(pair_id: int, current: Any) -> _Shown:
    pair = _pairs().filter(pk=pair_id).first()
    if pair is None:
        raise InputRejected(
            f"no review pair {pair_id} in this store",
            "no-review",
            hint="pairs and their ids are in: commonplace review_job_list --json",
        )
    if pair.status != PairStatus.COMPLETED:
        raise InputRejected(
            f"pair {pair_id} has no review: it is {pair.status}, and its job {pair.job_id} is"
            f" {pair.job.status}",
            "no-review",
            hint=f"its prompt is {pair.job.prompt_path}",
        )
    accepted = current.filter(
        note=pair.note, gate=pair.gate, model_partition=pair.job.model_partition
    )
    return _Shown(pair, pair.note.path, pair.gate.path, accepted.first())


def _of_note(
    request: HistoryRequest, current: Any, corpus: Corpus
) -> tuple[list[_Shown], list[models.CurrentAcceptance]]:
    config = corpus.config
    note_path = paths.path_below(str(config.root), request.note)
    gate_path = paths.path_below(str(config.root), request.gate) if request.gate else ""
    if gate_path and not gate_path.startswith(f"{config.gates_folder}/"):
        gate_path = config.gate_path(gate_path)
    wanted = {"note__path": note_path} | ({"gate__path": gate_path} if gate_path else {})
    current = current.filter(**wanted)
    completed = models.ReviewPair.objects.completed().filter(**wanted).order_by("pk")
    if name := request.model_partition:
        current = current.filter(model_partition__name=name)
        completed = completed.filter(job__model_partition__name=name)
    accepted = {(row.gate.path, row.model_partition.name): row for row in current}
    columns = ("gate__path", "job__model_partition__name", "pk")
    chosen = {(gate, model): pair_id for gate, model, pair_id in completed.values_list(*columns)}
    for key, row in accepted.items():
        if row.event.review_pair_id:
            chosen[key] = row.event.review_pair_id
    if not chosen and not accepted:
        raise _none_of(note_path, gate_path, request)
    pairs = _pairs().in_bulk(chosen.values())
    return [
        _Shown(pairs[pair_id], note_path, key[0], accepted.get(key))
        for key, pair_id in sorted(chosen.items())
    ], [row for key, row in sorted(accepted.items()) if key not in chosen]


def _pairs() -> QuerySet[models.ReviewPair]:
    return models.ReviewPair.objects.select_related(
        "note", "gate", "job__model_partition", "note_snapshot", "gate_snapshot", "review_text"
    ).defer(*_TEXTS)


def _none_of(note_path: str, gate_path: str, request: HistoryRequest) -> InputRejected:
    """The refusal; names what the note has reviews of, else notes that have reviews."""
    by = f" by {gate_path}" if gate_path else ""
    where = f" in partition {request.model_partition}" if request.model_partition else ""
    what = f"no review of {note_path}{by}{where}"
    reviews = models.ReviewPair.objects.completed()
    columns = ("gate__path", "job__model_partition__name")
    known = set(reviews.filter(note__path=note_path).values_list(*columns))
    if known:
        gates = sorted({gate for gate, _partition in known})
        near = paths.near_matches(gate_path, gates) if gate_path not in gates else (gate_path,)
        names = sorted(f"{gate} in {name}" for gate, name in known if gate in (near or gates))
        return InputRejected(what, "no-review", hint=f"it has reviews by {', '.join(names[:5])}")
    reviewed = models.KbPath.objects.filter(pk__in=reviews.values("note_id"))
    lacks = f"what it lacks: commonplace review_target_selector --all-gates --note {shlex.quote(note_path)}"
    hint = paths.did_you_mean(note_path, reviewed.values_list("path", flat=True))
    return InputRejected(what, "no-review", hint=hint or lacks)


def _review_json(shown: _Shown, findings: Sequence[QueueFindingJson], corpus: Corpus) -> ReviewJson:
    pair, note_path, gate_path, accepted = shown
    decisions = list(models.DecisionEvent.objects.filter(pair=pair).order_by("pk"))
    gate_id = corpus.config.gate_label(gate_path)
    # Completed pairs of the same key, the latest first.
    later = models.ReviewPair.objects.completed().filter(
        note__path=note_path,
        gate__path=gate_path,
        job__model_partition=pair.job.model_partition,
        pk__gt=pair.pk,
    )
    return from_row(
        ReviewJson,
        pair,
        review_pair_id=pair.pk,
        review_job_id=pair.job_id,
        note_path=note_path,
        gate_path=gate_path,
        gate_id=gate_id,
        lens=paths.lens_of(gate_id),
        model_partition=pair.job.model_partition.name,
        decision=decisions[-1].decision if decisions else pair.decision,
        parsed_decision=pair.decision,
        decision_source=pair.decision_source or None,
        problem=pair.problem or None,
        person_decisions=[from_row(PersonDecisionJson, event) for event in decisions],
        not_accepted_because=pair.not_accepted or None,
        is_current=accepted is not None and accepted.event.review_pair_id == pair.pk,
        later_review_pair_id=later.order_by("-pk").values_list("pk", flat=True).first(),
        acceptance=_acceptance_json(accepted, corpus) if accepted else None,
        note=_file_state(note_path, pair.note_snapshot.content_sha256, corpus.read_note),
        gate=_file_state(gate_path, pair.gate_snapshot.content_sha256, corpus.gate),
        provenance=_provenance(pair.job, corpus),
        findings=list(findings),
        result_path=pair.result_path or None,
        text=pair.review_text.text,
    )


def _acceptance_json(row: models.CurrentAcceptance, corpus: Corpus) -> AcceptanceJson:
    return from_row(
        AcceptanceJson,
        row.event,
        note_path=row.note.path,
        gate_id=corpus.config.gate_label(row.gate.path),
        model_partition=row.model_partition.name,
        decision=row.decision,
        note_sha256=row.note_snapshot.content_sha256,
        gate_sha256=row.gate_snapshot.content_sha256,
    )


def _provenance(job: models.ReviewJob, corpus: Corpus) -> ProvenanceJson:
    claim, partition = job.self_reported_model, job.model_partition.name
    problem, config = None, corpus.config
    if claim and partition_contradicts(partition, (claim,), config=config):
        problem = (
            f"the output says it was written by {claim!r}, another model than those of the job's"
            f" partition {partition!r}: a claim, not provenance"
        )
    return from_row(
        ProvenanceJson,
        job,
        claimed_by=job.claimed_by or None,
        claimed_at=timestamp(job.started_at),
        self_reported_model=claim or None,
        claim_problem=problem,
        telemetry_models=list(telemetry_models(job.telemetry)),
        telemetry_contradicts=bool(contradicting_models(partition, job.telemetry, config=config)),
    )


def _file_state(path: str, sha256: str, read: Callable[[str], Any]) -> FileStateJson:
    digest = _digest(path, read)
    now = "gone" if digest is None else "same" if digest == sha256 else "changed"
    return FileStateJson(path=path, sha256=sha256, now=now)


def _digest(path: str, read: Callable[[str], Any]) -> str | None:
    """The digest on disk; "" for a file that cannot be read, None for one that is gone."""
    try:
        return str(read(path).sha256)
    except UnreadableFile as refused:
        return None if refused.problem.code is ProblemCode.VANISHED else ""


class ReviewPart(StrEnum):
    REVIEW = "review"
    NOTE = "note"
    GATE = "gate"


def text_of_review(pair_id: int, part: ReviewPart) -> str:
    """Return the text of a review, or the exact note or gate that it judged."""
    column = "review_text" if part is ReviewPart.REVIEW else f"{part.value}_snapshot"
    pairs = models.ReviewPair.objects.filter(pk=pair_id).values_list(f"{column}__text", flat=True)
    text: str | None = pairs.first()
    if text is None:
        lacks = "no review pair {} in this store" if not pairs else "review pair {} has no review"
        raise InputRejected(lacks.format(pair_id), "no-such-text")
    return text


def snapshot_text(snapshot_id: int) -> str:
    text = models.FileSnapshot.objects.filter(pk=snapshot_id).values_list("text", flat=True).first()
    if text is None:
        raise InputRejected(f"no text {snapshot_id} in this store", "no-such-text")
    return text
