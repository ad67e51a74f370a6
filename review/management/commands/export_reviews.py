"""Write every current acceptance with its review, from the store alone: a Markdown file for each
note, gate and partition, one CSV index, or the review lock. Files of an earlier export that belong
to no acceptance any more are named and left.

    commonplace export_reviews --format markdown
    commonplace export_reviews --format csv --output -
    commonplace export_reviews --format markdown --output reviews/ --json
    commonplace export_reviews --format lock
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from review.check.lock import lock_text, stored_lock
from review.job_files import write_whole
from review.management import kit
from review.reviews.export import (
    ExportedJson,
    ExportedReview,
    export_markdown,
    exported_reviews,
    gate_csv,
)
from review.settings import REPORTS_FOLDER

MARKDOWN, CSV, LOCK = "markdown", "csv", "lock"
_DEFAULTS = {
    MARKDOWN: f"{REPORTS_FOLDER}/reviews/gates",
    CSV: f"{REPORTS_FOLDER}/reviews/csv/gate_reviews.csv",
    LOCK: "kb/review.lock",
}
_SHOWN = 20


class Command(kit.ReadingCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "a file could not be written; run it again when that is mended"
    }
    arguments = {
        "--format": kit.Option(
            "Markdown files, a CSV index, or the lock that is committed for review_check",
            (MARKDOWN, CSV, LOCK),
            required=True,
        ),
        "--output DIR|FILE": f"the folder of the Markdown files (default: {_DEFAULTS[MARKDOWN]}),"
        f" or the CSV file, - for standard output (default: {_DEFAULTS[CSV]}); the lock has its place",
    }

    def run(self, options: kit.Options) -> None:
        chosen, output = options["format"], options["output"]
        printed, is_csv = output == "-", chosen == CSV and not self.as_json
        kit.refuse(
            {
                f"the lock is written to {_DEFAULTS[LOCK]}, without --output": (
                    chosen == LOCK and output
                ),
                "--output - goes with --format csv, without --json": printed and not is_csv,
            }
        )
        if printed:
            for line in gate_csv(self._reviews()):
                self.write_raw(line)
            return
        path = Path(output or self.config.root / _DEFAULTS[chosen])
        if chosen == MARKDOWN:
            kit.refuse_knowledge_base(path, config=self.config)
            done = export_markdown(self._reviews(with_text=True), path)
        else:
            reviews = self._write_csv(path) if chosen == CSV else self._write_lock(path)
            done = ExportedJson(format=chosen, output=str(path), reviews=reviews, written=1)
        more = len(done.left) - _SHOWN
        left = kit.told(
            (f"left in place, of no current acceptance: {name}" for name in done.left[:_SHOWN]),
            f"and {more} more" if more > 0 else None,
        )
        written = f"{done.output}: {done.written} written, {done.unchanged} unchanged"
        self.show(done, [written], notices=left)

    def _reviews(self, *, with_text: bool = False) -> Iterator[ExportedReview]:
        return exported_reviews(gate_label=self.config.gate_label, with_text=with_text)

    def _write_csv(self, path: Path) -> int:
        starts_with = next(iter(gate_csv(()))).encode()
        kit.refuse_to_overwrite(path, config=self.config, starts_with=starts_with)
        rows = count()
        lines = (line for line, _row in zip(gate_csv(self._reviews()), rows, strict=False))
        write_whole(path, (line.encode("utf-8", "replace") for line in lines))
        return next(rows) - 1

    def _write_lock(self, path: Path) -> int:
        lock = stored_lock(self.corpus, self.corpus.notes().notes)
        write_whole(path, lock_text(lock).encode())
        return sum(len(found.decisions) for line in lock.notes.values() for found in line.reviews)
