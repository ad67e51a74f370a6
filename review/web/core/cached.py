"""Answers that take a while to count: kept for a minute, or until the store changes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db.models import Subquery
from django.utils import timezone

from review import settings
from review.calibration.calibration import CalibrationJson, GroupRecordJson, read_calibration
from review.findings.states import LooksJson
from review.jobs.leases import Processes
from review.knowledge_base import Corpus
from review.models import DecisionEvent, Disposition, JobEvent, ReviewStore
from review.overview.trends import Trends, read_trends
from review.recovery.recover import RecoveryListJson, list_recoverable
from review.reviews.needs_a_look import read_looks
from review.reviews.pair_states import PairStates, read_pair_states

T = TypeVar("T")

KEPT_SECONDS = 60
# Seconds; what takes no longer is counted for every request.
QUICK = 0.06


@dataclass(frozen=True)
class Answer(Generic[T]):
    value: T
    at: datetime


def _revision() -> object:
    """Return a value that changes with any store data that the pages show."""
    logs = (JobEvent, Disposition, DecisionEvent)
    last = (Subquery(log._default_manager.order_by("-pk").values("pk")[:1]) for log in logs)
    return ReviewStore.objects.values_list("store_id", "acceptance_revision", *last).get(pk=1)


def keep_answer(
    key: str, find: Callable[[Corpus], T], revision_of: Callable[[], object] = _revision
) -> Answer[T]:
    """The kept answer to a question about the configured store and files, or a new one."""
    config = settings.current()
    name = f"{config.root} {config.database} {key}"
    place = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    revision = revision_of()
    kept: tuple[object, Answer[T]] | None = cache.get(place)
    if kept is not None and kept[0] == revision:
        return kept[1]
    started = time.monotonic()
    with Corpus(config) as corpus:
        answer = Answer(find(corpus), timezone.now())
    if time.monotonic() - started > QUICK:
        cache.set(place, (revision, answer), KEPT_SECONDS)
    return answer


def pair_states() -> Answer[PairStates]:
    return keep_answer("pair-states", read_pair_states)


def needs_a_look() -> Answer[LooksJson]:
    return keep_answer("needs-a-look", read_looks)


def calibration() -> CalibrationJson:
    """The track record of every gate, without what needs every review."""
    return keep_answer("calibration", read_calibration).value


def trends() -> tuple[Trends, list[GroupRecordJson]]:
    """The last weeks, and the record of each lens; up to a minute old."""
    return keep_answer(
        "trends", lambda _corpus: (read_trends(now=timezone.now()), calibration().lenses), bool
    ).value


def recoverable() -> RecoveryListJson:
    return keep_answer(
        "recoverable",
        lambda corpus: list_recoverable(
            older_than=corpus.config.abandoned_after,
            processes=Processes(),
            corpus=corpus,
            now=timezone.now(),
        ),
    ).value
