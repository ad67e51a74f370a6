"""The one base of every refusal, and the exit codes a command answers with."""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """The exit statuses of commands (docs/commands.md)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOTHING_TO_DO = 3
    CONFLICT = 4
    INPUT_REJECTED = 5
    GATE_TRIPPED = 6
    TRY_AGAIN = 75
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class ReviewError(Exception):
    """A refusal in words an operator can act on; `code` is its own, else its class's in kebab case.

    A refusal has a class of its own where it is caught by it, or raised in many places.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED
    code: str = "review-error"

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            cls.code = "".join(
                f"-{char.lower()}" if char.isupper() else char for char in cls.__name__
            ).lstrip("-")

    def __init__(
        self, message: str, code: str = "", *, hint: str = "", label: str = "error"
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.label = message, hint, label
        self.code = code or self.code

    def document(self) -> dict[str, object]:
        """`error/1`."""
        return {
            "schema": "error/1",
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "exit": int(self.exit_code),
        }


class UsageRefused(ReviewError):
    """The command line does not make sense; nothing was read."""

    exit_code = ExitCode.USAGE
    code = "usage"


class Conflict(ReviewError):
    """The state changed, or belongs to another process; nothing was written."""

    exit_code = ExitCode.CONFLICT


class InputRejected(ReviewError):
    """The input cannot be accepted; nothing was written."""

    exit_code = ExitCode.INPUT_REJECTED


class StoreRefused(ReviewError):
    """The store is older, newer, foreign or corrupt."""

    exit_code = ExitCode.FAILED


class TryAgain(ReviewError):
    """The database is busy or cannot be reached now."""

    exit_code = ExitCode.TRY_AGAIN
