"""A check as Markdown for a job summary or a comment, in which no foreign text is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from review.check.documents import CheckFindingJson, Report
from review.domain.printing import printable_line

# A comment on GitHub holds 65,536 characters.
_MOST = 100
_LONGEST = 200


def markdown_lines(report: Report) -> Iterator[str]:
    """Yield a summary, and some of the findings, stale notes and problems."""
    yield from ("## Review check", "", _code(report.summary()), "")
    sections = {
        "Findings": [_finding(found) for found in report.by_gravity()],
        "Stale": [f"{_code(path)}: {told}" for path, told in report.stale_notes()],
        "Problems": [
            f"{_code(problem.path)}: {_code(problem.message)}"
            for problem in report.document.problems
        ],
    }
    for title, items in sections.items():
        if items:
            yield from (f"### {title}", "", *(f"- {item}" for item in items[:_MOST]))
            yield from ([f"- and {len(items) - _MOST} more"] if len(items) > _MOST else [])
            yield ""


def _finding(found: CheckFindingJson) -> str:
    place = f"{found.note_path}:{found.line}" if found.line else found.note_path
    new = " (new)" if found.new else ""
    return f"**{found.severity}**{new} {_code(place)} {_code(found.gate_id)}: {_code(found.text)}"


def _code(text: str) -> str:
    """Return a code span: neither markup, mention, reference nor address works in one."""
    line = " ".join(printable_line(text).split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line or ' '}`"
