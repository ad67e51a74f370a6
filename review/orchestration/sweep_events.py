"""What happens to a sweep's jobs, as events that can be written as JSON."""

from __future__ import annotations

from collections import Counter

from review.orchestration.ingesting import RefusedJob
from review.orchestration.news import JobRun, JobStarted, LeftQueued, News, RunAgain
from review.orchestration.sweep_request import SweepEvent


def event_of(news: News) -> SweepEvent:
    """The event that tells of `news`."""
    fields: dict[str, object] = {"review_job_id": news.review_job_id}
    if isinstance(news, JobStarted):
        return SweepEvent(
            "job-started", fields | {"lens": news.lens, "pair_count": news.pair_count}
        )
    if isinstance(news, RunAgain):
        seconds = news.pause.total_seconds()
        return SweepEvent("run-again", fields | {"reason": news.reason, "in_seconds": seconds})
    if isinstance(news, JobRun):
        return SweepEvent("job-finished", fields | _run_fields(news))
    if isinstance(news, LeftQueued):
        return SweepEvent("left-queued", fields | {"reason": news.reason})
    if isinstance(news, RefusedJob):
        told = {"code": news.error.code, "message": news.error.message}
        return SweepEvent("job-refused", fields | told)
    return SweepEvent("crashed", fields | {"message": str(news.error)})


def _run_fields(run: JobRun) -> dict[str, object]:
    document = run.document
    decisions = Counter(pair.decision or pair.pair_status for pair in document.pairs)
    return {
        "status": document.status,
        "failure_code": document.failure_code,
        "failure_reason": document.failure_reason,
        "pairs": dict(sorted(decisions.items())),
        "runs": run.runs,
        "run_seconds": round(run.seconds, 3),
        "cost_usd": run.usage.cost_usd,
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
    }
