"""A check as SARIF 2.1.0: gates are rules, findings are results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from review.check.documents import CheckFindingJson, Report
from review.domain.markdown.frontmatter import parse_frontmatter
from review.knowledge_base import Gate
from review.vocabulary import Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.INFO: "note"}
_LONGEST_HELP = 8_000


def sarif_lines(report: Report) -> Iterator[str]:
    """Yield the document in one line."""
    findings = report.document.findings
    named = {found.gate_id for found in findings}
    gates = [gate for gate in report.gates if gate.gate_id in named]
    places = {gate.gate_id: place for place, gate in enumerate(gates)}
    driver = {
        "name": "commonplace-review",
        "rules": [_rule(gate) for gate in gates],
        "notifications": [{"id": "stale"}, {"id": "problem"}],
    }
    notifications = [
        *(
            _notification("stale", "note", path, told, report)
            for path, told in report.stale_notes()
        ),
        *(
            _notification("problem", "warning", problem.path, problem.message, report)
            for problem in report.document.problems
        ),
    ]
    run = {
        "tool": {"driver": driver},
        "results": [_result(found, report, places) for found in findings],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    yield msgspec.json.encode(document).decode()


def _rule(gate: Gate) -> dict[str, Any]:
    body = gate.text[parse_frontmatter(gate.text).body_offset :].strip()
    text = body[:_LONGEST_HELP]
    return {
        "id": gate.gate_id,
        "shortDescription": {"text": gate.name},
        "fullDescription": {"text": gate.description or gate.name},
        "help": {"text": text, "markdown": text},
        "properties": {"tags": [gate.lens]},
    }


def _result(found: CheckFindingJson, report: Report, places: dict[str, int]) -> dict[str, Any]:
    # Code scanning refuses a result without a line.
    region: dict[str, Any] = {"startLine": found.line or 1}
    if found.line and found.quote:
        region["snippet"] = {"text": found.quote}
    place = {"artifactLocation": _artifact(found.note_path, report), "region": region}
    result: dict[str, Any] = {
        "ruleId": found.gate_id,
        "level": _LEVELS[Severity(found.severity)],
        "message": _message(found.text),
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"commonplaceFinding/v1": found.fingerprint},
        "properties": {"modelPartition": found.model_partition},
    }
    if found.gate_id in places:
        result["ruleIndex"] = places[found.gate_id]
    if found.new is not None:
        result["baselineState"] = "new" if found.new else "unchanged"
    return result


def _notification(name: str, level: str, path: str, text: str, report: Report) -> dict[str, Any]:
    return {
        "descriptor": {"id": name},
        "level": level,
        "message": _message(text),
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path, report)}}],
    }


def _artifact(path: str, report: Report) -> dict[str, str]:
    return {"uri": quote(report.prefix + path, safe="/"), "uriBaseId": "%SRCROOT%"}


def _message(text: str) -> dict[str, str]:
    """Return a message in which nothing reads as a placeholder or a link (3.11.5 and 3.11.6)."""
    braced = text.replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"([\\\[\]])", r"\\\1", braced) if "](" in text else braced}
