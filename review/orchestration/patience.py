"""Retries of a step that was paid for, while the store is busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, connection

from review.errors import TryAgain
from review.store import refusal_of

T = TypeVar("T")

_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)


def retry_while_busy(step: Callable[[], T], *, stop: threading.Event) -> T:
    """The result of `step`, one transaction, which is retried while the store is busy.

    Setting `stop` ends the pauses, not the retries.

    :raises TryAgain: the store stayed busy for about half a minute of pauses, and the waits of the
        database itself.
    """
    for pause in _PAUSES:
        try:
            return step()
        except (DatabaseError, TryAgain) as error:
            _raise_unless_busy(error)
        stop.wait(pause)
    try:
        return step()
    except DatabaseError as error:
        raise _raise_unless_busy(error) from error


def _raise_unless_busy(error: DatabaseError | TryAgain) -> TryAgain:
    """The refusal that `error` means, if a retry can help; the next try makes a new connection.

    :raises DatabaseError: it means something else.
    """
    known = refusal_of(error) if isinstance(error, DatabaseError) else error
    if not isinstance(known, TryAgain):
        raise error
    if not connection.in_atomic_block:
        connection.close()
    return known
