"""The document of a check, `review-check/1`, and its formats: each is a function of the report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from review.documents.base import Document, Problems, grouped
from review.domain.markdown.frontmatter import parse_frontmatter
from review.domain.printing import count_words, printable, printable_line
from review.knowledge_base import Gate
from review.selection.documents import PairReasonJson
from review.vocabulary import GRAVITY, Severity


class _Level(NamedTuple):
    github: str
    rdf: str
    sarif: str


_LEVELS: dict[str, _Level] = {
    Severity.FAIL: _Level("error", "ERROR", "error"),
    Severity.WARN: _Level("warning", "WARNING", "warning"),
    Severity.INFO: _Level("notice", "INFO", "note"),
}
# A comment on GitHub holds 65,536 characters.
_MOST = 100
_LONGEST = 200
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML = re.compile("[\ufffe\uffff]")


def text_lines(report: Report) -> Iterator[str]:
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
            _LEVELS[found.severity].github,
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
            "severity": _LEVELS[found.severity].rdf,
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


def sarif_lines(report: Report) -> Iterator[str]:
    """Yield the document in one line; stale pairs are no results and are left out."""
    findings = report.document.findings
    named = {found.gate_id for found in findings}
    rules = [_rule(gate) for gate in report.gates if gate.gate_id in named]
    run = {
        "tool": {"driver": {"name": "commonplace-review", "rules": rules}},
        "results": [_result(found, report.prefix) for found in findings],
    }
    yield msgspec.json.encode(
        {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    ).decode()


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
        "level": _LEVELS[found.severity].sarif,
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


def junit_lines(report: Report) -> Iterator[str]:
    """Yield a suite a note, a case a pair: warnings and fails are failures, stale ones skipped."""
    of_pair = attrgetter("note_path", "gate_id")
    stale = {of_pair(pair): pair.reason for pair in report.document.stale}
    findings = grouped((of_pair(found), found) for found in report.by_gravity())
    suites = Element("testsuites", name="review_check")
    for note_path, pairs in groupby(report.pairs, key=itemgetter(0)):
        path = _xml(report.prefix + note_path)
        suite = SubElement(suites, "testsuite", name=path)
        for pair in pairs:
            names = {"classname": path, "name": _xml(pair[1]), "file": path, "time": "0"}
            case, of_case = SubElement(suite, "testcase", names), findings.get(pair, [])
            if of_case and of_case[0].severity != Severity.INFO:
                words = {"type": of_case[0].severity, "message": _xml(of_case[0].text)}
                SubElement(case, "failure", words).text = _xml("\n".join(map(_told, of_case)))
            elif pair in stale and not of_case:
                SubElement(case, "skipped", message=f"stale: {stale[pair]}")
    tags = {"tests": "testcase", "failures": "failure", "skipped": "skipped"}
    for element in (suites, *suites):
        counts = {name: str(sum(1 for _ in element.iter(tag))) for name, tag in tags.items()}
        element.attrib.update(counts | {"errors": "0", "time": "0"})
    indent(suites, space="")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield from tostring(suites, encoding="unicode").split("\n")


def _told(found: CheckFindingJson) -> str:
    where = f"line {found.line or '?'}: {found.severity}"
    return f"{where}: {found.text} [{found.fingerprint}]"


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", printable(text))


class CheckFindingJson(Document, kw_only=True):
    """An open finding; `line` is in today's note; `new` is null without a baseline."""

    note_path: str
    gate_id: str
    model_partition: str
    severity: str
    text: str
    quote: str
    line: int | None
    fingerprint: str
    new: bool | None = None


class NotesCheckJson(Document, kw_only=True, tag_field="schema", tag="review-check/1"):
    """The answer of `review_check`; `known` findings were hidden by `--new-only`."""

    merge_base: str | None = None
    notes: int
    gates: int
    pairs: int
    findings: list[CheckFindingJson]
    stale: list[PairReasonJson]
    known: int = 0
    problems: Problems
    notices: list[str]
    tripped: str | None = None


@dataclass(frozen=True)
class Report:
    """A check with all gates, the pairs (note path, gate id) looked at, and the root's prefix."""

    document: NotesCheckJson
    gates: tuple[Gate, ...]
    pairs: tuple[tuple[str, str], ...]
    prefix: str

    def by_gravity(self) -> list[CheckFindingJson]:
        findings = self.document.findings
        return sorted(findings, key=lambda found: (-GRAVITY[found.severity], not found.new))

    def stale_notes(self) -> Iterator[tuple[str, str]]:
        for note_path, pairs in groupby(self.document.stale, key=lambda pair: pair.note_path):
            reasons = sorted(Counter(pair.reason for pair in pairs).items())
            told = ", ".join(f"{number} {reason}" for reason, number in reasons)
            yield note_path, f"stale pairs: {told}"

    def summary(self) -> str:
        found = self.document
        counted = Counter(item.severity for item in found.findings)
        numbers = ", ".join(f"{counted[word]} {word}" for word in reversed(Severity.values))
        more = {
            "new,new": sum(bool(item.new) for item in found.findings),
            "known finding hidden,known findings hidden": found.known,
            "stale pair": len(found.stale),
            "problem": len(found.problems),
        }
        told = "".join(f", {count_words(n, noun)}" for noun, n in more.items() if n)
        tripped = f"; tripped: {found.tripped}" if found.tripped else ""
        looked = f"{count_words(found.notes, 'note')} by {count_words(found.gates, 'gate')}"
        return f"{looked}: {numbers}{told}{tripped}"
