"""Copy a store into another: from SQLite to PostgreSQL for the day a team moves, back, or to
another file. The target is made when it is not there, and keeps all ids, the store's own among
them. All rows of both are counted and hashed. A copy that is interrupted leaves the target empty.

    commonplace review_store_copy --to postgres://reviews@db.example.org/reviews --dry-run
    commonplace review_store_copy --to postgres://reviews@db.example.org/reviews
    commonplace review_store_copy --from postgres:///reviews --to kb/reports/review-store.sqlite
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TextIO

from review import settings
from review.management import kit
from review.store.errors import SETTING
from review.store_copy.copy import Progress, StoreCopyJson, copy_store, place_of

_SECONDS_BETWEEN = 0.1
_CLEAR_LINE = "\r\x1b[K"


class Command(kit.StorelessCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "a store cannot be used, a row cannot be held, or what arrived"
        " is not what was sent",
        kit.ExitCode.CONFLICT: "the target holds another store's rows, or is an earlier copy that differs",
        kit.ExitCode.INPUT_REJECTED: "there is no store to copy, no folder for the target or one of notes or gates, or a URL"
        " cannot be read",
    }
    arguments = {
        "--to URL": kit.Option(
            "a path or a postgres:// URL; made if it is not there", required=True
        ),
        "--from URL": kit.Option(
            "a path or a postgres:// URL (default: the configured store)", dest="source"
        ),
        "--dry-run": "say what would be copied; write nothing",
    }

    def run(self, options: kit.Options) -> None:
        target, source = options["to"], options["source"]
        if "://" not in target:
            with suppress(settings.RootNotFound):  # a copy needs no knowledge base around it
                kit.refuse_knowledge_base(Path(place_of(target)), config=self.config)
        with _progress(self.log, shown=self.shows_progress) as report:
            done = copy_store(
                source or self.config.database,
                target,
                source_named="--from" if source else SETTING,
                dry_run=options["dry_run"],
                report=report,
            )
        self.show(done, _lines(done))
        if not done.dry_run:
            self.notice(_NEXT.format(store_id=done.store_id, source=done.source))


_NEXT = (
    "both are the store {store_id} now: use one of them only.\n"
    "Point COMMONPLACE_REVIEW_DB at the copy everywhere, then put {source} away."
)


@contextmanager
def _progress(stream: TextIO, *, shown: bool) -> Iterator[Progress]:
    """A callback that draws on `stream` if `shown`; the line is cleared at the end."""
    drawn = 0.0

    def report(doing: str, table: str, rows: int) -> None:
        nonlocal drawn
        now = monotonic()
        if shown and now - drawn >= _SECONDS_BETWEEN:
            drawn = now
            stream.write(f"{_CLEAR_LINE}{doing} {table}, {rows:,} rows")
            stream.flush()

    try:
        yield report
    finally:
        if shown:
            stream.write(_CLEAR_LINE)


def _lines(done: StoreCopyJson) -> kit.Lines:
    verified = "verified: every count and every digest agrees"
    return kit.told(
        f"from {done.source}",
        f"to   {done.target} ({done.target_was})",
        (
            f"  {table.table:<26} {table.rows:>9} rows  "
            + (f"{table.added} added" if table.added else "as it is there")
            for table in done.tables
        ),
        "nothing was written" if done.dry_run else verified,
    )
