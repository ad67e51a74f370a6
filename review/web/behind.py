"""Work that goes on after an answer: what passes by itself is a line in the log, and no dead thread."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connections

from review.errors import ReviewError
from review.store import refusal_of

_log = logging.getLogger(__name__)


@contextmanager
def behind_an_answer() -> Iterator[None]:
    """Around all that a thread of ours does; its connections are closed afterwards.

    A store that is busy or away is said and left at that: whoever asks next begins again.
    """
    try:
        yield
    except (ReviewError, DatabaseError) as error:
        if isinstance(error, DatabaseError) and refusal_of(error) is None:
            raise
        _log.warning("left undone for now: %s", error)
    finally:
        connections.close_all()
