"""Formats of one line a finding: text, workflow commands of GitHub, rdjsonl and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from review.check.documents import CheckFindingJson, Report
from review.domain.printing import printable_line
from review.vocabulary import Severity

_COMMANDS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.INFO: "notice"}
_RDF = {Severity.FAIL: "ERROR", Severity.WARN: "WARNING", Severity.INFO: "INFO"}
# A comment on GitHub holds 65,536 characters.
_MOST = 100
_LONGEST = 200


def text_lines(report: Report) -> Iterator[str]:
    """Yield a summary, and a line a finding, stale note and problem."""
    yield f"checked {report.summary()}"
    for found in report.document.findings:
        told = f"{found.severity}{_new(found)} {found.gate_id}: {found.text} [{found.fingerprint}]"
        yield printable_line(f"{_place(found)}: {told}")
    yield from (printable_line(f"{path}: {told}") for path, told in report.stale_notes())
    for problem in report.document.problems:
        yield printable_line(f"{problem.path}: {problem.code}: {problem.message}")


def github_lines(report: Report) -> Iterator[str]:
    """Yield the summary, since few annotations are shown, then findings, the gravest first."""
    yield _command("notice", report.summary(), title="review_check")
    for found in report.by_gravity():
        yield _command(
            _COMMANDS[Severity(found.severity)],
            found.text,
            file=report.prefix + found.note_path,
            line=str(found.line or 1),
            title=f"{found.gate_id}{_new(found)}",
        )
    for path, told in report.stale_notes():
        yield _command("notice", told, file=report.prefix + path, title="stale")
    for problem in report.document.problems:
        path = report.prefix + problem.path
        yield _command("warning", problem.message, file=path, title=problem.code)


def rdjsonl_lines(report: Report) -> Iterator[str]:
    """Yield a diagnostic a finding; stale pairs have no place in a file and are left out."""
    for found in report.document.findings:
        place = {"range": {"start": {"line": found.line}}} if found.line else {}
        diagnostic = {
            "message": found.text,
            "location": {"path": report.prefix + found.note_path, **place},
            "severity": _RDF[Severity(found.severity)],
            "source": {"name": "commonplace-review"},
            "code": {"value": found.gate_id},
        }
        yield msgspec.json.encode(diagnostic).decode()


def markdown_lines(report: Report) -> Iterator[str]:
    """Yield a summary, and some findings, stale notes and problems; no foreign text is markup."""
    yield from ("## Review check", "", _code(report.summary()), "")
    sections = {
        "Findings": [
            f"**{found.severity}**{_new(found)} {_code(_place(found))} {_code(found.gate_id)}:"
            f" {_code(found.text)}"
            for found in report.by_gravity()
        ],
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


def _command(name: str, message: str, **properties: str) -> str:
    told = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
    )
    return f"::{name} {told}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return printable_line(text).replace("%", "%25")


def _place(found: CheckFindingJson) -> str:
    return f"{found.note_path}:{found.line}" if found.line else found.note_path


def _new(found: CheckFindingJson) -> str:
    return " (new)" if found.new else ""


def _code(text: str) -> str:
    """Return a code span: neither markup, mention, reference nor address works in one."""
    line = " ".join(printable_line(text).split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line or ' '}`"
