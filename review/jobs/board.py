"""Jobs, their moves and their attempts, as commands and pages show them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import Count, Q

from review.documents.base import from_row
from review.domain.paths import gate_id_of
from review.errors import InputRejected
from review.job_files import manifest_path
from review.jobs.job_documents import (
    FindingJson,
    IngestedJobJson,
    IngestedPairJson,
    JobEventJson,
    JobJson,
    PairJson,
)
from review.models import Finding, JobEvent, ReviewJob, ReviewPair, batched
from review.models.jobs import ReviewJobQuerySet
from review.runners.outcome import MODEL_ANSWERED
from review.vocabulary import FailureCode, JobStatus, NotAccepted, PairStatus

_JOBS_AT_ONCE = 200
_COLUMNS = ("job_id", "pk", "ordinal", "note__path", "gate__path", "status", "decision")
# Failures that say something about the pair, where a model had answered. An interruption, a limit of
# the account or an operator's decision says nothing.
_TELLING = (
    FailureCode.PAIRS_MISSING,
    FailureCode.ALL_OR_NOTHING,
    FailureCode.NO_OUTPUT,
    FailureCode.RUNNER_ERROR,
    FailureCode.RUNNER_TIMEOUT,
)
_UNDECIDED = (NotAccepted.DECISION_ERROR, NotAccepted.DECISION_UNKNOWN)


class UnknownJob(InputRejected):
    """No job has this id."""


# A pair's note and gate, and the digests of both texts.
PairText = tuple[str, str, str, str]


def require_job(job_id: int) -> ReviewJob:
    """Return the job, as `with_names` loads it.

    :raises UnknownJob: there is none.
    """
    job = ReviewJob.objects.with_names().filter(pk=job_id).first()
    if job is None:
        raise unknown_job(job_id)
    return job


def unknown_job(job_id: int) -> UnknownJob:
    return UnknownJob(
        f"no review job {job_id} in this store",
        hint="list them with: commonplace review_job_list --json",
    )


def show_jobs(job_ids: Iterable[int], *, gates_folder: str) -> list[JobJson]:
    """Return the jobs with their pairs, in the order of `job_ids`; unknown ids are left out."""
    shown = []
    for chunk in batched(job_ids, _JOBS_AT_ONCE):
        pairs: dict[int, list[PairJson]] = {}
        rows = ReviewPair.objects.filter(job_id__in=chunk).order_by("job_id", "ordinal")
        # Tuples: an instance with its note and its gate takes five times as long.
        for job_id, pair_id, ordinal, note, gate, status, decision in rows.values_list(*_COLUMNS):
            gate_id = gate_id_of(gate, gates_folder=gates_folder)
            pair = PairJson(pair_id, ordinal, note, gate, gate_id, status, decision or None)
            pairs.setdefault(job_id, []).append(pair)
        jobs = ReviewJob.objects.with_names().in_bulk(chunk)
        shown += [_job_json(jobs[pk], pairs.get(pk, [])) for pk in chunk if pk in jobs]
    return shown


def find_jobs(
    *,
    statuses: Collection[str] = (),
    partitions: Collection[str] = (),
    failure_codes: Collection[str] = (),
    lenses: Collection[str] = (),
    job_ids: Collection[int] | None = None,
) -> ReviewJobQuerySet:
    """Return the jobs that match, oldest first; an empty filter keeps all, as None does for ids."""
    filters = {
        "status": statuses,
        "model_partition__name": partitions,
        "failure_code": failure_codes,
        "lens": lenses,
    }
    conditions: dict[str, Any] = {f"{name}__in": words for name, words in filters.items() if words}
    if job_ids is not None:
        conditions["pk__in"] = job_ids
    return ReviewJob.objects.filter(**conditions).order_by("pk")


def count_jobs() -> dict[str, dict[str, int]]:
    """Count all jobs by `status`, in their order, by `partition`, and the failed ones by `code`."""
    counts = {"status": Counter(dict.fromkeys(JobStatus.values, 0)), "partition": Counter[str]()}
    rows = ReviewJob.objects.order_by().values_list("status", "model_partition__name")
    for status, partition, number in rows.annotate(number=Count("pk")):
        counts["status"][status] += number
        counts["partition"][partition] += number
    failed = ReviewJob.objects.filter(status=JobStatus.FAILED).order_by("failure_code")
    codes = dict(failed.values_list("failure_code").annotate(Count("pk")))
    return {**counts, "code": codes}


def show_event(event: JobEvent) -> JobEventJson:
    return from_row(
        JobEventJson,
        event,
        review_job_event_id=event.pk,
        review_job_id=event.job_id,
        from_status=event.from_status or None,
    )


def count_attempts(pairs: Collection[PairText], *, model_partition: str) -> Counter[PairText]:
    """Count, by pair and text, the closed jobs of the partition that left it without a decision."""
    answered = ~Q(job__telemetry__has_key=MODEL_ANSWERED)
    tried = Q(answered, status=PairStatus.MISSING, job__failure_code__in=_TELLING) | Q(
        status=PairStatus.COMPLETED, not_accepted__in=_UNDECIDED
    )
    rows = ReviewPair.objects.filter(
        tried,
        job__status__in=(JobStatus.COMPLETED, JobStatus.FAILED),
        job__started_at__isnull=False,
        job__model_partition__name=model_partition,
        note__path__in={pair[0] for pair in pairs},
        gate__path__in={pair[1] for pair in pairs},
    )
    snapshots = ("note_snapshot__content_sha256", "gate_snapshot__content_sha256")
    return Counter(rows.values_list("note__path", "gate__path", *snapshots))


def _job_json(job: ReviewJob, pairs: list[PairJson]) -> JobJson:
    return from_row(
        JobJson,
        job,
        review_job_id=job.pk,
        model_partition=job.model_partition.name,
        manifest_path=manifest_path(job.prompt_path),
        pairs=pairs,
        claimed_by=job.claimed_by or None,
        failure_code=job.failure_code or None,
        failure_reason=job.failure_reason or None,
        replaces=job.replaces_id,
        replaced_by=job.replacement_id,
    )


def show_ingested(
    job: ReviewJob,
    pairs: Sequence[ReviewPair],
    *,
    findings: Iterable[Finding] | None = None,
    problems: Sequence[str],
    gates_folder: str,
) -> IngestedJobJson:
    """The job with its pairs, their decisions and findings; rows as loaded after the ingest.

    :param findings: of all the pairs; None where they are in the store only.
    """
    if findings is None:
        findings = Finding.objects.filter(pair__in=pairs).order_by("pair_id", "ordinal")
    found: defaultdict[int, list[FindingJson]] = defaultdict(list)
    for row in findings:
        found[row.pair_id].append(from_row(FindingJson, row, line=row.note_line))
    return IngestedJobJson(
        review_job_id=job.pk,
        status=job.status,
        failure_code=job.failure_code or None,
        failure_reason=job.failure_reason or None,
        pairs=[_ingested_pair(pair, found[pair.pk], gates_folder) for pair in pairs],
        self_reported_model=job.self_reported_model or None,
        problems=list(problems),
    )


def _ingested_pair(
    pair: ReviewPair, findings: list[FindingJson], gates_folder: str
) -> IngestedPairJson:
    return IngestedPairJson(
        review_pair_id=pair.pk,
        ordinal=pair.ordinal,
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        gate_id=gate_id_of(pair.gate.path, gates_folder=gates_folder),
        pair_status=pair.status,
        decision=pair.decision or None,
        decision_source=pair.decision_source or None,
        result_path=pair.result_path or None,
        problem=pair.problem or None,
        accepted=pair.status == PairStatus.COMPLETED and not pair.not_accepted,
        not_accepted_because=pair.not_accepted or None,
        findings=findings,
    )
