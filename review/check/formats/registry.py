"""The formats of a check, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from review.check.documents import Report
from review.check.formats import junit, lines, markdown, sarif


class Format(NamedTuple):
    """Writes a check in lines; a file of the format is known by its start."""

    lines: Callable[[Report], Iterator[str]]
    starts_with: str
    is_json: bool = False


FORMATS: Mapping[str, Format] = {
    "text": Format(lines.text_lines, "checked "),
    "json": Format(lines.json_lines, '{"schema":"review-check/', is_json=True),
    "github": Format(lines.github_lines, "::notice title=review_check::"),
    "sarif": Format(sarif.sarif_lines, '{"$schema":"https://json.sch', is_json=True),
    "rdjsonl": Format(lines.rdjsonl_lines, '{"message":', is_json=True),
    "junit": Format(
        junit.junit_lines, '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="r'
    ),
    "markdown": Format(markdown.markdown_lines, "## Review check\n"),
}
