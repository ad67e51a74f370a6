"""`recover_review_jobs`: lists jobs that were given up, and acts on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.jobs.board import require_job
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand, request_of
from review.management.kit.listing import add_listing_options, part_of, tail_lines
from review.management.kit.options import duration, positive_int, text
from review.recovery.documents import RecoveredJson, RecoveryJson, RecoveryListJson
from review.recovery.recover import Recovered, Recovery, list_recoverable
from review.runners.process.table import ProcessTable
from review.settings.config import Config
from review.vocabulary import JobStatus

LIST = "list"
_LISTS = ("abandoned", "ready", "failed")
ACTIONS = (LIST, "ingest", "fail", "replace")

_OF_THE_MACHINE = (ExitCode.FAILED, ExitCode.TRY_AGAIN)


class Command(ReviewCommand):
    help = (
        "Without an action: list abandoned jobs (running for longer than the limit, or their parent "
        "process on this host is gone), jobs whose output waits, and failed jobs with missing "
        "pairs. An action takes the named jobs, else all abandoned ones; a job whose parent is "
        "alive is never touched."
    )
    schema = "recover-review-jobs/1"
    examples = (
        "commonplace recover_review_jobs --older-than 30m --json",
        "commonplace recover_review_jobs --action ingest 7",
        "commonplace recover_review_jobs --action replace 7 8 --dry-run",
    )
    exit_codes = {
        ExitCode.FAILED: "a job that was ingested ended failed: a pair is missing; or the disk refused",
        ExitCode.CONFLICT: "a job was refused: its parent is alive, it is closed, or it moved",
        ExitCode.INPUT_REJECTED: "one job was named, and it is unknown or has no usable output",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "job_ids",
            nargs="*",
            type=positive_int,
            metavar="JOB_ID",
            help="these jobs (default: all abandoned ones)",
        )
        parser.add_argument(
            "--action",
            choices=ACTIONS,
            default=LIST,
            help="what is done with them; list changes nothing",
        )
        parser.add_argument(
            "--older-than", type=duration, metavar="2h", help="how long a job may run"
        )
        add_listing_options(parser)
        parser.add_argument("--reason", type=text, metavar="R", help="why it is failed or replaced")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done")
        self.add_actor_option(parser)

    def use_of(self, options: Mapping[str, Any]) -> store.Use:
        looks = options["action"] == LIST or options["dry_run"]
        return store.Use.READ if looks else store.Use.WRITE

    def handle(self, *args: Any, **options: Any) -> None:
        config = settings.current()
        options["older_than"] = options["older_than"] or config.abandoned_after
        if options["action"] == LIST:
            self._list(options, config)
            return
        result = self._recover(options, config)
        if len(options["job_ids"]) == 1 and result.errors:
            raise result.errors[0]
        self.show(result.answer, _lines(result.answer))
        if not self.as_json:
            for item in result.answer.refused:
                self.warn(f"refused: {item.message}")
        self.finish(_exit_code(result.answer))

    def _list(self, options: dict[str, Any], config: Config) -> None:
        for job_id in options["job_ids"]:
            require_job(job_id)
        found = list_recoverable(
            older_than=options["older_than"],
            processes=ProcessTable(),
            config=config,
            now=self.now,
            job_ids=options["job_ids"],
        )
        _cut(found, options)
        lines = () if found.summary else _list_lines(found)
        self.show(found, (*lines, *tail_lines(found.summary, found.next)))

    def _recover(self, options: dict[str, Any], config: Config) -> Recovered:
        with open_corpus(config) as corpus:
            return request_of(
                Recovery,
                options,
                corpus=corpus,
                config=config,
                processes=ProcessTable(),
                now=self.now,
            ).recover()


def _cut(found: RecoveryListJson, options: dict[str, Any]) -> None:
    """Keep the requested page; a job in two lists counts once."""
    lists = {name: getattr(found, name) for name in _LISTS}
    if options["summary"]:
        found.summary = {"list": {name: len(entries) for name, entries in lists.items()}}
    job_ids = sorted({entry.review_job_id for entries in lists.values() for entry in entries})
    part = part_of(job_ids, options, lambda job_id: (job_id,))
    kept = set(part)
    for name, entries in lists.items():
        setattr(found, name, [entry for entry in entries if entry.review_job_id in kept])
    found.next = part.next


def _list_lines(found: RecoveryListJson) -> Iterator[str]:
    for name in _LISTS:
        for entry in getattr(found, name):
            taken = f", {entry.claimed_by}" if entry.claimed_by else ""
            detail = f": {entry.output_detail}" if entry.output_detail else ""
            yield (
                f"{name}: job {entry.review_job_id} ({entry.model_partition}, {entry.lens}{taken}; "
                f"pairs without a review: {entry.pairs_without_review} of {entry.pair_count}; "
                f"output: {entry.output}{detail}): {entry.because}"
            )
    if not (found.abandoned or found.ready or found.failed):
        yield "nothing to recover"


def _lines(answer: RecoveryJson) -> Iterator[str]:
    for job in answer.done:
        yield _line(job, answer)
        for pair in job.left_out:
            yield f"  left out: {pair.note_path} {pair.gate_path}: {pair.reason}"
        for problem in job.problems:
            yield f"  problem: {problem}"
    if not answer.done and not answer.refused:
        yield "no job is abandoned"


def _line(job: RecoveredJson, answer: RecoveryJson) -> str:
    if answer.dry_run:
        return f"job {job.review_job_id}: would {answer.action} it; it would end {job.status}"
    if job.replaced_by is not None:
        return f"job {job.review_job_id}: {job.status}, replaced by job {job.replaced_by}"
    why = job.ingested.failure_reason if job.ingested is not None else ""
    return f"job {job.review_job_id}: {job.status}" + (f" ({why})" if why else "")


def _exit_code(answer: RecoveryJson) -> ExitCode:
    if answer.refused:
        codes = {job.exit for job in answer.refused}
        # No state moved where it was the machine that refused them all.
        only = ExitCode(min(codes))
        return only if codes == {only} and only in _OF_THE_MACHINE else ExitCode.CONFLICT
    if any(
        job.ingested is not None and job.ingested.status == JobStatus.FAILED for job in answer.done
    ):
        return ExitCode.FAILED
    return ExitCode.DONE
