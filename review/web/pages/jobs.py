"""The pages of jobs: the list, one job with its files, recovery; requests for ticked pairs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, cast, get_args

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from msgspec import UNSET

from review import settings
from review.acceptance.ack_selection import Pick, request_reviews
from review.domain.paths import MAX_PATH_BYTES
from review.errors import UsageRefused
from review.jobs import board
from review.jobs.files import output_states
from review.jobs.job_documents import JobDetailsJson, JobFileJson, JobJson, JobListJson
from review.jobs.leases import Processes
from review.knowledge_base import Corpus
from review.models import ReviewJob, ReviewPair
from review.protocol.telemetry import output_tokens_by_model
from review.recovery.recover import (
    RecoveredJson,
    Recovery,
    RecoveryAction,
    RecoveryJson,
    pairs_to_request,
)
from review.vocabulary import (
    OPEN_JOB_STATUSES,
    Decision,
    FailureCode,
    Grouping,
    JobStatus,
)
from review.web import core

JOBS_A_PAGE = 50
JOBS_A_DOCUMENT = 100
SHOWN_CHARACTERS = 40_000
_NAMED = 3
_NONE = "-"
_TRIVIAL = "trivial"
_PARTS = 5
NEEDS = {"abandoned": "abandoned", "ready": "ready to ingest", "missing": "pairs missing"}
_KNOWN = {
    "status": JobStatus.values,
    "needs": tuple(NEEDS),
    "code": FailureCode.values,
    "partition": None,
    "lens": None,
}


def jobs(request: HttpRequest) -> HttpResponse:
    filters = core.parse_filters(request, _KNOWN)
    place, needs = filters.place(int), filters.all("needs")
    needing = needing_jobs() if needs else {}
    size = JOBS_A_DOCUMENT if core.wants_json(request) else JOBS_A_PAGE
    found = board.find_jobs(
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
    shown = board.show_jobs(paged.items, config=settings.current())
    # The document has them as the command gives them: the oldest first.
    return core.page(
        request,
        "review/jobs.html",
        lambda: _list_context(filters, paged, shown, needing or needing_jobs()),
        document=JobListJson(jobs=shown[::-1], next=paged.next_document or UNSET),
    )


def needing_jobs() -> dict[str, list[int]]:
    found = core.recoverable()
    lists = zip(NEEDS, (found.abandoned, found.ready, found.failed), strict=True)
    return {need: [entry.review_job_id for entry in entries] for need, entries in lists}


def _list_context(
    filters: core.Filters,
    paged: core.Paged[int],
    jobs: Sequence[JobJson],
    needing: Mapping[str, list[int]],
) -> dict[str, Any]:
    counts = board.count_jobs()
    needs = {need: len(ids) for need, ids in needing.items()}
    return {
        "filters": filters,
        "paged": paged,
        "rows": [
            (job, [need for need, ids in needing.items() if job.review_job_id in ids], _tally(job))
            for job in jobs
        ],
        "facets": [
            filters.facet("status", "Status", counts["status"]),
            filters.facet("needs", "Needs attention", needs, labels=NEEDS.__getitem__),
            filters.facet("partition", "Model partition", counts["partition"]),
            filters.facet("code", "Why it failed", counts["code"], labels=core.label),
        ],
    }


def _tally(job: JobJson) -> list[tuple[str, int]]:
    counts = Counter(pair.decision for pair in job.pairs)
    return [(word, counts[word]) for word in Decision.values if counts[word]]


def job(request: HttpRequest, job_id: int) -> HttpResponse:
    core.parse_filters(request, {})
    row, config = board.require_job(job_id), settings.current()
    state = output_states([row], config=config)[job_id].state
    to_request = pairs_to_request(Corpus(config), [job_id]).get(job_id, [])
    details = board.read_job(
        row, output_state=state, lacks_pairs=bool(to_request), config=config, now=timezone.now()
    )
    context = partial(_job_context, request, details, to_request)
    return core.page(request, "review/job.html", context, document=details)


@require_POST
@core.requires(core.CHANGE_JOBS)
def request_missing(request: HttpRequest, job_id: int | None = None) -> HttpResponse:
    """Queue new jobs for what a failed job, or all of them, left without a review."""
    queue_missing(request, [job_id] if job_id else [])
    return core.after_post(request, reverse("job", args=[job_id]) if job_id else reverse("jobs"))


def queue_missing(request: HttpRequest, job_ids: Collection[int]) -> None:
    """Queue new jobs for what these failed jobs left without a review; of all if there are none."""
    config = settings.current()
    found = sum(pairs_to_request(Corpus(config), job_ids).values(), list[ReviewPair]())
    picks = [
        Pick(it.note_path, config.gate_id(it.gate_path), it.job.model_partition.name)
        for it in found
    ]
    if not picks:
        return core.report(request, warning="No pair is missing that can be requested again.")
    return request_picks(request, picks, grouping=Grouping(found[0].job.grouping))


def write_pick(pick: Pick) -> str:
    """Encode a pair as the value of a checkbox; the form holds the note once."""
    digests = (pick.note_sha256, pick.gate_sha256)
    parts = (pick.model_partition, *digests, pick.review_pair_id, pick.gate_id)
    return " ".join(_NONE if part is None else str(part) for part in parts)


def read_picks(request: HttpRequest) -> list[Pick]:
    """The pairs that were ticked, of the form's `note`; all trivial ones if the button says so."""
    note = core.required(request, "note", max_length=MAX_PATH_BYTES)
    name = _TRIVIAL if request.POST.get("also") == _TRIVIAL else "pick"
    picks = []
    for value in request.POST.getlist(name):
        parts = value.split(" ", _PARTS - 1)
        if len(parts) != _PARTS or (core.read_number(parts[3]) is None and parts[3] != _NONE):
            raise UsageRefused(
                "a pair in the form cannot be read", "no-such-pick", hint="reload the page"
            )
        note_sha256, gate_sha256 = (None if part == _NONE else part for part in parts[1:3])
        pair_id = core.read_number(parts[3])
        picks.append(Pick(note, parts[4], parts[0], note_sha256, gate_sha256, pair_id))
    return picks


