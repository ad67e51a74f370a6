"""Writes a check in one of its formats."""

from __future__ import annotations

from pathlib import Path

from review import settings
from review.check.documents import Report
from review.check.formats.registry import FORMATS
from review.job_files.atomic_write import write_whole
from review.management.kit.command import ReviewCommand
from review.management.kit.streams import printable_json, refuse_to_overwrite


def write_report(command: ReviewCommand, report: Report, *, shape: str, output: str = "-") -> None:
    """Write a report to a file, or to standard output for `-`.

    :raises OutputRefused: the file is none that this command wrote, or lies among the notes.
    """
    wanted = FORMATS[shape]
    lines = map(printable_json, wanted.lines(report)) if wanted.is_json else wanted.lines(report)
    if output == "-":
        for line in lines:
            command.write_raw(f"{line}\n")
        return
    path, start = Path(output), wanted.starts_with.encode()
    refuse_to_overwrite(path, config=settings.current(), starts_with=start)
    write_whole(path, (f"{line}\n".encode("utf-8", "replace") for line in lines))
