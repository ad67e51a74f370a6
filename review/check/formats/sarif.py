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


def sarif_lines(report: Report) -> Iterator[str]:
    """Yield the document in one line; stale pairs are no results and are left out."""
    findings = report.document.findings
    named = {found.gate_id for found in findings}
    rules = [_rule(gate) for gate in report.gates if gate.gate_id in named]
    run = {
        "tool": {"driver": {"name": "commonplace-review", "rules": rules}},
        "results": [_result(found, report.prefix) for found in findings],
    }
    yield msgspec.json.encode({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}).decode()


def _rule(gate: Gate) -> dict[str, Any]:
    text = gate.text[parse_frontmatter(gate.text).body_offset :].strip()
    return {
        "id": gate.gate_id,
        "shortDescription": {"text": gate.name},
        "fullDescription": {"text": gate.description or gate.name},
        "help": {"text": text, "markdown": text},
        "properties": {"tags": [gate.lens]},
    }


def _result(found: CheckFindingJson, prefix: str) -> dict[str, Any]:
    # Code scanning refuses a result without a line.
    region: dict[str, Any] = {"startLine": found.line or 1}
    if found.line and found.quote:
        region["snippet"] = {"text": found.quote}
    artifact = {"uri": quote(prefix + found.note_path, safe="/"), "uriBaseId": "%SRCROOT%"}
    result: dict[str, Any] = {
        "ruleId": found.gate_id,
        "level": _LEVELS[Severity(found.severity)],
        "message": _message(found.text),
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        "partialFingerprints": {"commonplaceFinding/v1": found.fingerprint},
        "properties": {"modelPartition": found.model_partition},
    }
    if found.new is not None:
        result["baselineState"] = "new" if found.new else "unchanged"
    return result


def _message(text: str) -> dict[str, str]:
    """Return a message in which nothing reads as a placeholder or a link (3.11.5 and 3.11.6)."""
    braced = text.replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"([\\\[\]])", r"\\\1", braced) if "](" in text else braced}
