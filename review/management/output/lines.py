"""Lines for people: selections, problems of files, counts and findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from review.documents.problems import ProblemJson
from review.domain.problems import Problem
from review.findings.documents import QueueFindingJson
from review.selection.select import Selection
from review.vocabulary import DispositionState, Staleness


def text_lines(selection: Selection) -> Iterator[str]:
    """Note paths with their stale gates below; then the diffs, if requested."""
    note_path = ""
    for target in selection.targets():
        if target.note_path != note_path:
            note_path = target.note_path
            yield note_path
        change = " trivial" if target.change is not None and target.change.trivial else ""
        yield f"  - {target.gate_id} ({target.reason}{change})"
    for diff in selection.diffs():
        yield from ("", f"{diff.path}: {diff.accepted_sha256[:12]} became {diff.sha256}")
        yield from diff.words.splitlines()


def summary_line(counts: Mapping[str, int]) -> str:
    stale = sum(counts[reason.value] for reason in Staleness)
    return f"{stale} stale, {counts['fresh']} fresh, {counts['in-flight']} in open jobs"


_LEFT_OUT = {
    "not-named": "notes left out by --note",
    "not-current": "notes left out by --current",
    "has-rule": "gates left out by --skip-rules",
    "has-no-rule": "gates left out: they name no rule",
    "other-reason": "pairs left out by --reason",
    "trivial": "pairs left out by --skip-trivial",
    "before-after": "pairs left out by --after",
    "over-limit": "pairs left out by --limit",
}


def left_out_lines(left_out: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each filter that left something out."""
    for why, number in left_out.items():
        if why in _LEFT_OUT:
            none = why == "not-current" and number == left_out.get("without-status")
            yield f"{number} {_LEFT_OUT[why]}{': none has a status' if none else ''}"


def problem_lines(problems: Iterable[Problem | ProblemJson]) -> Iterator[str]:
    """Yield a line for each problem; says whether the file was left out for it."""
    for problem in problems:
        left_out = " (left out)" if problem.skipped else ""
        yield f"{problem.path}: {problem.code}: {problem.message}{left_out}"


def counted(counts: Mapping[str, int], *, zeros: bool = True) -> str:
    return ", ".join(f"{word} {number}" for word, number in counts.items() if number or zeros)


def finding_state(finding: QueueFindingJson) -> str:
    """The finding's fingerprint, with what became of it."""
    state = "" if finding.status == DispositionState.OPEN else f", {finding.status}"
    return f"{finding.fingerprint}{state}{', regressed' if finding.regressed else ''}"


def one_line(text: str) -> str:
    return " ".join(text.split())
