"""Formats of one line a finding: text, workflow commands of GitHub Actions, and rdjsonl."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from review.check.documents import Report
from review.domain.printing import printable_line
from review.vocabulary import Severity

_COMMANDS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.INFO: "notice"}
_RDF = {Severity.FAIL: "ERROR", Severity.WARN: "WARNING", Severity.INFO: "INFO"}


def text_lines(report: Report) -> Iterator[str]:
    """Yield a summary, and a line a finding, stale note and problem."""
    yield f"checked {report.summary()}"
    for found in report.document.findings:
        place = f"{found.note_path}:{found.line}" if found.line else found.note_path
        new = " (new)" if found.new else ""
        told = f"{found.severity}{new} {found.gate_id}: {found.text} [{found.fingerprint}]"
        yield printable_line(f"{place}: {told}")
    yield from (printable_line(f"{path}: {told}") for path, told in report.stale_notes())
    for problem in report.document.problems:
        yield printable_line(f"{problem.path}: {problem.code}: {problem.message}")


def github_lines(report: Report) -> Iterator[str]:
    """Yield the summary, since few annotations are shown, then findings, the gravest first."""
    yield _command("notice", report.summary(), title="review_check")
    for found in report.by_gravity():
        new = " (new)" if found.new else ""
        yield _command(
            _COMMANDS[Severity(found.severity)],
            found.text,
            file=report.prefix + found.note_path,
            line=str(found.line or 1),
            title=f"{found.gate_id}{new}",
        )
    for path, told in report.stale_notes():
        yield _command("notice", told, file=report.prefix + path, title="stale")
    for problem in report.document.problems:
        path = report.prefix + problem.path
        yield _command("warning", problem.message, file=path, title=problem.code)


def rdjsonl_lines(report: Report) -> Iterator[str]:
    """Yield a diagnostic a finding; stale pairs have no place in a file and are left out."""
    for found in report.document.findings:
        location: dict[str, object] = {"path": report.prefix + found.note_path}
        if found.line:
            location["range"] = {"start": {"line": found.line}}
        diagnostic = {
            "message": found.text,
            "location": location,
            "severity": _RDF[Severity(found.severity)],
            "source": {"name": "commonplace-review"},
            "code": {"value": found.gate_id},
        }
        yield msgspec.json.encode(diagnostic).decode()


def _command(name: str, message: str, **properties: str) -> str:
    told = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
    )
    return f"::{name} {told}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return printable_line(text).replace("%", "%25")
