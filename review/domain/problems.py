"""One fault of one file, reported beside the result instead of ending the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from review.vocabulary import ProblemCode


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a file, left out for it if `skipped`; `message` gets `line N: ` in front."""

    path: str
    code: ProblemCode
    message: str
    skipped: bool
    line: int | None = None

    def __post_init__(self) -> None:
        prefix = f"line {self.line}: "
        if self.line is not None and not self.message.startswith(prefix):
            object.__setattr__(self, "message", prefix + self.message)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda found: (found.path, found.code, found.line or 0, found.message))
    )
