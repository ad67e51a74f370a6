"""Options that select and list, and lines for people: selections, findings, jobs, checks."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from review import settings
from review.check import formats
from review.documents.base import Key, count_by, cursor_of, encode, grouped, key_of
from review.domain.problems import Problem
from review.errors import ExitCode
from review.findings.states import QueueFindingJson
from review.job_files import write_whole
from review.jobs.job_documents import IngestedJobJson, RefusalJson
from review.management.kit import (
    OutputRefused,
    ReviewCommand,
    printable_json,
    refuse_to_overwrite,
    request_of,
)
from review.selection.select import Selection, SelectionRequest
from review.vocabulary import REQUESTED, STALE, DispositionState, JobStatus, Staleness


def text_lines(selection: Selection) -> Iterator[str]:
    """Note paths with their stale gates below; then the diffs, if requested."""
    for note_path, targets in groupby(selection.targets(), key=attrgetter("note_path")):
        yield note_path
        for target in targets:
            change = " trivial" if target.change is not None and target.change.trivial else ""
            yield f"  - {target.gate_id} ({target.reason}{change})"
    for diff in selection.diffs():
        yield from ("", f"{diff.path}: {diff.accepted_sha256[:12]} became {diff.sha256}")
        yield from diff.words.splitlines()


def summary_line(counts: Mapping[str, int]) -> str:
    stale = sum(counts[reason.value] for reason in Staleness)
    return f"{stale} stale, {counts['fresh']} fresh, {counts['in-flight']} in open jobs"


_PROBLEMS_SHOWN = 5


def problem_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """One line for each problem; of one code the first few, and the number of the others."""
    for code, found in grouped((str(problem.code), problem) for problem in problems).items():
        for problem in found[:_PROBLEMS_SHOWN]:
            left_out = " (left out)" if problem.skipped else ""
            yield f"{problem.path}: {code}: {problem.message}{left_out}"
        if (more := len(found) - _PROBLEMS_SHOWN) > 0:
            yield f"{code}: {more} more, all in: commonplace review_status --summary --json"


def counted(counts: Mapping[str, int], *, zeros: bool = True) -> str:
    return ", ".join(f"{word} {number}" for word, number in counts.items() if number or zeros)


def finding_state(finding: QueueFindingJson) -> str:
    state = "" if finding.status == DispositionState.OPEN else f", {finding.status}"
    return f"{finding.fingerprint}{state}{', regressed' if finding.regressed else ''}"


def one_line(text: str) -> str:
    return " ".join(text.split())


# Each with the start by which a file of it is known.
FORMATS: Mapping[str, tuple[Callable[[formats.Report], Iterator[str]], str]] = {
    "text": (formats.text_lines, "checked "),
    "json": (lambda report: iter([encode(report.document)]), '{"schema":"review-check/'),
    "github": (formats.github_lines, "::notice title=review_check::"),
    "sarif": (formats.sarif_lines, '{"$schema":"https://json.sch'),
    "rdjsonl": (formats.rdjsonl_lines, '{"message":'),
    "junit": (formats.junit_lines, '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="r'),
    "markdown": (formats.markdown_lines, "## Review check\n"),
}


def write_report(
    command: ReviewCommand, report: formats.Report, *, shape: str, output: str = "-"
) -> None:
    """Write a report to standard output for `-`, or to a file that is new or this command's."""
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


def job_lines(
    jobs: Iterable[IngestedJobJson], refused: Iterable[RefusalJson] = ()
) -> Iterator[str]:
    for job in jobs:
        why = f" ({job.failure_code}: {job.failure_reason})" if job.failure_code else ""
        yield f"job {job.review_job_id}: {job.status}{why}"
        for pair in job.pairs:
            held = pair.not_accepted_because
            note = f" (not accepted: {held})" if held else ""
            yield f"  {pair.note_path} {pair.gate_id}: {pair.decision or pair.pair_status}{note}"
        yield from (f"  problem: {problem}" for problem in job.problems)
    yield from (f"job {it.review_job_id}: refused: {it.message}" for it in refused)


def exit_code(jobs: Sequence[IngestedJobJson], refused: Sequence[RefusalJson]) -> ExitCode:
    """1 when a job ended failed, else that of the first refusal, else 0."""
    if any(job.status == JobStatus.FAILED for job in jobs):
        return ExitCode.FAILED
    return ExitCode(refused[0].exit) if refused else ExitCode.DONE


T = TypeVar("T")
_COUNTS_SHOWN = 12


def part_of(
    items: Iterable[T], options: Mapping[str, Any], key: Callable[[T], Key]
) -> tuple[list[T], str | None]:
    """Return the part of a sorted listing that the options select, none if they want counts.

    With it the cursor of the part behind it; None at the end.
    """
    start, limit = key_of(options["after"]) if options["after"] else (), options["limit"]
    behind = (item for item in items if not _is_before(key(item), start))
    part = [] if options["summary"] else list(islice(behind, limit))
    is_cut = len(part) == limit and next(behind, None) is not None
    return part, cursor_of(key(part[-1])) if is_cut else None


def _is_before(key: Key, start: Key) -> bool:
    """Compare in the order of the listing; nothing follows the cursor of another listing."""
    try:
        return key <= start
    except TypeError:
        return True


def cut(
    document: Any, name: str, options: Mapping[str, Any], key: Callable[[Any], Key], **words: str
) -> None:
    """Reduce the document's list to what the options select."""
    items = getattr(document, name)
    document.summary = count_by(items, **words) if options["summary"] else {}
    part, document.next = part_of(items, options, key)
    setattr(document, name, part)


def tail_lines(document: Any) -> Iterator[str]:
    """One line for each kind of count, the most frequent first; and how to go on."""
    for name, counts in document.summary.items():
        shown = ", ".join(
            f"{word} {number}" for word, number in islice(counts.items(), _COUNTS_SHOWN)
        )
        more = len(counts) - _COUNTS_SHOWN
        yield f"by {name}: {shown or 'none'}{f', and {more} more' if more > 0 else ''}"
    if document.next:
        yield f"more: --after {shlex.quote(document.next)}"


def selection_request(options: dict[str, Any], **more: Any) -> SelectionRequest:
    """Return the options' selection, in the partition that `--model` names unless `more` does."""
    mode = REQUESTED if options.get("repeat") else options.get("mode", STALE)
    more = {"model_partition": options["model"], "mode": mode} | more
    return request_of(SelectionRequest, options, **more)
