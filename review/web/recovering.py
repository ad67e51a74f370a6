"""The page that shows what recovering jobs would do, and does it once it is confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from review import conf
from review.contracts.jobs import JobJson, RefusalJson
from review.contracts.recovery import RecoveredJson, RecoveryJson
from review.errors import UsageRefused
from review.orchestration.recovery import RecoveryAction, RecoveryRequest, recover
from review.queries.job_board import show_jobs
from review.queries.knowledge_base import open_corpus
from review.queries.output_states import outputs_of
from review.runners.process_table import ProcessTable
from review.web.acting import SeeOther, actor, field, require_permission
from review.web.words import count_words

PERMISSION = "review.change_reviewjob"
MAX_AT_ONCE = 200
MAX_REASON = 500


class NoJobNamed(UsageRefused):
    """The address names no job, or too many."""


@dataclass(frozen=True)
class Plan:
    """What would become of one job; `lost_output` is what of its output would not be taken."""

    job: JobJson
    outcome: RecoveredJson
    lost_output: str


@dataclass(frozen=True)
class _Words:
    title: str
    verb: str
    done: str
    what: str


_WORDS = {
    RecoveryAction.INGEST: _Words(
        "Ingest now",
        "Ingest",
        "ingested",
        "The output that is there is ingested. Complete reviews are kept and accepted; a job that "
        "lacks one ends failed, and takes the missing ones later.",
    ),
    RecoveryAction.FAIL: _Words(
        "Fail",
        "Fail",
        "failed",
        "The job is failed, and its pairs are missing. They are stale, so the next selection "
        "lists them.",
    ),
    RecoveryAction.REPLACE: _Words(
        "Replace",
        "Replace",
        "replaced",
        "The job is failed, and a new one is queued for the same pairs, from today's texts. What a "
        "late worker writes for the old job is not taken.",
    ),
}


_LOST = {"complete": "complete", "partial": "holds some of its reviews"}


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
    jobs = show_jobs(ids, gates_folder=conf.current().gates_folder)
    context = {
        **around,
        "title": f"{_WORDS[wanted].title}: {count_words(len(ids), 'job')}",
        "words": _WORDS[wanted],
        "action": wanted.value,
        "asks_reason": wanted is not RecoveryAction.INGEST,
        "plans": list(_plans(answer.done, jobs, wanted)),
        "refused": answer.refused,
    }
    return TemplateResponse(request, "admin/review/reviewjob/recover.html", context)


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
    config = conf.current()
    wanted = RecoveryRequest(
        action=action,
        actor=actor(request),
        older_than=config.abandoned_after,
        job_ids=tuple(ids),
        reason=field(request, "reason", max_length=MAX_REASON),
        dry_run=dry_run,
    )
    with open_corpus(config) as corpus:
        found = recover(
            wanted, corpus=corpus, config=config, processes=ProcessTable(), now=timezone.now()
        )
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
) -> Iterator[Plan]:
    by_id = {job.review_job_id: job for job in jobs}
    loses = action is not RecoveryAction.INGEST
    states = outputs_of(list(by_id), config=conf.current()) if loses else {}
    for outcome in outcomes:
        state = states.get(outcome.review_job_id, "")
        yield Plan(by_id[outcome.review_job_id], outcome, _LOST.get(state, ""))


def _told(done: Sequence[RecoveredJson], action: RecoveryAction) -> str:
    return f"{_WORDS[action].done}: " + "; ".join(_outcome(item) for item in done)


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
