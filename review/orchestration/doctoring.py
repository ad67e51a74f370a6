"""Checks store, job files and surroundings one by one; one that fails does not hide the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.db import DatabaseError

from review import conf, store
from review.conf import Config
from review.errors import ReviewError, TryAgain
from review.models import ReviewStore
from review.orchestration.invariant_checks import check_invariants
from review.orchestration.job_file_checks import check_folders, check_prompts, check_result_files
from review.orchestration.machine_checks import check_bytecode, check_file_index, check_notes
from review.orchestration.pruning import Pruning, prune_job_files
from review.orchestration.rebuilding import rebuild_acceptances
from review.queries.checks import Check, CheckState
from review.queries.store_checks import (
    check_acceptances,
    check_integrity,
    check_pairs,
    check_snapshots,
)


@dataclass(frozen=True)
class Examination:
    """What is looked at, and what is done about it.

    :param thorough: ask the database for every invariant, too.
    :param repair: make again what the store can tell.
    """

    thorough: bool = False
    repair: bool = False
    pruning: Pruning | None = None

    @property
    def writes(self) -> bool:
        """Whether it may change anything."""
        return self.repair or (self.pruning is not None and self.pruning.remove)


def examine(wanted: Examination) -> Iterator[Check]:
    """Every check in turn, as it is done."""
    yield check_bytecode()
    try:
        config = conf.current()
    except ReviewError as refusal:
        yield _refused("configuration", refusal)
        return
    yield Check("configuration", CheckState.OK, f"root {config.root}, store {_shown(config)}")
    try:
        store.ensure_store(write=wanted.writes)
    except ReviewError as refusal:
        yield _refused("store", refusal)
        yield Check("store-content", CheckState.SKIPPED, "the store cannot be used")
    else:
        yield Check("store", CheckState.OK, _identity())
        yield from _look_at_store(config, wanted)
    yield check_notes(config)
    yield check_file_index(config, repair=wanted.repair)


def _look_at_store(config: Config, wanted: Examination) -> Iterator[Check]:
    yield from _guarded("integrity", lambda: [check_integrity()])
    if not wanted.thorough:
        yield from _guarded("pairs", lambda: [check_pairs()])
        yield from _guarded("snapshots", lambda: [check_snapshots()])
    yield from _guarded("current-acceptances", lambda: [_acceptances(repair=wanted.repair)])
    if wanted.thorough:
        yield from _guarded("invariants", check_invariants)
    yield from _guarded("prompts", lambda: [check_prompts(config, repair=wanted.repair)])
    yield from _guarded("job-files", lambda: [check_result_files(config, repair=wanted.repair)])
    yield from _guarded("job-folders", lambda: [check_folders(config)])
    pruning = wanted.pruning
    if pruning is not None:
        yield from _guarded("prunable", lambda: [prune_job_files(config, pruning)])


def _guarded(name: str, checks: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from checks()
    except DatabaseError as error:
        known = store.refusal_of(error)
        if isinstance(known, TryAgain):
            # Somebody writes, or the server is away: that says nothing about the store.
            raise known from error
        yield Check(name, CheckState.PROBLEM, f"the database failed: {error}")


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
    return Check(name, CheckState.PROBLEM, refusal.message, hint)


def _identity() -> str:
    row = ReviewStore.objects.get(pk=1)
    return f"of this version, id {row.store_id}"


def _shown(config: Config) -> str:
    # A URL may hold a password.
    return config.database if config.uses_sqlite else "on a server"
