"""`export_reviews`: the current reviews as Markdown files, or their index as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.check.lock import lock_text, stored_lock
from review.errors import ExitCode, UsageRefused
from review.job_files.atomic_write import write_whole
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import source
from review.management.kit.streams import refuse_knowledge_base, refuse_to_overwrite
from review.reviews.documents import ExportedJson
from review.reviews.export import export_markdown, exported_reviews, gate_csv
from review.settings.config import REPORTS_FOLDER, Config

MARKDOWN, CSV, LOCK = "markdown", "csv", "lock"
_DEFAULTS = {
    MARKDOWN: f"{REPORTS_FOLDER}/reviews/gates",
    CSV: f"{REPORTS_FOLDER}/reviews/csv/gate_reviews.csv",
    LOCK: "kb/review.lock",
}
_SHOWN = 20


class Command(ReviewCommand):
    help = (
        "Write every current acceptance with its review, from the store alone: a Markdown file for"
        " each note, gate and partition, one CSV index, or the review lock. Files of an earlier"
        " export that belong to no acceptance any more are named and left."
    )
    schema = "export-reviews/1"
    store_use = store.Use.READ
    examples = (
        "commonplace export_reviews --format markdown",
        "commonplace export_reviews --format csv --output -",
        "commonplace export_reviews --format markdown --output reviews/ --json",
        "commonplace export_reviews --format lock",
    )
    exit_codes = {ExitCode.FAILED: "a file could not be written; run it again when that is mended"}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--format",
            choices=(MARKDOWN, CSV, LOCK),
            required=True,
            help="Markdown files, a CSV index, or the lock that is committed for review_check",
        )
        parser.add_argument(
            "--output",
            type=source,
            metavar="DIR|FILE",
            help=f"the folder of the Markdown files (default: {_DEFAULTS[MARKDOWN]}), or the CSV"
            f" file, - for standard output (default: {_DEFAULTS[CSV]}); the lock has its place",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        config, chosen = settings.current(), options["format"]
        if chosen == LOCK and options["output"]:
            raise UsageRefused(f"the lock is written to {_DEFAULTS[LOCK]}, without --output")
        if options["output"] == "-":
            self._print_csv(chosen, config)
            return
        path = Path(options["output"] or config.root / _DEFAULTS[chosen])
        exports = {MARKDOWN: _export_markdown, CSV: _export_csv, LOCK: _export_lock}
        done = exports[chosen](path, config)
        self.show(done, [f"{done.output}: {done.written} written, {done.unchanged} unchanged"])
        if self.as_json:
            return
        for name in done.left[:_SHOWN]:
            self.notice(f"left in place, of no current acceptance: {name}")
        if len(done.left) > _SHOWN:
            self.notice(f"and {len(done.left) - _SHOWN} more")

    def _print_csv(self, chosen: str, config: Config) -> None:
        if chosen != CSV or self.as_json:
            raise UsageRefused("--output - goes with --format csv, without --json")
        reviews = exported_reviews(gates_folder=config.gates_folder, with_text=False)
        for line in gate_csv(reviews):
            self.write_raw(line)


def _export_markdown(folder: Path, config: Config) -> ExportedJson:
    refuse_knowledge_base(folder, config=config)
    reviews = exported_reviews(gates_folder=config.gates_folder, with_text=True)
    return export_markdown(reviews, folder)


def _export_csv(path: Path, config: Config) -> ExportedJson:
    refuse_to_overwrite(path, config=config, starts_with=next(iter(gate_csv(()))).encode())
    rows = 0

    def encoded() -> Iterator[bytes]:
        nonlocal rows
        reviews = exported_reviews(gates_folder=config.gates_folder, with_text=False)
        for rows, line in enumerate(gate_csv(reviews)):  # noqa: B007
            yield line.encode("utf-8", "replace")

    write_whole(path, encoded())
    return ExportedJson(format=CSV, output=str(path), reviews=rows, written=1, unchanged=0, left=[])


def _export_lock(path: Path, config: Config) -> ExportedJson:
    with open_corpus(config) as corpus:
        lock = stored_lock(corpus, corpus.notes().notes)
    write_whole(path, lock_text(lock).encode())
    reviews = sum(len(found.decisions) for line in lock.notes.values() for found in line.reviews)
    return ExportedJson(
        format=LOCK, output=str(path), reviews=reviews, written=1, unchanged=0, left=[]
    )
