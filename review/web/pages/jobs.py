"""The pages of jobs: the list, one job with its files, and the recovery of jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from msgspec import UNSET

from review import settings
from review.acceptance.ack_selection import Pick
from review.domain.printing import count_words
from review.errors import UsageRefused
from review.jobs.board import count_jobs, find_jobs, require_job, show_jobs
from review.jobs.detail import JobFile, read_job, read_job_file
from review.jobs.job_documents import JobDetailsJson, JobFileJson, JobJson, JobListJson, PairJson
from review.jobs.output_states import output_states
from review.knowledge_base import Corpus
from review.models import ReviewJob
from review.protocol.telemetry import output_tokens_by_model
from review.recovery.recover import RecoveredJson, Recovery, RecoveryAction, RecoveryJson
from review.runners.process.table import Processes
from review.selection.freshness import in_flight
from review.vocabulary import (
    OPEN_JOB_STATUSES,
    Decision,
    FailureCode,
    Grouping,
    JobStatus,
    PairStatus,
)
from review.web.core.cached import recoverable
from review.web.core.filters import Filters, Paged, parse_filters, read_number
from review.web.core.responses import (
    CHANGE_JOBS,
    SeeOther,
    actor,
    field,
    page,
    require_permission,
    wants_json,
)
from review.web.core.template_tags import duration, label
from review.web.pages.pair_actions import request_picks

JOBS_A_PAGE = 50
JOBS_A_DOCUMENT = 100
SHOWN_CHARACTERS = 40_000
NEEDS = {"abandoned": "abandoned", "ready": "ready to ingest", "missing": "pairs missing"}
_KNOWN = {
    "status": JobStatus.values,
    "needs": tuple(NEEDS),
    "code": FailureCode.values,
    "partition": None,
    "lens": None,
}
_FILES: tuple[JobFile, ...] = get_args(JobFile)


@dataclass(frozen=True)
class ShownJob:
    """A job of the list, and why it needs attention: words of `NEEDS`."""

    job: JobJson
    needs: list[str]

    @property
    def about(self) -> str:
        """The note of a job for one note, the gate of a job for one gate."""
        first = self.job.pairs[0]
        return first.note_path if self.job.grouping == Grouping.NOTE else first.gate_id

    @property
    def decisions(self) -> list[tuple[str, int]]:
        counts = Counter(pair.decision for pair in self.job.pairs)
        return [(word, counts[word]) for word in Decision.values if counts[word]]


def jobs(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    needing = _needing() if filters.all("needs") else {}
    size = JOBS_A_DOCUMENT if wants_json(request) else JOBS_A_PAGE
    place = filters.place(int)
    needs = filters.all("needs")
    found = find_jobs(
        statuses=filters.all("status"),
        partitions=filters.all("partition"),
        failure_codes=filters.all("code"),
        lenses=filters.all("lens"),
        job_ids=[job for need in needs for job in needing[need]] if needs else None,
    ).reverse()
    if place:
        found = found.filter(pk__lt=int(place[0]))
    ids = list(found.values_list("pk", flat=True)[: size + 1])
    paged = filters.cut(ids, size, lambda job_id: (job_id,))
    return page(
        request,
        "review/jobs.html",
        lambda: _list_context(filters, paged, needing or _needing()),
        document=lambda: _list_document(paged),
    )


def _list_document(paged: Paged[int]) -> JobListJson:
    """The jobs of the page as the command gives them: the oldest first."""
    ids = reversed(paged.items)
    document = JobListJson(jobs=show_jobs(ids, gates_folder=settings.current().gates_folder))
    document.next = paged.next_document or UNSET
    return document


def _needing() -> dict[str, list[int]]:
    """The jobs that need attention, by words of `NEEDS`."""
    found = recoverable()
    lists = zip(NEEDS, (found.abandoned, found.ready, found.failed), strict=True)
    return {need: [entry.review_job_id for entry in entries] for need, entries in lists}


def _list_context(
    filters: Filters, paged: Paged[int], needing: Mapping[str, list[int]]
) -> dict[str, Any]:
    shown = show_jobs(paged.items, gates_folder=settings.current().gates_folder)
    counts = count_jobs()
    needs = {need: len(ids) for need, ids in needing.items()}
    return {
        "filters": filters,
        "paged": paged,
        "rows": [
            ShownJob(job, [need for need, ids in needing.items() if job.review_job_id in ids])
            for job in shown
        ],
        "facets": [
            filters.facet("status", "Status", counts["status"]),
            filters.facet("needs", "Needs attention", needs, labels=NEEDS.__getitem__),
            filters.facet("partition", "Model partition", counts["partition"]),
            filters.facet("code", "Why it failed", counts["code"], labels=label),
        ],
    }


def job(request: HttpRequest, job_id: int) -> HttpResponse:
    parse_filters(request, {})
    details = read_job(job_id, config=settings.current(), processes=Processes(), now=timezone.now())
    return page(
        request, "review/job.html", lambda: _job_context(request, details), document=details
    )


@require_POST
def request_missing(request: HttpRequest, job_id: int) -> HttpResponse:
    """Queue a new job for the pairs of a failed job that have no review."""
    require_permission(request, CHANGE_JOBS)
    (job,) = show_jobs([require_job(job_id).pk], gates_folder=settings.current().gates_folder)
    picks = [Pick(pair.note_path, pair.gate_id, job.model_partition) for pair in _to_request(job)]
    request_picks(request, picks, grouping=Grouping(job.grouping))
    return SeeOther(reverse("job", args=[job_id]))


def _to_request(job: JobJson) -> list[PairJson]:
    """The missing pairs of a closed job that no open job will answer."""
    waiting = in_flight(job.model_partition)
    return [
        pair
        for pair in job.pairs
        if pair.pair_status == PairStatus.MISSING
        and (pair.note_path, pair.gate_path) not in waiting
    ]


def _job_context(request: HttpRequest, details: JobDetailsJson) -> dict[str, Any]:
    number = details.job.review_job_id
    telemetry = details.telemetry
    notices = (telemetry or {}).get("notices")
    tokens = output_tokens_by_model(telemetry)
    return {
        "details": details,
        "job": details.job,
        "is_open": details.job.status in OPEN_JOB_STATUSES,
        "abandoned_after": duration(settings.current().abandoned_after),
        "files": [
            _shown(number, "prompt", details.prompt),
            _shown(number, "output", details.output),
        ],
        "took": _took(details.job),
        # The models that wrote the output, with their shares where several did.
        "writers": [
            f"{name} {count / sum(tokens.values()):.0%}" for name, count in tokens.items() if count
        ],
        "notices": notices if isinstance(notices, list) else [],
        "actions": possible_actions(request, details.job),
        "to_request": _to_request(details.job) if "missing" in details.recovery else [],
        "telemetry": json.dumps(telemetry, indent=2, ensure_ascii=False) if telemetry else "",
    }


def _took(job: JobJson) -> str:
    if not job.started_at or not job.completed_at:
        return ""
    started, ended = map(datetime.fromisoformat, (job.started_at, job.completed_at))
    return duration(ended - started)


def _shown(job_id: int, name: JobFile, facts: JobFileJson) -> dict[str, Any]:
    """A file of a job: its beginning, and whether that is all."""
    data = b""
    if facts.state == "there":
        data = read_job_file(job_id, name, config=settings.current()) or b""
    text = data.decode("utf-8", "replace")
    return {
        "name": name,
        "facts": facts,
        "text": text[:SHOWN_CHARACTERS],
        "is_whole": len(text) <= SHOWN_CHARACTERS,
    }


def job_file(request: HttpRequest, job_id: int, name: str) -> HttpResponse:
    """A file of a job, byte for byte, as text that no browser takes for anything else."""
    for known in _FILES:
        if known == name:
            data = read_job_file(job_id, known, config=settings.current())
            if data is not None:
                return HttpResponse(data, content_type="text/plain; charset=utf-8")
    raise Http404


MAX_AT_ONCE = 200
MAX_REASON = 500
_RECOVERED = {
    RecoveryAction.INGEST: "ingested",
    RecoveryAction.FAIL: "failed",
    RecoveryAction.REPLACE: "replaced",
}
# Output that failing or replacing a job leaves out.
_LOST = ("complete", "partial")


class NoJobNamed(UsageRefused):
    """The address names no job, or too many."""


def recover_jobs(request: HttpRequest, action: str, *, around: Mapping[str, Any]) -> HttpResponse:
    """GET previews, POST does; both go through the use case of `recover_review_jobs`.

    :param around: the context that the admin's templates need.
    """
    require_permission(request, CHANGE_JOBS)
    if action not in list(RecoveryAction):
        raise Http404
    wanted = RecoveryAction(action)
    if request.method == "POST":
        return _do(request, wanted)
    ids = _job_ids(request.GET.get("ids", "").split(","))
    answer = _recover(request, wanted, ids, dry_run=True)
    jobs = show_jobs(ids, gates_folder=settings.current().gates_folder)
    context = {
        **around,
        "title": f"{action.capitalize()}: {count_words(len(ids), 'job')}",
        "action": action,
        "plans": _plans(answer.done, jobs, wanted),
        "refused": answer.refused,
    }
    return TemplateResponse(request, "admin/review/reviewjob/recover.html", context)


def preview_url(action: RecoveryAction, job_ids: Sequence[int]) -> str:
    """The address that previews an action for these jobs, or for as many as it takes at once."""
    ids = ",".join(map(str, job_ids[:MAX_AT_ONCE]))
    return f"{reverse('admin:review_reviewjob_recover', args=[action.value])}?ids={ids}"


def possible_actions(request: HttpRequest, job: JobJson) -> list[str]:
    """The actions that would not be refused for a job, and that would change it."""
    if job.status == JobStatus.COMPLETED or not request.user.has_perm(CHANGE_JOBS):
        return []
    found = []
    for action in RecoveryAction:
        outcomes = _recover(request, action, [job.review_job_id], dry_run=True).done
        if outcomes and outcomes[0].status != job.status:
            found.append(action.value)
    return found


def _do(request: HttpRequest, action: RecoveryAction) -> HttpResponse:
    ids = _job_ids(request.POST.getlist("id"))
    answer = _recover(request, action, ids, dry_run=False)
    if answer.done:
        messages.success(request, f"{_RECOVERED[action]}: {'; '.join(map(_outcome, answer.done))}")
    for refused in answer.refused:
        named = f"job {refused.review_job_id}"
        about = "" if named in refused.message else f"{named}: "
        messages.warning(request, f"refused: {about}{refused.message}")
    if len(ids) == 1:
        return SeeOther(reverse("job", args=ids))
    return SeeOther(reverse("admin:review_reviewjob_changelist"))


def _recover(
    request: HttpRequest, action: RecoveryAction, ids: Sequence[int], *, dry_run: bool
) -> RecoveryJson:
    with Corpus(settings.current()) as corpus:
        answer, _errors = Recovery(
            action=action,
            actor=actor(request),
            older_than=corpus.config.abandoned_after,
            corpus=corpus,
            processes=Processes(),
            now=timezone.now(),
            job_ids=tuple(ids),
            reason=field(request, "reason", max_length=MAX_REASON),
            dry_run=dry_run,
        ).recover()
    return answer


def _job_ids(words: Sequence[str]) -> list[int]:
    ids = list(dict.fromkeys(map(read_number, words)))
    if None in ids:
        raise NoJobNamed("name jobs by their numbers: ?ids=7,8")
    if not 1 <= len(ids) <= MAX_AT_ONCE:
        raise NoJobNamed(f"between 1 and {MAX_AT_ONCE} jobs can be recovered at once")
    return [number for number in ids if number is not None]


def _plans(
    outcomes: Sequence[RecoveredJson], jobs: Sequence[JobJson], action: RecoveryAction
) -> list[dict[str, Any]]:
    by_id = {job.review_job_id: job for job in jobs}
    losing = [] if action is RecoveryAction.INGEST else list(by_id)
    found = output_states(ReviewJob.objects.filter(pk__in=losing), config=settings.current())
    lost = {key: output.state for key, output in found.items() if output.state in _LOST}
    return [
        {
            "job": by_id[outcome.review_job_id],
            "outcome": outcome,
            "lost_output": lost.get(outcome.review_job_id),
        }
        for outcome in outcomes
    ]


def _outcome(item: RecoveredJson) -> str:
    parts = [f"job {item.review_job_id} is {item.status}"]
    if item.replaced_by is not None:
        parts.append(f"job {item.replaced_by} takes its place")
    if item.left_out:
        parts.append(f"{count_words(len(item.left_out), 'pair')} left out")
    if item.ingested is not None and item.ingested.failure_reason:
        parts.append(item.ingested.failure_reason)
    return ", ".join([*parts, *item.problems])
