"""Prints where the whole review stands, for people."""

from __future__ import annotations

from collections.abc import Iterator

from review.contracts.status import GateStatusJson, PartitionStatusJson, StatusJson

_HEADINGS = (
    "applicable", "fresh", "missing", "gate-changed", "note-changed", "pass", "warn", "fail",
)  # fmt: skip


def status_lines(status: StatusJson) -> Iterator[str]:
    """What a person must know first; then a table of gates for each partition."""
    yield f"notes: {status.notes}, gates: {status.gates}"
    for partition in status.partitions:
        yield _share(partition)
    yield f"pairs that are fresh in no partition: {status.uncovered}"
    yield f"queue: {_counts(status.queue)}"
    if status.waiting_findings:
        yield f"findings that wait for a new review, since their gate changed: {status.waiting_findings}"
    yield f"needs a look: {status.needs_a_look}"
    yield f"jobs: {_counts(status.jobs)}"
    if status.abandoned_jobs:
        names = " ".join(map(str, status.abandoned_jobs))
        yield f"abandoned jobs: {names} (see: commonplace recover_review_jobs)"
    for orphan in status.orphans:
        yield f"orphan: {orphan.kind} {orphan.path} is gone; it has current acceptances: {orphan.acceptances}"
    if status.tripped:
        yield f"tripped: {status.tripped}"
    for partition in status.partitions:
        yield ""
        yield f"gates in {partition.model_partition}"
        yield from _table(partition)


def _share(partition: PartitionStatusJson) -> str:
    share = f"{100 * partition.fresh // partition.applicable} %" if partition.applicable else "-"
    return (
        f"{partition.model_partition}: {partition.fresh} of {partition.applicable} pairs fresh"
        f" ({share}), in flight: {partition.in_flight}"
    )


def _table(partition: PartitionStatusJson) -> Iterator[str]:
    rows = [("gate", *_HEADINGS), *(_cells(gate) for gate in partition.gates)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *numbers in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join((f"  {name.ljust(widths[0])}", *cells))


def _cells(gate: GateStatusJson) -> tuple[str, ...]:
    numbers = (
        gate.applicable,
        gate.fresh,
        gate.missing_review,
        gate.gate_changed,
        gate.note_changed,
        *gate.decisions.values(),
    )
    return (gate.gate_id, *map(str, numbers))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{word} {number}" for word, number in counts.items())
