"""`next_review_job`: takes the next work and prints its prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.errors import ExitCode, UsageRefused
from review.jobs.claim import ClaimRequest
from review.jobs.job_documents import TakenJson
from review.jobs.take import TakeRequest, take_jobs
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of
from review.management.kit.options import partition, positive_int
from review.management.kit.provenance_options import add_provenance_options, provenance_of
from review.management.kit.scope_options import (
    add_scope_arguments,
    add_selection_options,
    selection_request,
)
from review.vocabulary import Grouping

# Tools of agents show some 30,000 characters of an answer.
MAX_TOKENS = 7000


class Command(ReviewCommand):
    help = (
        "Claim the next queued job and print its prompt. With gates or --all-gates, the next of"
        " this scope: jobs are made of what is stale, a few at a time."
    )
    schema = "next-review-job/1"
    examples = (
        "commonplace next_review_job prose --model claude-opus-4-6 --runner claude-code",
        "commonplace next_review_job --all-gates --model opus --runner claude-code --jobs 3",
        "commonplace next_review_job --runner my-harness --json",
    )
    exit_codes = {
        ExitCode.NOTHING_TO_DO: "no job is queued, all of the scope is fresh, or no prompt fits",
        ExitCode.CONFLICT: "the model that runs makes another partition",
        ExitCode.INPUT_REJECTED: "an unknown gate or note; near ones are named",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope_arguments(parser)
        parser.add_argument(
            "--model",
            type=partition,
            metavar="PARTITION",
            help="the partition to be fresh for; with a scope it is needed",
        )
        add_selection_options(parser)
        add_provenance_options(parser, required=True)
        parser.add_argument(
            "--jobs", type=positive_int, default=1, metavar="N", help="at most N jobs (default 1)"
        )
        parser.add_argument(
            "--max-tokens",
            type=positive_int,
            default=MAX_TOKENS,
            metavar="N",
            help=f"of all prompts together (default {MAX_TOKENS}: tools show it whole)",
        )
        parser.add_argument(
            "--grouping",
            choices=Grouping.values,
            default=Grouping.NOTE.value,
            help="how new jobs are made: per note and lens (default), or per gate and batch",
        )
        parser.add_argument(
            "--across-lenses", action="store_true", help="gates of several lenses in a note's job"
        )
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        config = settings.current()
        request = _request(options)
        with open_corpus(config, use_cache=not options["no_cache"]) as corpus:
            taken = take_jobs(request, corpus=corpus, config=config, now=self.now)
        self.show(taken, _lines(taken, actor=options["actor"]))


def _request(options: dict[str, Any]) -> TakeRequest:
    has_scope = bool(options["gates"] or options["all_gates"])
    if not has_scope and (options["notes"] or options["current_only"]):
        raise UsageRefused("--note and --current narrow a scope: name gates, or --all-gates")
    if has_scope and options["model"] is None:
        raise UsageRefused("a scope needs --model: a job is made for one partition")
    partition = options["model"]
    claim = request_of(
        ClaimRequest,
        options,
        provenance=provenance_of(options),
        limit=options["jobs"],
        model_partition=partition,
    )
    selection = selection_request(options)
    return request_of(TakeRequest, options, claim=claim, selection=selection if has_scope else None)


def _lines(taken: TakenJson, *, actor: str) -> Iterator[str]:
    ids = " ".join(str(job.review_job_id) for job in taken.jobs)
    pairs = sum(job.pair_count for job in taken.jobs)
    left = f"; left in this scope: {taken.left}" if taken.left else ""
    yield (
        f"jobs taken: {ids} (pairs: {pairs}{left}). Write no file; give all blocks on standard"
        f" input to: commonplace ingest_bundle_output --review-job-id {ids} --input-file - --actor {actor}"
    )
    for job in taken.jobs:
        yield ""
        if job.shares_with:
            yield f"Job {job.review_job_id}: task and gates are those of job {job.shares_with}."
        yield from job.prompt.removesuffix("\n").split("\n")