def request_picks(
    request: HttpRequest, picks: Sequence[Pick], *, grouping: Grouping = Grouping.NOTE
) -> None:
    """Queue jobs for the pairs, and report which were made, and which pairs are in none."""
    config, now = settings.current(), timezone.now()
    answers = request_reviews(
        picks, grouping=grouping, actor=core.actor(request), config=config, now=now
    )
    jobs = [job for answer in answers for job in answer.jobs]
    skipped = [item for answer in answers for item in answer.skipped]
    pairs = core.count_words(sum(job.pair_count for job in jobs), "pair")
    made = f"Requested: {pairs} in {core.count_words(len(jobs), 'queued job')}."
    named = [f"{item.note_path} {item.gate_id}: {item.reason}" for item in skipped]
    core.report(
        request,
        success=f"{made} To run what is queued: commonplace run_review_jobs --all" if jobs else "",
        warning=f"Not requested: {and_more(named, '; ')}" if named else "",
    )


def and_more(items: Sequence[str], between: str) -> str:
    named = between.join(items[:_NAMED])
    return named if len(items) <= _NAMED else f"{named} and {len(items) - _NAMED} more"


def _job_context(
    request: HttpRequest, details: JobDetailsJson, to_request: Sequence[ReviewPair]
) -> dict[str, Any]:
    number, telemetry = details.job.review_job_id, details.telemetry
    notices, tokens = (telemetry or {}).get("notices"), output_tokens_by_model(telemetry)
    return {
        "details": details,
        "job": details.job,
        "is_open": details.job.status in OPEN_JOB_STATUSES,
        "abandoned_after": core.duration(settings.current().abandoned_after),
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
        "to_request": to_request,
        "telemetry": json.dumps(telemetry, indent=2, ensure_ascii=False) if telemetry else "",
    }


def _took(job: JobJson) -> str:
    if not job.started_at or not job.completed_at:
        return ""
    started, ended = map(datetime.fromisoformat, (job.started_at, job.completed_at))
    return core.duration(ended - started)


def _shown(job_id: int, name: board.JobFile, facts: JobFileJson) -> dict[str, Any]:
    is_there, config = facts.state == "there", settings.current()
    data = board.read_job_file(job_id, name, config=config) if is_there else None
    text = (data or b"").decode("utf-8", "replace")
    is_whole = len(text) <= SHOWN_CHARACTERS
    return {"name": name, "facts": facts, "text": text[:SHOWN_CHARACTERS], "is_whole": is_whole}


