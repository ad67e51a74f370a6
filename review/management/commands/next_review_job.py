"""Claim the next queued job and print its prompt. With gates or --all-gates, the next of this
scope: jobs are made of what is stale, a few at a time.

    commonplace next_review_job prose --model claude-opus-4-6 --runner claude-code
    commonplace next_review_job --all-gates --model opus --runner claude-code --jobs 3
    commonplace next_review_job --runner my-harness --json
"""

from __future__ import annotations

import shlex

from review.jobs.claim import ClaimRequest, TakeRequest, take_jobs
from review.jobs.job_documents import TakenJson
from review.management import kit
from review.management.kit.output import selection_request
from review.models import Provenance
from review.vocabulary import Grouping

# Tools of agents show some 30,000 characters of an answer.
MAX_TOKENS = 7000
_ANSWER = (
    "Write no file, also where a prompt names one: give the blocks of all jobs on standard input to:"
    " commonplace ingest_bundle_output --review-job-id {ids} --input-file - --actor {actor}"
)


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.NOTHING_TO_DO: "no job is queued, all of the scope is fresh, or no prompt fits",
        kit.ExitCode.CONFLICT: "the model that runs makes another partition",
        kit.ExitCode.INPUT_REJECTED: "an unknown gate or note; near ones are named",
    }
    arguments = {
        **kit.SCOPE,
        "--model PARTITION": "the partition to be fresh for; with a scope it is needed",
        **kit.SELECTION,
        **kit.harness(required=True),
        "--jobs N": kit.Option("at most N jobs (default 1)", default=1),
        "--max-tokens N": kit.Option(
            f"of all prompts together (default {MAX_TOKENS}: tools show it whole)",
            default=MAX_TOKENS,
        ),
        "--grouping": kit.Option(
            "how new jobs are made: per note and lens (default), or per gate and batch",
            Grouping.values,
            default=Grouping.NOTE.value,
        ),
        "--across-lenses": "gates of several lenses in a note's job",
        **kit.ACTOR,
    }

    def run(self, options: kit.Options) -> None:
        has_scope = any(options[it] for it in ("gates", "all_gates", "notes", "current_only"))
        needed = "a scope needs --model: a job is made for one partition"
        kit.refuse({needed: has_scope and options["model"] is None})
        claim = kit.request_of(
            ClaimRequest,
            options,
            provenance=kit.request_of(Provenance, options),
            limit=options["jobs"],
        )
        scope = selection_request(options) if has_scope else None
        request = kit.request_of(TakeRequest, options, claim=claim, selection=scope)
        taken = take_jobs(request, corpus=self.corpus, now=self.now)
        ids = " ".join(str(job.review_job_id) for job in taken.jobs)
        taken.answer = _ANSWER.format(ids=ids, actor=shlex.quote(options["actor"]))
        self.show(taken, _lines(taken, ids))


def _lines(taken: TakenJson, ids: str) -> kit.Lines:
    pairs = sum(job.pair_count for job in taken.jobs)
    left = f"; left in this scope: {taken.left}" if taken.left else ""
    yield f"jobs taken: {ids} (pairs: {pairs}{left}). {taken.answer}"
    for job in taken.jobs:
        yield ""
        if job.shares_with:
            yield f"Job {job.review_job_id}: task and gates are those of job {job.shares_with}."
        yield from job.prompt.removesuffix("\n").split("\n")
