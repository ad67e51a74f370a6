"""Prints what reviews cost, for people."""

from __future__ import annotations

from collections.abc import Iterator

from review.contracts.costs import CostJson, CostsJson

_HEADINGS = ("costs", "jobs", "pairs", "usd", "input tokens", "output tokens", "seconds")


def cost_lines(costs: CostsJson | None) -> Iterator[str]:
    """One table; a number that no job told is a dash, and one that not all told has a plus."""
    if costs is None:
        return
    rows = [_HEADINGS, _cells("in all", costs.total)]
    for kind, entries in (
        ("gate", costs.gates),
        ("lens", costs.lenses),
        ("partition", costs.partitions),
        ("runner", costs.runners),
    ):
        rows += [_cells(f"{kind} {entry.name}", entry) for entry in entries]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    yield ""
    for name, *numbers in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join((name.ljust(widths[0]), *cells))
    if costs.total.jobs_without_cost:
        yield f"jobs that did not say what they cost: {costs.total.jobs_without_cost}"


def _cells(name: str, entry: CostJson) -> tuple[str, ...]:
    part = "+" if entry.cost_usd is not None and entry.jobs_without_cost else ""
    tokens = (entry.input_tokens, entry.output_tokens)
    return (
        name,
        str(entry.jobs),
        str(entry.pairs),
        "-" if entry.cost_usd is None else f"{entry.cost_usd:.2f}{part}",
        *("-" if number is None else str(number) for number in tokens),
        "-" if entry.seconds is None else f"{entry.seconds:.0f}",
    )
