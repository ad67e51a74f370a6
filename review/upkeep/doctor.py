"""Checks of store, job files and surroundings, one by one; one that fails does not hide the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from django.db import DatabaseError, connection
from msgspec.structs import replace

from review import settings, store
from review.errors import ReviewError, TryAgain
from review.models import CurrentAcceptance, FileSnapshot, ReviewPair, ReviewStore
from review.settings.config import Config
from review.upkeep.checks import BusyCheck, CheckResult, CheckState, check_faults
from review.upkeep.environment_checks import check_bytecode, check_file_index, check_notes
from review.upkeep.invariants import (
    CURRENT_INVARIANTS,
    PAIR_INVARIANTS,
    altered_snapshots,
    broken_invariants,
    invariant_names,
)
from review.upkeep.job_files_checks import check_folders, check_prompts, check_result_files
from review.upkeep.open_store import open_store
from review.upkeep.prune import Pruning, prune_job_files
from review.upkeep.repair import check_queue, rebuild_acceptances

_STEPS_BETWEEN_SIGNALS = 100_000  # of SQLite's virtual machine
_Checking: TypeAlias = Callable[[], Iterable[CheckResult]]


@dataclass(frozen=True)
class Examination:
    """What is checked, and what is done about it.

    :param thorough: ask the database for every invariant, too.
    :param repair: rebuild what the store can tell.
    """

    thorough: bool = False
    repair: bool = False
    pruning: Pruning | None = None

    @property
    def writes(self) -> bool:
        return self.repair or (self.pruning is not None and self.pruning.remove)


def examine(wanted: Examination) -> Iterator[CheckResult]:
    """Yield each check as it is done. A missing store is never made."""
    yield check_bytecode()
    try:
        config = settings.current()
    except ReviewError as refusal:
        yield _failed("configuration", refusal)
        return
    # A URL may hold a password.
    place = config.database if config.uses_sqlite else "on a server"
    yield CheckResult("configuration", CheckState.OK, f"root {config.root}, store {place}")
    opened = _open(write=wanted.writes)
    yield opened
    if opened.state is not CheckState.OK:
        yield CheckResult("store-content", CheckState.SKIPPED, "the store cannot be used")
    else:
        yield from _look_at_store(config, wanted)
    yield check_notes(config)
    yield check_file_index(config, repair=wanted.repair)


def _open(*, write: bool) -> CheckResult:
    try:
        open_store(write=write, make=False)
        store_id = ReviewStore.objects.identity()
    except (ReviewError, DatabaseError) as error:
        return _failed("store", error)
    return CheckResult("store", CheckState.OK, f"of this version, id {store_id}")


def _look_at_store(config: Config, wanted: Examination) -> Iterator[CheckResult]:
    """Yield the checks of the store; stop when it is busy or its server away: each would wait as long."""
    if connection.vendor == "sqlite":
        # Python handles Ctrl-C only in code of its own, not during a statement of SQLite.
        connection.connection.set_progress_handler(lambda: 0, _STEPS_BETWEEN_SIGNALS)
    for name, checks in _checks_of_store(config, wanted):
        try:
            yield from checks()
        except DatabaseError as error:
            if str(error) == "interrupted":
                raise KeyboardInterrupt from error
            check = _failed(name, error)
            if isinstance(check, BusyCheck):
                yield replace(check, state=CheckState.SKIPPED)
                return
            yield check


def _checks_of_store(config: Config, wanted: Examination) -> Iterator[tuple[str, _Checking]]:
    yield "integrity", lambda: [_check_integrity()]
    if not wanted.thorough:
        yield "pairs", lambda: [_check_pairs()]
        yield "snapshots", lambda: [_check_snapshots()]
    yield "current-acceptances", lambda: [_check_acceptances(repair=wanted.repair)]
    yield "queue", lambda: [check_queue(repair=wanted.repair)]
    if wanted.thorough:
        yield "invariants", _check_invariants
    yield "prompts", lambda: [check_prompts(config, repair=wanted.repair)]
    yield "job-files", lambda: [check_result_files(config, repair=wanted.repair)]
    yield "job-folders", lambda: [check_folders(config)]
    pruning = wanted.pruning
    if pruning is not None:
        yield "prunable", lambda: [prune_job_files(config, pruning)]


def _check_invariants() -> Iterable[CheckResult]:
    message = (
        f"all {len(invariant_names())} hold; kept texts of notes and gates, and kept outputs, have"
        " their digests"
    )
    return broken_invariants() or [CheckResult("invariants", CheckState.OK, message)]


def _failed(name: str, error: ReviewError | DatabaseError) -> CheckResult:
    refusal = error if isinstance(error, ReviewError) else store.refusal_of(error)
    if refusal is None:
        return CheckResult(name, CheckState.PROBLEM, f"the database failed: {error}")
    hint = (refusal.hint,) if refusal.hint else ()
    kind = BusyCheck if isinstance(refusal, TryAgain) else CheckResult
    return kind(name, CheckState.PROBLEM, refusal.message, hint)


def _check_integrity() -> CheckResult:
    """Ask the database about its own pages, indexes and references."""
    if connection.vendor != "sqlite":
        return CheckResult("integrity", CheckState.OK, f"left to {connection.display_name}")
    with connection.cursor() as cursor:
        lines = cursor.execute("PRAGMA integrity_check(100)").fetchall()
        faults = [line for (line,) in lines if line != "ok"]
        faults += [
            f"{table} row {row_id} refers to a row of {parent} that is not there"
            for table, row_id, parent, _number in cursor.execute("PRAGMA foreign_key_check")
        ]
    return check_faults(
        "integrity",
        faults,
        fine="pages, indexes and references hold",
        wrong="faults in the database file; move it away and restore a copy",
    )


def _check_pairs() -> CheckResult:
    return check_faults(
        "pairs",
        chain.from_iterable(rule.lines() for rule in PAIR_INVARIANTS),
        fine=f"{ReviewPair.objects.count()} pairs agree with their jobs and texts",
        wrong="pairs or jobs are off",
    )


def _check_snapshots() -> CheckResult:
    return check_faults(
        "snapshots",
        altered_snapshots(),
        fine=f"{FileSnapshot.objects.count()} texts have their digests",
        wrong="texts were altered",
    )


def _check_acceptances(*, repair: bool) -> CheckResult:
    found = check_faults(
        "current-acceptances",
        chain.from_iterable(rule.lines() for rule in CURRENT_INVARIANTS),
        fine=f"{CurrentAcceptance.objects.count()} current acceptances are what the events say",
        wrong="current acceptances differ from the events; --repair makes them again",
    )
    if not repair or found.state is CheckState.OK:
        return found
    message = f"{rebuild_acceptances()} were made again from the events"
    return replace(found, state=CheckState.REPAIRED, message=message)
