"""Jobs, their moves and attempts, as commands and pages show them; one job with all details."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

from django.db.models import Count, Q

from review.documents.base import from_row, grouped
from review.errors import InputRejected
from review.job_files import ArtifactStore, OutputNotReadable, manifest_path
from review.jobs.job_documents import (
    FindingJson,
    IngestedJobJson,
    IngestedPairJson,
    JobCommandJson,
    JobDetailsJson,
    JobEventJson,
    JobFileJson,
    JobJson,
    PairJson,
)
from review.jobs.leases import Processes, abandonment
from review.models import Finding, JobEvent, ReviewJob, ReviewJobQuerySet, ReviewPair, batched
from review.runners.outcome import MODEL_ANSWERED
from review.settings import Config
from review.vocabulary import (
    OPEN_JOB_STATUSES,
    RULES_PARTITION,
    FailureCode,
    Grouping,
    JobStatus,
    NotAccepted,
    PairStatus,
)

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


class UnknownJob(InputRejected): ...


# A pair's note and gate, and the digests of both texts.
PairText = tuple[str, str, str, str]


def require_job(job_id: int) -> ReviewJob:
    """Return the job as `with_names` loads it, or raise `UnknownJob`."""
    job = ReviewJob.objects.with_names().filter(pk=job_id).first()
    if job is None:
        raise unknown_job(job_id)
    return job


def unknown_job(job_id: int) -> UnknownJob:
    return UnknownJob(
        f"no review job {job_id} in this store",
        hint="list them with: commonplace review_job_list --json",
    )


def show_jobs(job_ids: Iterable[int], *, config: Config) -> list[JobJson]:
    """Return the jobs with their pairs, in the order of `job_ids`; unknown ids are left out."""
    shown = []
    for chunk in batched(job_ids, 200):
        rows = ReviewPair.objects.filter(job_id__in=chunk).order_by("job_id", "ordinal")
        # Tuples: an instance with its note and its gate takes five times as long.
        pairs = grouped(
            (job_id, PairJson(note, gate, config.gate_id(gate), at, pk, status, decision or None))
            for job_id, pk, at, note, gate, status, decision in rows.values_list(*_COLUMNS)
        )
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
    found = ReviewJob.objects.all() if job_ids is None else ReviewJob.objects.filter(pk__in=job_ids)
    conditions = {
        "status__in": statuses,
        "model_partition__name__in": partitions,
        "failure_code__in": failure_codes,
        "lens__in": lenses,
    }
    return found.filter(**{name: words for name, words in conditions.items() if words}).order_by(
        "pk"
    )


def count_jobs() -> dict[str, dict[str, int]]:
    """Count all jobs by `status`, in their order, by `partition`, and the failed ones by `code`."""
    counts = {"status": Counter(dict.fromkeys(JobStatus.values, 0)), "partition": Counter[str]()}
    rows = ReviewJob.objects.order_by().values_list("status", "model_partition__name")
    for status, partition, number in rows.annotate(number=Count("pk")):
        counts["status"][status] += number
        counts["partition"][partition] += number
    failed = ReviewJob.objects.filter(status=JobStatus.FAILED).order_by("failure_code")
    return {**counts, "code": dict(failed.values_list("failure_code").annotate(Count("pk")))}


def show_event(event: JobEvent) -> JobEventJson:
    return from_row(JobEventJson, event, review_job_event_id=event.pk, review_job_id=event.job_id)


def count_attempts(pairs: Collection[PairText], *, model_partition: str) -> Counter[PairText]:
    """Count, by pair and text, the closed jobs of the partition that left it without a decision."""
    tried = Q(
        ~Q(job__telemetry__has_key=MODEL_ANSWERED),
        status=PairStatus.MISSING,
        job__failure_code__in=_TELLING,
    ) | Q(status=PairStatus.COMPLETED, not_accepted__in=_UNDECIDED)
    rows = ReviewPair.objects.filter(
        tried,
        job__status__in=(JobStatus.COMPLETED, JobStatus.FAILED),
        job__started_at__isnull=False,
        job__model_partition__name=model_partition,
        note__path__in={pair[0] for pair in pairs},
        gate__path__in={pair[1] for pair in pairs},
    )
    texts = ("note_snapshot__content_sha256", "gate_snapshot__content_sha256")
    return Counter(rows.values_list("note__path", "gate__path", *texts))


def _job_json(job: ReviewJob, pairs: list[PairJson]) -> JobJson:
    return from_row(
        JobJson,
        job,
        review_job_id=job.pk,
        model_partition=job.model_partition.name,
        manifest_path=manifest_path(job.prompt_path),
        pairs=pairs,
        replaces=job.replaces_id,
        replaced_by=job.replacement_id,
    )


def show_ingested(
    job: ReviewJob,
    pairs: Sequence[ReviewPair],
    findings: Iterable[Finding] | None,
    problems: list[str],
    *,
    config: Config,
) -> IngestedJobJson:
    """The job with its pairs, as loaded after the ingest; `findings` are read unless given."""
    if findings is None:
        findings = Finding.objects.filter(pair__in=pairs).order_by("pair_id", "ordinal")
    found = grouped(
        (row.pair_id, from_row(FindingJson, row, line=row.note_line)) for row in findings
    )
    shown = [
        from_row(
            IngestedPairJson,
            pair,
            review_pair_id=pair.pk,
            gate_id=config.gate_id(pair.gate_path),
            pair_status=pair.status,
            accepted=pair.status == PairStatus.COMPLETED and not pair.not_accepted,
            not_accepted_because=pair.not_accepted or None,
            findings=found.get(pair.pk, []),
        )
        for pair in pairs
    ]
    return from_row(IngestedJobJson, job, review_job_id=job.pk, pairs=shown, problems=problems)


JobFile = Literal["prompt", "output", "manifest"]


def read_job(
    job: ReviewJob, *, output_state: str, lacks_pairs: bool, config: Config, now: datetime
) -> JobDetailsJson:
    """Return all of a job as `with_names` loads it; `output_state` is that of its output.

    :param lacks_pairs: whether it failed and left pairs that can be requested again.
    """
    (shown,) = show_jobs([job.pk], config=config)
    recovery = {}
    limit, is_running = config.abandoned_after, job.status == JobStatus.RUNNING
    if is_running and (why := abandonment(job, older_than=limit, processes=Processes(), now=now)):
        recovery["abandoned"] = why
    if job.status in OPEN_JOB_STATUSES and output_state == "complete":
        recovery["ready"] = "its output holds a review for every pair"
    if lacks_pairs:
        recovery["missing"] = "a pair has no review and is in no later job"
    return from_row(
        JobDetailsJson,
        job,
        job=shown,
        events=[show_event(event) for event in job.events.order_by("pk")],
        output_state=output_state,
        recovery=recovery,
        commands=list(_commands(shown, recovery)),
        **{name: _file(path, config) for name, path in _paths(job).items()},
    )


def read_job_file(job_id: int, which: JobFile, *, config: Config) -> bytes | None:
    return ArtifactStore(config).read_output(_paths(require_job(job_id))[which])


def _paths(job: ReviewJob) -> dict[JobFile, str]:
    prompt, output = job.prompt_path, job.bundle_output_path
    return {"prompt": prompt, "output": output, "manifest": manifest_path(prompt)}


def _file(path: str, config: Config) -> JobFileJson:
    try:
        data = ArtifactStore(config).read_output(path)
    except OutputNotReadable:
        return JobFileJson(path, "unreadable", None)
    return JobFileJson(
        path, "none" if data is None else "there", data if data is None else len(data)
    )


def _commands(job: JobJson, recovery: dict[str, str]) -> Iterator[JobCommandJson]:
    number, is_queued = str(job.review_job_id), job.status == JobStatus.QUEUED
    if "ready" in recovery:
        yield _command("ingest its output", "ingest_bundle_output", "--review-job-id", number)
    elif is_queued and job.model_partition == RULES_PARTITION:
        yield _command("run it", "run_review_jobs", number, "--runner", "rules")
    elif is_queued:
        claim = ("claim_review_job", "--review-job-id", number, "--runner", "NAME")
        yield _command("claim it, for a worker of yours", *claim)
    if "abandoned" in recovery:
        replace = ("recover_review_jobs", "--action", "replace", number)
        yield _command("create a new job for its pairs", *replace)
    gates = dict.fromkeys(pair.gate_id for pair in job.pairs)
    notes = dict.fromkeys(pair.note_path for pair in job.pairs)
    batch = ["--batch-size", str(len(notes))] if job.grouping == Grouping.GATE else []
    select = ["review_target_selector", *gates, "--note", *notes]
    select += ["--model", job.model_partition, "--mode", "requested", "--json"]
    create = ["create_review_jobs", "--input", "-", "--grouping", job.grouping, *batch]
    again = _command("create the same job again, from today's texts", *select)
    again.command += f" | commonplace {shlex.join(create)}"
    yield again


def _command(why: str, *words: str) -> JobCommandJson:
    return JobCommandJson(why, f"commonplace {shlex.join(words)}")
