"""List the batches that review_sweep --batch sent and that are not collected, or take in the
results of those that have ended. A result is ingested once, whoever collects it.

    commonplace review_batches
    commonplace review_batches --collect --json
"""

from __future__ import annotations

from django.utils import timezone

from review import store
from review.batches import BatchCollector, BatchJson
from review.jobs.leases import Processes
from review.management.kit import ACTOR, ExitCode, OneOf, Options, ReviewCommand
from review.vocabulary import JobStatus


class Command(ReviewCommand):
    exit_codes = {
        ExitCode.FAILED: "a job of a batch failed, or a provider refused or could not be reached",
        ExitCode.NOTHING_TO_DO: "no batch is open",
        ExitCode.INPUT_REJECTED: "no running job is in the batch that was named",
    }
    arguments = {
        "[batch_ids BATCH...]": "only these (default: all)",
        "collect": OneOf(
            {
                "--collect": "take in the results of those that have ended",
                "--cancel": "have the providers end them; then collect what ran by then",
            }
        ),
        **ACTOR,
    }

    def use_of(self, options: Options) -> store.Use:
        return store.Use.WRITE if options["collect"] or options["cancel"] else store.Use.READ

    def run(self, options: Options) -> None:
        collector = BatchCollector(
            actor=options["actor"],
            config=self.config,
            clock=timezone.now,
            processes=Processes(),
            batch_ids=options["batch_ids"],
        )
        act = collector.collect if options["collect"] else collector.list
        answer = collector.cancel() if options["cancel"] else act()
        lines = [_line(batch) for batch in answer.batches] or ["no batch is open"]
        code = ExitCode.DONE if answer.batches else ExitCode.NOTHING_TO_DO
        if any(it.problem or JobStatus.FAILED in it.closed for it in answer.batches):
            code = ExitCode.FAILED
        self.show(answer, lines, code=code)


def _line(batch: BatchJson) -> str:
    closed = "".join(f", {status} {number}" for status, number in sorted(batch.closed.items()))
    cost = "" if batch.cost_usd is None else f", ${batch.cost_usd:.2f}"
    problem = f": {batch.problem}" if batch.problem else ""
    return (
        f"{batch.batch_id or '(no id)'}: {batch.state}: {batch.jobs} jobs ({batch.runner},"
        f" {batch.model_partition}), sent {batch.sent_at}, until {batch.until}"
        f"{closed}{cost}{problem}"
    )
