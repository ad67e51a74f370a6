"""The page that shows what recovering jobs would do, and does it once it is confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from review import settings
from review.domain.printing import count_words
from review.errors import UsageRefused
from review.jobs.board import show_jobs
from review.jobs.job_documents import JobJson
from review.jobs.output_states import output_states
from review.knowledge_base.opening import open_corpus
from review.models import ReviewJob
from review.recovery.recover import RecoveredJson, Recovery, RecoveryAction, RecoveryJson
from review.runners.process.table import Processes
from review.vocabulary import JobStatus
from review.web.core.actions import CHANGE_JOBS, SeeOther, actor, field, require_permission
from review.web.core.filters import read_number

MAX_AT_ONCE = 200
MAX_REASON = 500
_DONE = {
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
        messages.success(request, f"{_DONE[action]}: {'; '.join(map(_outcome, answer.done))}")
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
    config = settings.current()
    with open_corpus(config) as corpus:
        answer, _errors = Recovery(
            action=action,
            actor=actor(request),
            older_than=config.abandoned_after,
            corpus=corpus,
            config=config,
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
