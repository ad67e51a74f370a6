"""Answers that take a while: given at once from memory, with their age, and made again meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from review import conf
from review.web.behind import behind_an_answer

T = TypeVar("T")

# Seconds. What takes no longer is made anew for every request, and is never old.
AT_ONCE = 0.06
# Seconds, and shares of an answer's cost, after which it is made again when somebody asks.
_KEEP = 10.0
_KEEP_COSTS = 20


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What was found, and when it was looked for."""

    value: T
    at: datetime


@dataclass
class _Kept(Generic[T]):
    answer: Answer[T]
    cost: float
    made: float  # on the monotonic clock, in seconds
    renewing: bool = False


def this_store() -> Hashable:
    """What is asked of the configured store is remembered under this."""
    config = conf.current()
    return (config.root, config.database)


class Remembered(Generic[T]):
    """The last answer to each of a few questions; safe for the threads of one process."""

    def __init__(self, find: Callable[[datetime], T]) -> None:
        """Take the function that finds the answer at a moment."""
        self._find = find
        self._kept: dict[Hashable, _Kept[T]] = {}
        self._firsts: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def knows(self, question: Hashable) -> bool:
        """Whether there is an answer, new or old."""
        with self._lock:
            return question in self._kept

    def ask(self, question: Hashable, *, now: datetime) -> Answer[T]:
        """The answer: a new one if that is quick (or the first), else the last, renewed behind."""
        known = self._known(question, now)
        if known is not None:
            return known
        first: AbstractContextManager[object]
        with self._lock:
            if question in self._kept:
                first = nullcontext()
            else:
                first = self._firsts.setdefault(question, threading.Lock())
        # Who comes while the first answer is made waits for it, and makes none of his own.
        with first:
            return self._known(question, now) or self._make(question, now)

    def _known(self, question: Hashable, now: datetime) -> Answer[T] | None:
        """The last answer, if it took a while to make; renewed behind when it is old."""
        with self._lock:
            kept = self._kept.get(question)
            if kept is None or kept.cost <= AT_ONCE:
                return None
            if self._is_old(kept) and not kept.renewing:
                kept.renewing = True
                self._renew_behind(question, now)
            return kept.answer

    def _make(self, question: Hashable, now: datetime) -> Answer[T]:
        started = time.monotonic()
        answer = Answer(self._find(now), now)
        ended = time.monotonic()
        with self._lock:
            self._kept[question] = _Kept(answer, cost=ended - started, made=ended)
        return answer

    def _renew_behind(self, question: Hashable, now: datetime) -> None:
        threading.Thread(target=self._renew, args=(question, now), daemon=True).start()

    def _renew(self, question: Hashable, now: datetime) -> None:
        try:
            with behind_an_answer():
                self._make(question, now)
        finally:
            with self._lock:
                if question in self._kept:
                    self._kept[question].renewing = False

    @staticmethod
    def _is_old(kept: _Kept[T]) -> bool:
        return time.monotonic() - kept.made > max(_KEEP, _KEEP_COSTS * kept.cost)
