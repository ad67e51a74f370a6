"""The pages of jobs: the list by status, one job with its timeline, and its files as text."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review import conf
from review.contracts.jobs import JobListJson
from review.queries.job_board import show_jobs
from review.queries.job_pages import JobFilter, count_jobs_by_kind, newest_job_ids
from review.vocabulary import FailureCode, JobStatus
from review.web.facets import make_facet
from review.web.filters import Filters, parse_filters
from review.web.pages import page
from review.web.paging import paged, read_place

JOBS_A_PAGE = 50
_KNOWN = {
    "status": JobStatus.values,
    "code": FailureCode.values,
    "partition": None,
    "lens": None,
}


def jobs(request: HttpRequest) -> HttpResponse:
    """The jobs, newest first."""
    filters = parse_filters(request, _KNOWN)
    wanted = JobFilter(
        statuses=tuple(JobStatus(word) for word in filters.all("status")),
        partitions=filters.all("partition"),
        failure_codes=tuple(FailureCode(word) for word in filters.all("code")),
        lenses=filters.all("lens"),
    )
    place = read_place(filters, int)
    ids = newest_job_ids(wanted, before=int(place[0]) if place else None, limit=JOBS_A_PAGE + 1)
    part = paged(ids, size=JOBS_A_PAGE, key=lambda job_id: (job_id,), filters=filters)
    document = JobListJson(jobs=show_jobs(part.items, gates_folder=conf.current().gates_folder))
    return page(
        request,
        "review/jobs.html",
        lambda: _context(filters) | {"paged": part, "jobs": document.jobs},
        document=document,
    )


def _context(filters: Filters) -> dict[str, object]:
    counts = count_jobs_by_kind()
    facets = [
        make_facet(filters, "status", "Status", dict(counts.statuses)),
        make_facet(filters, "partition", "Model partition", dict(counts.partitions)),
        make_facet(filters, "code", "Why it failed", dict(counts.failure_codes)),
    ]
    return {"filters": filters, "facets": [facet for facet in facets if facet.options]}


def job(request: HttpRequest, job_id: int) -> HttpResponse:
    """One job."""
    return jobs(request)


urlpatterns = [
    path("jobs/", jobs, name="jobs"),
    path("jobs/<int:job_id>", job, name="job"),
]
