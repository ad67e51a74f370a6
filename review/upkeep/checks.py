"""The result of one check of the doctor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from enum import StrEnum

MAX_DETAILS = 20


class CheckState(StrEnum):
    """`warning` is worth a look and no fault; `skipped` could not be looked at.

    `repairable` is a file that differs from the store, which can write it again.
    """

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    REPAIRED = "repaired"
    REPAIRABLE = "repairable"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """One named check; `details` name what is wrong, the first ones only.

    :param again: another try may find otherwise: the store is busy, or its server away.
    """

    name: str
    state: CheckState
    message: str
    details: tuple[str, ...] = ()
    again: bool = False


@dataclass
class Faults:
    """Counts what is wrong and keeps the first few by name, however many there are."""

    lines: InitVar[Iterable[str]] = ()
    number: int = 0
    details: list[str] = field(default_factory=list)

    def __post_init__(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.add(line)

    def add(self, *lines: str) -> None:
        self.number += len(lines)
        self.details += lines[: MAX_DETAILS - len(self.details)]

    def check(
        self, name: str, *, fine: str, wrong: str, state: CheckState = CheckState.PROBLEM
    ) -> Check:
        """`fine` without faults, else `wrong` with their number before it."""
        if not self.number:
            return Check(name, CheckState.OK, fine)
        more = self.number - len(self.details)
        details = (*self.details, f"and {more} more") if more else tuple(self.details)
        return Check(name, state, f"{self.number} {wrong}", details)
