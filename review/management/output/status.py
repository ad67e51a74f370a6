"""Prints the status and the costs of the review, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from review.jobs.costs_documents import CostJson, CostsJson
from review.overview.documents import GateStatusJson, PartitionStatusJson, StatusJson

_HEADINGS = (
    "applicable", "fresh", "missing", "gate-changed", "note-changed", "pass", "warn", "fail",
)  # fmt: skip
_COST_HEADINGS = (
    "costs",
    "jobs",
    "pairs",
    "usd",
    "input tokens",
    "output tokens",
    "cached",
    "seconds",
)


def status_lines(status: StatusJson) -> Iterator[str]:
    """Summary lines, then a table of gates for each partition."""
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
    yield from _names(status)
    if status.tripped:
        yield f"tripped: {status.tripped}"
    for partition in filter(_has_gates, status.partitions):
        yield ""
        yield f"gates in {partition.model_partition}"
        rows = [("gate", *_HEADINGS), *map(_gate_cells, partition.gates)]
        yield from (f"  {line}" for line in _table(rows))


def _names(status: StatusJson) -> Iterator[str]:
    for skip in status.skips:
        yield f"skipped by the note: {skip.gate_id} on {skip.note_path}: {skip.reason}"
    for orphan in status.orphans:
        held = f"it has current acceptances: {orphan.acceptances}"
        yield f"orphan: {orphan.kind} {orphan.path} is gone; {held}"
    for rename in status.renames:
        yield rename.line


def _has_gates(partition: PartitionStatusJson) -> bool:
    return bool(partition.gates)


def _share(partition: PartitionStatusJson) -> str:
    share = f"{100 * partition.fresh // partition.applicable} %" if partition.applicable else "-"
    return (
        f"{partition.model_partition}: {partition.fresh} of {partition.applicable} pairs fresh"
        f" ({share}), in flight: {partition.in_flight}"
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join((name.ljust(widths[0]), *cells))


def _gate_cells(gate: GateStatusJson) -> tuple[str, ...]:
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


def cost_lines(costs: CostsJson | None) -> Iterator[str]:
    """One table; a number that no job told is a dash, and one that not all told has a plus."""
    if costs is None:
        return
    rows = [_COST_HEADINGS, _cost_cells("in all", costs.total)]
    for kind, entries in (
        ("gate", costs.gates),
        ("lens", costs.lenses),
        ("partition", costs.partitions),
        ("runner", costs.runners),
        ("day", costs.days),
        ("purpose", costs.purposes if len(costs.purposes) > 1 else []),
    ):
        rows += [_cost_cells(f"{kind} {entry.name}", entry) for entry in entries]
    yield ""
    yield from _table(rows)
    if costs.total.jobs_without_cost:
        yield f"jobs that did not say what they cost: {costs.total.jobs_without_cost}"


def _cost_cells(name: str, entry: CostJson) -> tuple[str, ...]:
    part = "+" if entry.cost_usd is not None and entry.jobs_without_cost else ""
    tokens = (entry.input_tokens, entry.output_tokens)
    return (
        name,
        str(entry.jobs),
        str(entry.pairs),
        "-" if entry.cost_usd is None else f"{entry.cost_usd:.2f}{part}",
        *("-" if number is None else str(number) for number in tokens),
        "-" if entry.cached_share is None else f"{entry.cached_share:.0%}",
        "-" if entry.seconds is None else f"{entry.seconds:.0f}",
    )
