"""Writes a check in one of its formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from review import settings
from review.job_files.atomic_write import write_whole
from review.management.kit.errors import printable_json
from review.management.kit.output_files import refuse_to_overwrite

if TYPE_CHECKING:
    from review.check.documents import Report
    from review.management.kit.command import ReviewCommand


def write_report(command: ReviewCommand, report: Report, *, shape: str, output: str = "-") -> None:
    """Write a report to a file, or to standard output for `-`.

    :raises OutputRefused: the file is none that this command wrote, or lies among the notes.
    """
    from review.check.formats.registry import FORMATS

    wanted = FORMATS[shape]
    lines = map(printable_json, wanted.lines(report)) if wanted.is_json else wanted.lines(report)
    if output == "-":
        command.write_raw_chunks(f"{line}\n" for line in lines)
        return
    path, start = Path(output), wanted.starts_with.encode()
    refuse_to_overwrite(path, config=settings.current(), starts_with=start)
    write_whole(path, (f"{line}\n".encode("utf-8", "replace") for line in lines))
