"""All that is known of one review: its decision, the texts it read, its acceptance, its findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from review.conf import Config
from review.contracts.base import timestamp
from review.contracts.queue import QueueFindingJson
from review.contracts.reviews import (
    AcceptanceJson,
    FileStateJson,
    PersonDecisionJson,
    ProvenanceJson,
    ReviewJson,
)
from review.corpus import Corpus, UnreadableFile
from review.domain.identity import lens_of
from review.models import CurrentAcceptance, DecisionEvent, ReviewJob, ReviewPair, ReviewText
from review.queries.places import gate_label
from review.queries.queue_findings import FindingReader, ReviewedPair
from review.vocabulary import ProblemCode

SAME, CHANGED, GONE = "same", "changed", "gone"


@dataclass(frozen=True)
class Told:
    """What was said of the model that ran a job.

    :param telemetry_models: the models that the harness's telemetry names.
    :param claim_contradicts: the output names a model of another partition than the job's.
    """

    telemetry_models: tuple[str, ...]
    claim_contradicts: bool


@dataclass(frozen=True)
class Shown:
    """A completed pair, the note and gate it is shown for, and the current acceptance of the key.

    The paths differ from the pair's own where an acceptance was carried over to a moved file.
    """

    pair: ReviewPair
    note_path: str
    gate_path: str
    acceptance: CurrentAcceptance | None


class DetailedReviews:
    """Shows reviews one by one; reads each note and gate once."""

    def __init__(
        self, corpus: Corpus, *, config: Config, tell: Callable[[ReviewJob], Told]
    ) -> None:
        """Show for the knowledge base of `config`; `tell` knows what was said of a job's model."""
        self._corpus = corpus
        self._gates_folder = config.gates_folder
        self._tell = tell
        self._note_state = lru_cache(maxsize=None)(self._read_note_digest)

    def show(self, shown: Shown) -> ReviewJson:
        """The review with everything that is known of it."""
        pair = shown.pair
        decisions = list(DecisionEvent.objects.filter(pair=pair).order_by("pk"))
        gate_id = gate_label(shown.gate_path, self._gates_folder)
        accepted = shown.acceptance
        return ReviewJson(
            review_pair_id=pair.pk,
            review_job_id=pair.job_id,
            note_path=shown.note_path,
            gate_path=shown.gate_path,
            gate_id=gate_id,
            lens=lens_of(gate_id),
            model_partition=pair.job.model_partition.name,
            decision=decisions[-1].decision if decisions else pair.decision,
            parsed_decision=pair.decision,
            decision_source=pair.decision_source or None,
            problem=pair.problem or None,
            person_decisions=[_person(event) for event in decisions],
            reviewed_at=timestamp(pair.reviewed_at),
            not_accepted_because=pair.not_accepted or None,
            is_current=accepted is not None and accepted.event.review_pair_id == pair.pk,
            later_review_pair_id=_later(shown),
            acceptance=None if accepted is None else acceptance_json(accepted, self._gates_folder),
            note=self._state(shown.note_path, pair.note_snapshot.content_sha256, self._note_state),
            gate=self._state(shown.gate_path, pair.gate_snapshot.content_sha256, self._gate_digest),
            provenance=self._provenance(pair.job),
            findings=self._findings(shown),
            result_path=pair.result_path or None,
            text=ReviewText.objects.values_list("text", flat=True).get(pair=pair),
        )

    def _findings(self, shown: Shown) -> list[QueueFindingJson]:
        pair = shown.pair
        reader = FindingReader(
            self._corpus, digests={shown.note_path: self._note_state(shown.note_path) or ""}
        )
        reviewed = ReviewedPair(
            pair_id=pair.pk,
            note_path=shown.note_path,
            gate_path=shown.gate_path,
            moved=(shown.note_path, shown.gate_path) != (pair.note.path, pair.gate.path),
            note_sha256=pair.note_snapshot.content_sha256,
        )
        return reader.read_each([reviewed])[0]

    def _provenance(self, job: ReviewJob) -> ProvenanceJson:
        claim, told = job.self_reported_model, self._tell(job)
        problem = (
            f"the output says it was written by {claim!r}, another model than those of the job's"
            f" partition {job.model_partition.name!r}: a claim, not provenance"
            if told.claim_contradicts
            else None
        )
        return ProvenanceJson(
            runner=job.runner,
            runner_model=job.runner_model,
            runner_effort=job.runner_effort,
            claimed_by=job.claimed_by or None,
            claimed_at=timestamp(job.started_at),
            self_reported_model=claim or None,
            claim_problem=problem,
            telemetry_models=list(told.telemetry_models),
        )

    def _state(
        self, path: str, sha256: str, digest_of: Callable[[str], str | None]
    ) -> FileStateJson:
        digest = digest_of(path)
        now = GONE if digest is None else SAME if digest == sha256 else CHANGED
        return FileStateJson(path=path, sha256=sha256, now=now)

    def _read_note_digest(self, path: str) -> str | None:
        """The digest on disk; `""` for a file that cannot be read, None for one that is gone."""
        try:
            return self._corpus.read_note(path).sha256
        except UnreadableFile as refused:
            return None if refused.problem.code is ProblemCode.VANISHED else ""

    def _gate_digest(self, path: str) -> str | None:
        try:
            return self._corpus.gate(path).sha256
        except UnreadableFile as refused:
            return None if refused.problem.code is ProblemCode.VANISHED else ""


def acceptance_json(row: CurrentAcceptance, gates_folder: str) -> AcceptanceJson:
    """A current acceptance; event, paths, partition and snapshots should be loaded with it."""
    return AcceptanceJson(
        note_path=row.note.path,
        gate_id=gate_label(row.gate.path, gates_folder),
        model_partition=row.model_partition.name,
        kind=row.event.kind,
        decision=row.decision,
        review_pair_id=row.event.review_pair_id,
        actor=row.event.actor,
        reason=row.event.reason,
        accepted_at=timestamp(row.event.accepted_at),
        note_sha256=row.note_snapshot.content_sha256,
        gate_sha256=row.gate_snapshot.content_sha256,
    )


def _person(event: DecisionEvent) -> PersonDecisionJson:
    return PersonDecisionJson(
        decision=event.decision, actor=event.actor, reason=event.reason, at=timestamp(event.at)
    )


def _later(shown: Shown) -> int | None:
    """The latest completed pair of the same key, where it is later than this one."""
    pair = shown.pair
    later = ReviewPair.objects.completed().filter(
        note__path=shown.note_path,
        gate__path=shown.gate_path,
        job__model_partition_id=pair.job.model_partition_id,
        pk__gt=pair.pk,
    )
    return later.order_by("-pk").values_list("pk", flat=True).first()
