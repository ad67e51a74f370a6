"""Writes a check in one of its formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from review import settings
from review.check import formats
from review.check.documents import Report
from review.documents.base import encode
from review.job_files import write_whole
from review.management.kit.command import ReviewCommand
from review.management.kit.streams import OutputRefused, printable_json, refuse_to_overwrite

# Each with the start by which a file of it is known.
FORMATS: Mapping[str, tuple[Callable[[Report], Iterator[str]], str]] = {
    "text": (formats.text_lines, "checked "),
    "json": (lambda report: iter([encode(report.document)]), '{"schema":"review-check/'),
    "github": (formats.github_lines, "::notice title=review_check::"),
    "sarif": (formats.sarif_lines, '{"$schema":"https://json.sch'),
    "rdjsonl": (formats.rdjsonl_lines, '{"message":'),
    "junit": (formats.junit_lines, '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="r'),
    "markdown": (formats.markdown_lines, "## Review check\n"),
}


def write_report(command: ReviewCommand, report: Report, *, shape: str, output: str = "-") -> None:
    """Write a report to a file, or to standard output for `-`.

    :raises OutputRefused: the file is none that this command wrote, or is among the notes, or its
        folder is not there.
    """
    write, start = FORMATS[shape]
    written = (f"{printable_json(line) if start[0] == '{' else line}\n" for line in write(report))
    if output == "-":
        for line in written:
            command.write_raw(line)
        return
    if not Path(output).parent.is_dir():
        raise OutputRefused(f"there is no folder {Path(output).parent}", hint="make it first")
    refuse_to_overwrite(Path(output), config=settings.current(), starts_with=start.encode())
    write_whole(Path(output), (line.encode("utf-8", "replace") for line in written))
