"""A check as JUnit XML: a suite a note, a case a pair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from review.check.documents import CheckFindingJson, Report
from review.domain.printing import printable
from review.vocabulary import Severity

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="review_check"'
_NO_XML = re.compile("[\ufffe\uffff]")
_FAILURE, _SKIPPED = "<failure", "<skipped"


def junit_lines(report: Report) -> Iterator[str]:
    """Yield the document; a pair with a warning or fail is a failure, a stale one is skipped."""
    outcomes: dict[tuple[str, str], str] = {}
    for stale in report.document.stale:
        told = _attribute(f"stale: {stale.reason}")
        outcomes[stale.note_path, stale.gate_id] = f"{_SKIPPED} message={told}/>"
    found = sorted(report.by_gravity(), key=lambda item: (item.note_path, item.gate_id))
    for pair, group in groupby(found, key=lambda item: (item.note_path, item.gate_id)):
        outcomes[pair] = _failure(list(group))
    yield _HEAD + _counts([outcomes.get(pair, "") for pair in report.pairs])
    for note_path, pairs in groupby(report.pairs, key=lambda pair: pair[0]):
        path = _attribute(report.prefix + note_path)
        cases = [(gate_id, outcomes.get((note_path, gate_id), "")) for _note, gate_id in pairs]
        yield f"<testsuite name={path}{_counts([outcome for _gate, outcome in cases])}"
        for gate_id, outcome in cases:
            names = f'classname={path} name={_attribute(gate_id)} file={path} time="0"'
            yield f"<testcase {names}>{outcome}</testcase>"
        yield "</testsuite>"
    yield "</testsuites>"


def _failure(found: Sequence[CheckFindingJson]) -> str:
    """Return the outcome of a pair with findings, the gravest first; several are one failure."""
    told = "\n".join(
        f"line {item.line or '?'}: {item.severity}: {item.text} [{item.fingerprint}]"
        for item in found
    )
    first = found[0]
    if first.severity == Severity.INFO:
        return ""
    names = f"type={_attribute(first.severity)} message={_attribute(first.text)}"
    return f"{_FAILURE} {names}>{_text(told)}</failure>"


def _counts(outcomes: Sequence[str]) -> str:
    failed = sum(outcome.startswith(_FAILURE) for outcome in outcomes)
    skipped = sum(outcome.startswith(_SKIPPED) for outcome in outcomes)
    numbers = f'tests="{len(outcomes)}" failures="{failed}" errors="0" skipped="{skipped}"'
    return f' {numbers} time="0">'


def _text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", printable(text)), quote=False)


def _attribute(text: str) -> str:
    value = escape(_NO_XML.sub("\ufffd", printable(text)))
    return '"' + value.replace("\n", "&#10;").replace("\t", "&#9;") + '"'
