"""The pages of jobs: the list by status, one job with its timeline, and its files as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView
from msgspec import UNSET

from review import settings
from review.acceptance.pair_actions import Pick
from review.jobs.board import count_jobs, find_jobs, require_job, show_jobs
from review.jobs.detail import JobFile, read_job, read_job_file
from review.jobs.job_documents import JobDetailsJson, JobFileJson, JobJson, JobListJson, PairJson
from review.protocol.telemetry import output_tokens_by_model
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
from review.web.core.actions import CHANGE_JOBS, SeeOther, require_permission
from review.web.core.cached import recoverable
from review.web.core.filters import Filters, Paged, parse_filters
from review.web.core.responses import page, wants_json
from review.web.core.template_tags import duration, label
from review.web.pages.job_recovery import possible_actions
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


urlpatterns = [
    path("jobs/", jobs, name="jobs"),
    path("jobs/<int:job_id>", job, name="job"),
    path("jobs/<int:job_id>/", RedirectView.as_view(pattern_name="job", permanent=True)),
    path("jobs/<int:job_id>/request-missing", request_missing, name="request-missing"),
    path("jobs/<int:job_id>/<str:name>", job_file, name="job-file"),
]
