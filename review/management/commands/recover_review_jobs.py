"""Without an action: list abandoned jobs (running for longer than the limit, or their parent
process on this host is gone), jobs whose output waits, and failed jobs with missing pairs. An
action takes the named jobs, else all abandoned ones; a job whose parent is alive is never touched.

    commonplace recover_review_jobs --older-than 30m --json
    commonplace recover_review_jobs --action ingest 7
    commonplace recover_review_jobs --action replace 7 8 --dry-run
"""

from __future__ import annotations

from msgspec import structs

from review import store
from review.jobs.board import require_job
from review.jobs.leases import Processes
from review.management import kit
from review.management.kit.output import part_of, tail_lines
from review.recovery import recover
from review.vocabulary import JobStatus

LIST = "list"
_LISTS = ("abandoned", "ready", "failed")
ACTIONS = (LIST, "ingest", "fail", "replace")

_OF_THE_MACHINE = {kit.ExitCode.FAILED, kit.ExitCode.TRY_AGAIN}


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "a job that was ingested ended failed: a pair is missing;"
        " or the disk refused",
        kit.ExitCode.CONFLICT: "a job was refused: its parent is alive, it is closed, or it moved",
        kit.ExitCode.INPUT_REJECTED: "one job was named, and it is unknown or has no usable output",
    }
    arguments = {
        "[job_ids JOB_ID...]": "these jobs (default: all abandoned ones)",
        "--action": kit.Option(
            "what is done with them; list changes nothing", ACTIONS, default=LIST
        ),
        "--older-than 2h": "how long a job may run",
        **kit.LISTING,
        "--reason R": "why it is failed or replaced",
        "--dry-run": "say what would be done",
        **kit.ACTOR,
    }

    def use_of(self, options: kit.Options) -> store.Use:
        looks = options["action"] == LIST or options["dry_run"]
        return store.Use.READ if looks else store.Use.WRITE

    def run(self, options: kit.Options) -> None:
        options["older_than"] = options["older_than"] or self.config.abandoned_after
        if options["action"] == LIST:
            self._list(options)
            return
        given = {"corpus": self.corpus, "processes": Processes(), "now": self.now}
        answer, errors = kit.request_of(recover.Recovery, options, **given).recover()
        if len(options["job_ids"]) == 1 and errors:
            raise errors[0]
        refused = (f"refused: {item.message}" for item in answer.refused)
        self.show(answer, _lines(answer), warnings=refused, code=_exit_code(answer))

    def _list(self, options: kit.Options) -> None:
        for job_id in options["job_ids"]:
            require_job(job_id)
        found = recover.list_recoverable(
            older_than=options["older_than"],
            processes=Processes(),
            corpus=self.corpus,
            now=self.now,
            job_ids=options["job_ids"],
        )
        lists = {name: getattr(found, name) for name in _LISTS}
        counts = {"list": {name: len(entries) for name, entries in lists.items()}}
        # A job in two lists counts once.
        job_ids = sorted({entry.review_job_id for entries in lists.values() for entry in entries})
        kept, following = part_of(job_ids, options, lambda job_id: (job_id,))
        shown = {
            name: [entry for entry in entries if entry.review_job_id in kept]
            for name, entries in lists.items()
        }
        summary = counts if options["summary"] else found.summary
        found = structs.replace(found, **shown, summary=summary, next=following)
        lines = [_entry_line(name, entry) for name, entries in shown.items() for entry in entries]
        nothing = () if lines or options["summary"] else ("nothing to recover",)
        self.show(found, (*lines, *nothing, *tail_lines(found)))


def _entry_line(name: str, entry: recover.RecoverableJson) -> str:
    taken = f", {entry.claimed_by}" if entry.claimed_by else ""
    detail = f": {entry.output_detail}" if entry.output_detail else ""
    return (
        f"{name}: job {entry.review_job_id} ({entry.model_partition}, {entry.lens}{taken}; "
        f"pairs without a review: {entry.pairs_without_review} of {entry.pair_count}; "
        f"output: {entry.output}{detail}): {entry.because}"
    )


def _lines(answer: recover.RecoveryJson) -> kit.Lines:
    for job in answer.done:
        ended = job.status
        if answer.dry_run:
            ended = f"would {answer.action} it; it would end {job.status}"
        elif job.replaced_by is not None:
            ended += f", replaced by job {job.replaced_by}"
        elif job.ingested and job.ingested.failure_reason:
            ended += f" ({job.ingested.failure_reason})"
        yield f"job {job.review_job_id}: {ended}"
        for pair in job.left_out:
            yield f"  left out: {pair.note_path} {pair.gate_path}: {pair.reason}"
        yield from (f"  problem: {problem}" for problem in job.problems)
    yield from () if answer.done or answer.refused else ("no job is abandoned",)


def _exit_code(answer: recover.RecoveryJson) -> kit.ExitCode:
    if answer.refused:
        codes = {kit.ExitCode(job.exit) for job in answer.refused}
        # No state moved where it was the machine that refused them all.
        return (
            codes.pop() if len(codes) == 1 and codes <= _OF_THE_MACHINE else kit.ExitCode.CONFLICT
        )
    failed = any(job.ingested and job.ingested.status == JobStatus.FAILED for job in answer.done)
    return kit.ExitCode.FAILED if failed else kit.ExitCode.DONE
