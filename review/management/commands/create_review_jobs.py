"""Make queued review jobs, each with its prompt, for the targets of a selection. A target that
cannot be requested is skipped with a reason; one that makes no sense rejects all.

    commonplace review_target_selector prose --model claude-opus-4-6 --json | commonplace create_review_jobs --input - --grouping note --json
    commonplace create_review_jobs --input selection.json --grouping gate --batch-size 4 --dry-run
"""

from __future__ import annotations

from review import store
from review.jobs.create import ALREADY_QUEUED, CreateRequest, create_jobs
from review.jobs.job_documents import CreatedJson, JobJson
from review.jobs.provenance import read_selection
from review.management import kit
from review.vocabulary import Grouping


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "the system refused to write a job's files",
        kit.ExitCode.CONFLICT: "a job folder belongs to another store",
        kit.ExitCode.INPUT_REJECTED: "the selection is no selector JSON, has no partition or a bad target; nothing was written",
    }
    arguments = {
        "--input FILE": kit.Option("selector JSON; - reads standard input", required=True),
        "--grouping": kit.Option(
            "note: one job per note and lens; gate: one per gate and batch of notes",
            Grouping.values,
            required=True,
        ),
        "--batch-size N": "with --grouping gate: notes in a job (default 8)",
        "--across-lenses": "with --grouping note: gates of several lenses in a job, up to"
        " max_gates of kb/review.toml; for workers that read prompts whole",
        "--max-prompt-tokens N": "split larger prompts by pairs, and skip a pair that is larger"
        " alone (default: max_prompt_tokens of kb/review.toml)",
        "--force": "request pairs that are queued already, too",
        "--dry-run": "show jobs, pairs and tokens, write nothing",
        "--summary": "the totals alone",
        **kit.ACTOR,
    }

    def use_of(self, options: kit.Options) -> store.Use:
        return store.Use.READ if options["dry_run"] else store.Use.WRITE

    def run(self, options: kit.Options) -> None:
        data, source = self.read_input(options["input"]), kit.named(options["input"])
        partition, targets = read_selection(
            data, source=source, config=self.config, gate_ids=self.corpus.gates.ids
        )
        omit = () if options["force"] else (ALREADY_QUEUED,)
        request = kit.request_of(CreateRequest, options, model_partition=partition, omit=omit)
        result = create_jobs(targets, request, config=self.config, now=self.now)
        if options["summary"]:
            result.jobs = []
        made = "{0.jobs} jobs, {0.pairs} pairs, about {0.estimated_prompt_tokens} tokens"
        self.show(result, _lines(result), notices=[made.format(result.totals)])


def _lines(result: CreatedJson) -> kit.Lines:
    for job in result.jobs:
        if isinstance(job, JobJson):
            what = f"job {job.review_job_id}: {job.prompt_path}"
        else:
            notes = ", ".join(dict.fromkeys(pair.note_path for pair in job.pairs))
            gates = ", ".join(dict.fromkeys(pair.gate_id for pair in job.pairs))
            what = f"would make: {notes} :: {gates}"
        yield f"{what} (pairs: {job.pair_count}, about {job.estimated_prompt_tokens} tokens)"
    for item in result.skipped:
        has = "" if item.review_job_id is None else f", job {item.review_job_id} has it"
        yield f"skipped: {item.note_path} {item.gate_id} ({item.reason}{has})"
    yield from kit.told(
        (f"problem: {it.path}: {it.message} ({it.code})" for it in result.problems),
        None if result.totals.jobs else "no job",
    )
