"""`review_batches`: the batches at model APIs, and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from review import settings, store
from review.batches.collect import BatchCollector
from review.batches.documents import BatchJson
from review.errors import ExitCode
from review.management.kit.command import ReviewCommand
from review.management.kit.options import word
from review.runners.process.table import ProcessTable
from review.vocabulary import JobStatus


class Command(ReviewCommand):
    help = (
        "List the batches that review_sweep --batch sent and that are not collected, or take in the"
        " results of those that have ended. A result is ingested once, whoever collects it."
    )
    schema = "review-batches/1"
    examples = ("commonplace review_batches", "commonplace review_batches --collect --json")
    exit_codes = {
        ExitCode.FAILED: "a job of a batch failed, or a provider refused or could not be reached",
        ExitCode.NOTHING_TO_DO: "no batch is open",
        ExitCode.INPUT_REJECTED: "no running job is in the batch that was named",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "batch_ids", nargs="*", type=word, metavar="BATCH", help="only these (default: all)"
        )
        action = parser.add_mutually_exclusive_group()
        action.add_argument(
            "--collect", action="store_true", help="take in the results of those that have ended"
        )
        action.add_argument(
            "--cancel",
            action="store_true",
            help="have the providers end them; then collect what ran by then",
        )
        self.add_actor_option(parser)

    def use_of(self, options: Mapping[str, Any]) -> store.Use:
        acts = options["collect"] or options["cancel"]
        return store.Use.WRITE if acts else store.Use.READ

    def handle(self, *args: Any, **options: Any) -> None:
        collector = BatchCollector(
            actor=options["actor"],
            config=settings.current(),
            clock=timezone.now,
            processes=ProcessTable(),
            batch_ids=options["batch_ids"],
        )
        actions = {"collect": collector.collect, "cancel": collector.cancel}
        chosen = next((name for name in actions if options[name]), None)
        answer = actions[chosen]() if chosen else collector.list()
        lines = ["".join(_words(batch)) for batch in answer.batches]
        self.show(answer, lines or ["no batch is open"])
        self.finish(_exit_code(answer.batches))


def _words(batch: BatchJson) -> Iterator[str]:
    yield f"{batch.batch_id or '(no id)'}: {batch.state}: {batch.jobs} jobs"
    yield f" ({batch.runner}, {batch.model_partition}), sent {batch.sent_at}, until {batch.until}"
    for status, number in sorted(batch.closed.items()):
        yield f", {status} {number}"
    if batch.cost_usd is not None:
        yield f", ${batch.cost_usd:.2f}"
    if batch.problem:
        yield f": {batch.problem}"


def _exit_code(batches: list[BatchJson]) -> ExitCode:
    if not batches:
        return ExitCode.NOTHING_TO_DO
    failed = any(batch.problem or JobStatus.FAILED in batch.closed for batch in batches)
    return ExitCode.FAILED if failed else ExitCode.DONE
