"""Copies a store and kills itself at one step of it: `python -m tests.helpers.killed_copier FROM TO STEP`.

Steps are counted at everything that writes to the target: before a statement, after it, and after a
commit. Says how many steps there were when it was not killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from commonplace_site.loading import CLI_SETTINGS, load_apps


class Steps:
    """Counts, and kills this process at one of them."""

    def __init__(self, fatal: int) -> None:
        self._fatal = fatal
        self.taken = 0

    def step(self) -> None:
        """The next one."""
        if self.taken == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.taken += 1

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call` with a step before and after it."""

        def stepping(*args: Any, **kwargs: Any) -> Any:
            self.step()
            answer = call(*args, **kwargs)
            self.step()
            return answer

        return stepping

    def in_turn(self, opens: Callable[..., Any]) -> Callable[..., Any]:
        """A transaction with a step before and after its commit."""

        @contextmanager
        def stepping(*args: Any, **kwargs: Any) -> Iterator[None]:
            with opens(*args, **kwargs):
                yield
                self.step()
            self.step()

        return stepping


def main(source: str, target: str, fatal: int) -> None:
    """Copy, with small transactions, so that there are many steps."""
    load_apps(CLI_SETTINGS)
    from review.orchestration import copied_values, copy_filling, copying
    from review.store import raw_rows

    steps = Steps(fatal)
    setattr(copied_values, "_ROWS_AT_ONCE", 5)  # noqa: B010 - small pieces, many steps
    for place, name in (
        (raw_rows.SqliteRows, "insert"),
        (raw_rows.SqliteRows, "count_on_from"),
        (raw_rows.PostgresRows, "insert"),
        (raw_rows.PostgresRows, "count_on_from"),
        (copying, "delete"),
        (copy_filling, "delete"),
        (copying, "put_mark"),
        (copying, "take_mark_away"),
    ):
        setattr(place, name, steps.around(getattr(place, name)))
    setattr(copying, "while_marked", steps.in_turn(getattr(copying, "while_marked")))  # noqa: B009, B010
    request = copying.CopyRequest(source, "source", target, "target")
    copying.copy_store(request, tell=lambda *_told: None)
    sys.stdout.write(f"{steps.taken}\n")


def arguments(argv: Sequence[str]) -> tuple[str, str, int]:
    """From where, to where, and the step that kills."""
    source, target, fatal = argv
    return (source, target, int(fatal))


if __name__ == "__main__":
    main(*arguments(sys.argv[1:]))
