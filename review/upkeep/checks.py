"""Results of the checks of `review_doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MAX_DETAILS = 20


class CheckState(StrEnum):
    """`warning` is worth a look and no fault; `skipped` could not be checked.

    `repairable` is a file that differs from the store, which can write it again.
    """

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"
    REPAIRABLE = "repairable"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class CheckResult:
    """One named check; `details` name what is wrong, the first ones only.

    :param again: a retry may succeed: the store is busy, or its server does not answer.
    """

    name: str
    state: CheckState
    message: str
    details: tuple[str, ...] = ()
    again: bool = False


def check_faults(
    name: str,
    faults: Iterable[str],
    *,
    fine: str,
    wrong: str,
    state: CheckState = CheckState.PROBLEM,
) -> CheckResult:
    """Make the check of these faults: `fine` without any, else `wrong` with their number before it."""
    lines = list(faults)
    if not lines:
        return CheckResult(name, CheckState.OK, fine)
    more = [f"and {len(lines) - MAX_DETAILS} more"] if len(lines) > MAX_DETAILS else []
    return CheckResult(name, state, f"{len(lines)} {wrong}", (*lines[:MAX_DETAILS], *more))
