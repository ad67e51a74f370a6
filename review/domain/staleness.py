"""Says why a pair is stale, by comparing what is there with what was accepted."""

from __future__ import annotations

from dataclasses import dataclass

from review.vocabulary import Staleness


@dataclass(frozen=True, slots=True)
class Digests:
    """What stands for the two texts of a pair: hashes or snapshot ids, compared for equality only."""

    note: object
    gate: object


def staleness_reasons(*, current: Digests, accepted: Digests | None) -> tuple[Staleness, ...]:
    """Give every reason that holds, in the order of precedence; `()` is fresh."""
    if accepted is None:
        return (Staleness.MISSING_REVIEW,)
    reasons = []
    if accepted.gate != current.gate:
        reasons.append(Staleness.GATE_CHANGED)
    if accepted.note != current.note:
        reasons.append(Staleness.NOTE_CHANGED)
    return tuple(reasons)
