"""The page that shows what recovering jobs would do, and does it once it is confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from review.jobs.job_documents import JobJson, RefusalJson
from review.jobs.output_states import output_states
from review.knowledge_base.opening import open_corpus
from review.models import ReviewJob
from review.recovery.documents import RecoveredJson, RecoveryJson
from review.recovery.recover import Recovery, RecoveryAction
from review.runners.process.table import Processes
from review.vocabulary import JobStatus
from review.web.core.actions import SeeOther, actor, field, may, require_permission

PERMISSION = "review.change_reviewjob"
MAX_AT_ONCE = 200
MAX_REASON = 500


class NoJobNamed(UsageRefused):
    """The address names no job, or too many."""


_DONE = {
    RecoveryAction.INGEST: "ingested",
    RecoveryAction.FAIL: "failed",
    RecoveryAction.REPLACE: "replaced",
}
# Output that failing or replacing a job leaves out.
_LOST = ("complete", "partial")


def recover_jobs(request: HttpRequest, action: str, *, around: Mapping[str, Any]) -> HttpResponse:
    """GET previews, POST does; both go through the use case of `recover_review_jobs`.

    :param around: the context that the admin's templates need.
    """
    require_permission(request, PERMISSION)
    wanted = next((known for known in RecoveryAction if known.value == action), None)
    if wanted is None:
        raise Http404
    if request.method == "POST":
        return _do(request, wanted)
    ids = _job_ids(request.GET.get("ids", "").split(","))
    answer = _recover(request, wanted, ids, dry_run=True)
    jobs = show_jobs(ids, gates_folder=settings.current().gates_folder)
    context = {
        **around,
        "title": f"{wanted.value.capitalize()}: {count_words(len(ids), 'job')}",
        "action": wanted.value,
        "plans": list(_plans(answer.done, jobs, wanted)),
        "refused": answer.refused,
    }
    return TemplateResponse(request, "admin/review/reviewjob/recover.html", context)


def possible_actions(request: HttpRequest, job: JobJson) -> list[RecoveryAction]:
    """The actions that would not be refused for a job, and that would change it."""
    if job.status == JobStatus.COMPLETED or not may(request, PERMISSION):
        return []
    found = []
    for action in RecoveryAction:
        outcomes = _recover(request, action, [job.review_job_id], dry_run=True).done
        if outcomes and outcomes[0].status != job.status:
            found.append(action)
    return found


def _do(request: HttpRequest, action: RecoveryAction) -> HttpResponse:
    ids = _job_ids(request.POST.getlist("id"))
    answer = _recover(request, action, ids, dry_run=False)
    if answer.done:
        messages.success(request, _told(answer.done, action))
    for refused in answer.refused:
        messages.warning(request, _refused(refused))
    if len(ids) == 1:
        return SeeOther(reverse("job", args=[ids[0]]))
    return SeeOther(reverse("admin:review_reviewjob_changelist"))


def _recover(
    request: HttpRequest, action: RecoveryAction, ids: Sequence[int], *, dry_run: bool
) -> RecoveryJson:
    config = settings.current()
    with open_corpus(config) as corpus:
        found = Recovery(
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
    return found.answer


def _job_ids(words: Sequence[str]) -> list[int]:
    if not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
        raise NoJobNamed("name jobs by their numbers: ?ids=7,8")
    ids = list(dict.fromkeys(map(int, words)))
    if not 1 <= len(ids) <= MAX_AT_ONCE:
        raise NoJobNamed(f"between 1 and {MAX_AT_ONCE} jobs can be recovered at once")
    return ids


def _plans(
    outcomes: Sequence[RecoveredJson], jobs: Sequence[JobJson], action: RecoveryAction
) -> Iterator[dict[str, Any]]:
    by_id = {job.review_job_id: job for job in jobs}
    losing = [] if action is RecoveryAction.INGEST else list(by_id)
    found = ReviewJob.objects.filter(pk__in=losing)
    states = output_states(found, config=settings.current())
    for outcome in outcomes:
        output = states.get(outcome.review_job_id)
        state = output.state if output else ""
        yield {
            "job": by_id[outcome.review_job_id],
            "outcome": outcome,
            "lost_output": state if state in _LOST else "",
        }


def _told(done: Sequence[RecoveredJson], action: RecoveryAction) -> str:
    return f"{_DONE[action]}: " + "; ".join(_outcome(item) for item in done)


def _outcome(item: RecoveredJson) -> str:
    parts = [f"job {item.review_job_id} is {item.status}"]
    if item.replaced_by is not None:
        parts.append(f"job {item.replaced_by} takes its place")
    if item.left_out:
        parts.append(f"{count_words(len(item.left_out), 'pair')} left out")
    if item.ingested is not None and item.ingested.failure_reason:
        parts.append(item.ingested.failure_reason)
    return ", ".join([*parts, *item.problems])


def _refused(refused: RefusalJson) -> str:
    named = f"job {refused.review_job_id}"
    about = "" if named in refused.message else f"{named}: "
    return f"refused: {about}{refused.message}"