def job_file(request: HttpRequest, job_id: int, name: str) -> HttpResponse:
    """A file of a job, byte for byte, as text that no browser takes for anything else."""
    kind, config = cast(board.JobFile, name), settings.current()
    is_file = name in get_args(board.JobFile)
    data = board.read_job_file(job_id, kind, config=config) if is_file else None
    if data is None:
        raise Http404
    return HttpResponse(data, content_type="text/plain; charset=utf-8")


MAX_AT_ONCE = 200
MAX_REASON = 500
_RECOVERED = {
    RecoveryAction.INGEST: "ingested",
    RecoveryAction.FAIL: "failed",
    RecoveryAction.REPLACE: "replaced",
}


@core.requires(core.CHANGE_JOBS)
def recover_jobs(request: HttpRequest, action: str, *, around: Mapping[str, Any]) -> HttpResponse:
    """GET previews, POST does; `around` is the context of the admin's templates."""
    if action not in list(RecoveryAction):
        raise Http404
    wanted = RecoveryAction(action)
    if request.method == "POST":
        return _do(request, wanted)
    ids = _job_ids(request.GET.get("ids", "").split(","))
    answer = _recover(request, wanted, ids, dry_run=True)
    jobs = board.show_jobs(ids, config=settings.current())
    context = {
        **around,
        "title": f"{action.capitalize()}: {core.count_words(len(ids), 'job')}",
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
    if job.status == JobStatus.COMPLETED or not request.user.has_perm(core.CHANGE_JOBS):
        return []
    return [
        action.value
        for action in RecoveryAction
        for outcome in _recover(request, action, [job.review_job_id], dry_run=True).done
        if outcome.status != job.status or outcome.kept
    ]


def _do(request: HttpRequest, action: RecoveryAction) -> HttpResponse:
    ids = _job_ids(request.POST.getlist("id"))
    answer = _recover(request, action, ids, dry_run=False)
    done = f"{_RECOVERED[action]}: {'; '.join(map(_outcome, answer.done))}"
    core.report(request, success=done if answer.done else "")
    for refused in answer.refused:
        named = f"job {refused.review_job_id}"
        about = "" if named in refused.message else f"{named}: "
        core.report(request, warning=f"refused: {about}{refused.message}")
    is_one = len(ids) == 1
    target = reverse("job", args=ids) if is_one else reverse("admin:review_reviewjob_changelist")
    return core.SeeOther(target)


def _recover(
    request: HttpRequest, action: RecoveryAction, ids: Sequence[int], *, dry_run: bool
) -> RecoveryJson:
    with Corpus(settings.current()) as corpus:
        answer, _errors = Recovery(
            action=action,
            actor=core.actor(request),
            older_than=corpus.config.abandoned_after,
            corpus=corpus,
            processes=Processes(),
            now=timezone.now(),
            job_ids=tuple(ids),
            reason=core.field(request, "reason", max_length=MAX_REASON),
            dry_run=dry_run,
        ).recover()
    return answer


def _job_ids(words: Sequence[str]) -> list[int]:
    ids = list(dict.fromkeys(map(core.read_number, words)))
    if None in ids:
        raise UsageRefused("name jobs by their numbers: ?ids=7,8", "no-job-named")
    if not 1 <= len(ids) <= MAX_AT_ONCE:
        raise UsageRefused(
            f"between 1 and {MAX_AT_ONCE} jobs can be recovered at once", "no-job-named"
        )
    return [number for number in ids if number is not None]


def _plans(
    outcomes: Sequence[RecoveredJson], jobs: Sequence[JobJson], action: RecoveryAction
) -> list[tuple[JobJson, RecoveredJson, str | None]]:
    by_id = {job.review_job_id: job for job in jobs}
    losing = [] if action is RecoveryAction.INGEST else list(by_id)
    rows = ReviewJob.objects.filter(pk__in=losing)
    found = output_states(rows, config=settings.current(), processes=Processes())
    lost = {
        key: f"{output.state} ({output.detail})" if output.detail else output.state
        for key, output in found.items()
        if output.kept
    }
    return [(by_id[it.review_job_id], it, lost.get(it.review_job_id)) for it in outcomes]


def _outcome(item: RecoveredJson) -> str:
    parts = (
        f"job {item.review_job_id} is {item.status}",
        item.replaced_by and f"job {item.replaced_by} takes its place",
        item.left_out and f"{core.count_words(len(item.left_out), 'pair')} left out",
        item.ingested and item.ingested.failure_reason,
        *item.problems,
    )
    return ", ".join(str(part) for part in parts if part)
