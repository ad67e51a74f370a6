"""`review-doctor/1`; apart from the queries, of which a command that starts has no need."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from review.documents.base import Document
from review.store.backup import BackupJson

MAX_DETAILS = 20


class CheckState(StrEnum):
    """`repairable` is a file that the store can write again; `skipped` could not be checked."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"
    REPAIRABLE = "repairable"
    SKIPPED = "skipped"


class CheckResult(Document):
    """One named check; `details` name what is wrong, the first ones only."""

    name: str
    state: CheckState
    message: str
    details: tuple[str, ...] = ()


class BusyCheck(CheckResult):
    """A check that a retry may do: the store is busy, or its server does not answer."""


class DoctorJson(Document, kw_only=True, tag_field="schema", tag="review-doctor/1"):
    """The answer of `review_doctor`; `problems` counts the checks that found what remains."""

    checks: list[CheckResult]
    problems: int


class DoctorBackupJson(DoctorJson, kw_only=True):
    """The answer of `review_doctor --backup`."""

    backup: BackupJson


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
