"""What a sweep works in, and who watches it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from review.conf import Config
from review.orchestration.sweep_request import SweepEvent
from review.orchestration.sweep_tally import Tally
from review.runners.process_table import Processes


class Watcher(Protocol):
    """Whoever watches a sweep."""

    def tell(self, event: SweepEvent, tally: Tally) -> None:
        """Hear what happened, with the numbers after it; called in the sweep's own thread."""


@dataclass(frozen=True)
class Surroundings:
    """What a sweep works in.

    :param actor: the name on what it makes and claims.
    :param stop: ends the sweep when it is set: no new job, and the children of running ones ended.
    :param clock: read when something happens: sweeps take hours.
    """

    config: Config
    processes: Processes
    watcher: Watcher
    actor: str
    stop: threading.Event
    clock: Callable[[], datetime]
