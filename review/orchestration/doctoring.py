"""Checks store, job files and surroundings one by one; one that fails does not hide the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from django.db import DatabaseError

from review import conf, store
from review.conf import Config
from review.errors import ReviewError, TryAgain
from review.models import ReviewStore
from review.orchestration.invariant_checks import check_invariants
from review.orchestration.job_file_checks import check_folders, check_prompts, check_result_files
from review.orchestration.machine_checks import (
    check_bytecode,
    check_file_index,
    check_notes,
    check_some_notes,
)
from review.orchestration.pruning import Pruning, prune_job_files
from review.orchestration.rebuilding import check_queue, rebuild_acceptances
from review.orchestration.review_text_checks import check_review_texts
from review.orchestration.store_opening import open_store
from review.queries.checks import Check, CheckState
from review.queries.quick_checks import check_jobs, check_write_lock
from review.queries.store_checks import (
    check_acceptances,
    check_integrity,
    check_pairs,
    check_snapshots,
)
from review.store.interrupting import interruptible

_Checking: TypeAlias = Callable[[], Iterable[Check]]
_LEFT_OUT = Check(
    "left-out",
    CheckState.OK,
    "a quick look; what it did not look at is looked at without --quick, or with --check",
    (
        "without --quick: pages and references of the store, its pairs, texts and current acceptances",
        "without --quick: prompts, files and folders of jobs, and all notes but the sample",
        "with --check: the invariants, and reviews beside what is kept of them",
    ),
)


@dataclass(frozen=True)
class Examination:
    """What is looked at, and what is done about it.

    :param thorough: ask the database for every invariant, too.
    :param repair: make again what the store can tell.
    :param quick_at: only a quick look, at this moment: what costs the same at any size.
    """

    thorough: bool = False
    repair: bool = False
    quick_at: datetime | None = None
    pruning: Pruning | None = None

    @property
    def writes(self) -> bool:
        """Whether it may change anything."""
        return self.repair or (self.pruning is not None and self.pruning.remove)


def examine(wanted: Examination) -> Iterator[Check]:
    """Every check in turn, as it is done. A store that is not there is never made."""
    yield check_bytecode()
    try:
        config = conf.current()
    except ReviewError as refusal:
        yield _refused("configuration", refusal)
        return
    yield Check("configuration", CheckState.OK, f"root {config.root}, store {_shown(config)}")
    opened = _opened(write=wanted.writes)
    yield opened
    if opened.state is CheckState.OK:
        with interruptible():
            yield from _look_at_store(config, wanted)
    else:
        yield Check("store-content", CheckState.SKIPPED, "the store cannot be used")
    if wanted.quick_at is not None:
        yield from check_some_notes(config)
        yield _LEFT_OUT
        return
    yield check_notes(config)
    yield check_file_index(config, repair=wanted.repair)


def _opened(*, write: bool) -> Check:
    try:
        open_store(write=write, make=False)
        return Check("store", CheckState.OK, _identity())
    except ReviewError as refusal:
        return _refused("store", refusal)
    except DatabaseError as error:
        known = store.refusal_of(error)
        return _failed("store", error) if known is None else _refused("store", known)


def _look_at_store(config: Config, wanted: Examination) -> Iterator[Check]:
    """Check after check. When somebody writes, or the server is away, the rest is left: that says
    nothing about the store, and each would wait as long."""
    for name, checks in _checks_of_store(config, wanted):
        try:
            yield from checks()
        except DatabaseError as error:
            known = store.refusal_of(error)
            if isinstance(known, TryAgain):
                yield replace(_refused(name, known), state=CheckState.SKIPPED)
                return
            yield _failed(name, error)


def _checks_of_store(config: Config, wanted: Examination) -> Iterator[tuple[str, _Checking]]:
    moment = wanted.quick_at
    if moment is not None:
        yield "write-lock", lambda: [check_write_lock()]
        yield "jobs", lambda: [check_jobs(older_than=config.abandoned_after, now=moment)]
        return
    yield "integrity", lambda: [check_integrity()]
    if not wanted.thorough:
        yield "pairs", lambda: [check_pairs()]
        yield "snapshots", lambda: [check_snapshots()]
    yield "current-acceptances", lambda: [_acceptances(repair=wanted.repair)]
    yield "queue", lambda: [check_queue(repair=wanted.repair)]
    if wanted.thorough:
        yield "invariants", check_invariants
        yield "review-texts", lambda: [check_review_texts(config)]
    yield "prompts", lambda: [check_prompts(config, repair=wanted.repair)]
    yield "job-files", lambda: [check_result_files(config, repair=wanted.repair)]
    yield "job-folders", lambda: [check_folders(config)]
    pruning = wanted.pruning
    if pruning is not None:
        yield "prunable", lambda: [prune_job_files(config, pruning)]


def _acceptances(*, repair: bool) -> Check:
    found = check_acceptances()
    if not repair or found.state is CheckState.OK:
        return found
    rebuilt = rebuild_acceptances()
    return Check(
        found.name, CheckState.REPAIRED, f"{rebuilt} were made again from the events", found.details
    )


def _refused(name: str, refusal: ReviewError) -> Check:
    hint = (refusal.hint,) if refusal.hint else ()
    again = isinstance(refusal, TryAgain)
    return Check(name, CheckState.PROBLEM, refusal.message, hint, again=again)


def _failed(name: str, error: DatabaseError) -> Check:
    return Check(name, CheckState.PROBLEM, f"the database failed: {error}")


def _identity() -> str:
    row = ReviewStore.objects.get(pk=1)
    return f"of this version, id {row.store_id}"


def _shown(config: Config) -> str:
    # A URL may hold a password.
    return config.database if config.uses_sqlite else "on a server"
