"""Checks store, job files and surroundings one by one; one that fails does not hide the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from django.db import DatabaseError

from review import settings, store
from review.errors import ReviewError, TryAgain
from review.models import ReviewStore
from review.settings.config import Config
from review.store.interrupt import interruptible
from review.upkeep.checks import Check, CheckState
from review.upkeep.environment_checks import check_bytecode, check_file_index, check_notes
from review.upkeep.invariants import broken_invariants, invariant_names
from review.upkeep.job_files_checks import check_folders, check_prompts, check_result_files
from review.upkeep.open_store import open_store
from review.upkeep.prune import Pruning, prune_job_files
from review.upkeep.repair import check_queue, rebuild_acceptances
from review.upkeep.review_texts_checks import check_review_texts
from review.upkeep.store_checks import (
    check_acceptances,
    check_integrity,
    check_pairs,
    check_snapshots,
)

_Checking: TypeAlias = Callable[[], Iterable[Check]]


@dataclass(frozen=True)
class Examination:
    """What is looked at, and what is done about it.

    :param thorough: ask the database for every invariant, too.
    :param repair: make again what the store can tell.
    :param quick: leave out the content of the store, the files of jobs and the file index.
    """

    thorough: bool = False
    repair: bool = False
    quick: bool = False
    pruning: Pruning | None = None

    @property
    def writes(self) -> bool:
        return self.repair or (self.pruning is not None and self.pruning.remove)


def examine(wanted: Examination) -> Iterator[Check]:
    """Every check in turn, as it is done. A store that is not there is never made."""
    yield check_bytecode()
    try:
        config = settings.current()
    except ReviewError as refusal:
        yield _failed("configuration", refusal)
        return
    # A URL may hold a password.
    place = config.database if config.uses_sqlite else "on a server"
    yield Check("configuration", CheckState.OK, f"root {config.root}, store {place}")
    opened = _open(write=wanted.writes)
    yield opened
    if opened.state is not CheckState.OK:
        yield Check("store-content", CheckState.SKIPPED, "the store cannot be used")
    elif not wanted.quick:
        with interruptible():
            yield from _look_at_store(config, wanted)
    yield check_notes(config)
    if not wanted.quick:
        yield check_file_index(config, repair=wanted.repair)


def _open(*, write: bool) -> Check:
    try:
        open_store(write=write, make=False)
        store_id = ReviewStore.objects.identity()
    except (ReviewError, DatabaseError) as error:
        return _failed("store", error)
    return Check("store", CheckState.OK, f"of this version, id {store_id}")


def _look_at_store(config: Config, wanted: Examination) -> Iterator[Check]:
    """Check after check. When somebody writes, or the server is away, the rest is left: that says
    nothing about the store, and each would wait as long."""
    for name, checks in _checks_of_store(config, wanted):
        try:
            yield from checks()
        except DatabaseError as error:
            check = _failed(name, error)
            if check.again:
                yield replace(check, state=CheckState.SKIPPED)
                return
            yield check


def _checks_of_store(config: Config, wanted: Examination) -> Iterator[tuple[str, _Checking]]:
    yield "integrity", lambda: [check_integrity()]
    if not wanted.thorough:
        yield "pairs", lambda: [check_pairs()]
        yield "snapshots", lambda: [check_snapshots()]
    yield "current-acceptances", lambda: [_check_acceptances(repair=wanted.repair)]
    yield "queue", lambda: [check_queue(repair=wanted.repair)]
    if wanted.thorough:
        yield "invariants", _check_invariants
        yield "review-texts", lambda: [check_review_texts(config)]
    yield "prompts", lambda: [check_prompts(config, repair=wanted.repair)]
    yield "job-files", lambda: [check_result_files(config, repair=wanted.repair)]
    yield "job-folders", lambda: [check_folders(config)]
    pruning = wanted.pruning
    if pruning is not None:
        yield "prunable", lambda: [prune_job_files(config, pruning)]


def _check_acceptances(*, repair: bool) -> Check:
    found = check_acceptances()
    if not repair or found.state is CheckState.OK:
        return found
    message = f"{rebuild_acceptances()} were made again from the events"
    return replace(found, state=CheckState.REPAIRED, message=message)


def _check_invariants() -> Iterable[Check]:
    message = (
        f"all {len(invariant_names())} hold; kept texts of notes and gates, and kept outputs, have"
        " their digests"
    )
    return broken_invariants() or [Check("invariants", CheckState.OK, message)]


def _failed(name: str, error: ReviewError | DatabaseError) -> Check:
    refusal = error if isinstance(error, ReviewError) else store.refusal_of(error)
    if refusal is None:
        return Check(name, CheckState.PROBLEM, f"the database failed: {error}")
    hint = (refusal.hint,) if refusal.hint else ()
    again = isinstance(refusal, TryAgain)
    return Check(name, CheckState.PROBLEM, refusal.message, hint, again=again)
