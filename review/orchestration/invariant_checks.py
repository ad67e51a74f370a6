"""Shows the invariants that do not hold as checks of the doctor."""

from __future__ import annotations

from collections.abc import Iterator

from review.queries.checks import Check, CheckState
from review.queries.invariants import broken_invariants, invariant_names


def check_invariants() -> Iterator[Check]:
    """One check for each invariant that is broken, by its name; one for all when none is."""
    broken = broken_invariants()
    for item in broken:
        rows = "row breaks" if item.count == 1 else "rows break"
        yield Check(item.name, CheckState.PROBLEM, f"{item.count} {rows} it", (item.detail,))
    if not broken:
        number = len(invariant_names())
        yield Check(
            "invariants",
            CheckState.OK,
            f"all {number} hold; kept texts of notes and gates, and kept outputs, have their digests",
        )
