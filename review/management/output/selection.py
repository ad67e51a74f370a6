"""Prints a selection: one streamed JSON document, or lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from review.documents.problems import problem_json
from review.management.kit.json_stream import encode_filled
from review.selection.documents import SelectionJson
from review.selection.select import Selection
from review.vocabulary import Staleness

_CHUNK = 500


def json_chunks(selection: Selection) -> Iterator[str]:
    """The document of `review_target_selector --json`, in pieces of a few hundred targets."""
    frame = SelectionJson(
        mode=selection.request.mode,
        model_partition=selection.request.model_partition,
        targets=[],
        diffs=[],
        counts=dict(selection.counts),
        problems=[problem_json(problem) for problem in selection.problems],
        renames=selection.renames(),
    )
    return encode_filled(frame, selection.targets(), selection.diffs(), at_once=_CHUNK)


def text_lines(selection: Selection) -> Iterator[str]:
    """Note paths with their stale gates below; then the diffs, where they were asked for."""
    note_path = ""
    for target in selection.targets():
        if target.note_path != note_path:
            note_path = target.note_path
            yield note_path
        change = " trivial" if target.change is not None and target.change.trivial else ""
        yield f"  - {target.gate_id} ({target.reason}{change})"
    for diff in selection.diffs():
        yield from ("", *diff.diff.splitlines())


def summary_line(selection: Selection) -> str:
    """Count what is stale and what is fresh."""
    counts = selection.counts
    stale = sum(counts[reason.value] for reason in Staleness)
    return f"{stale} stale, {counts['fresh']} fresh, {counts['in-flight']} in open jobs"
