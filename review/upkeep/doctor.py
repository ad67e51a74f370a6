"""Checks of store, job files and surroundings, one by one; one that fails does not hide the next."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from django.db import DatabaseError, connection, transaction
from msgspec.structs import replace

from review import settings, store
from review.acceptance.accept import notes_off_the_queue, refresh_finding_states
from review.errors import ReviewError, TryAgain
from review.knowledge_base import Corpus
from review.models import CurrentAcceptance, FileSnapshot, ReviewPair, ReviewStore, batched
from review.upkeep import job_files
from review.upkeep.checks import (
    CURRENT_INVARIANTS,
    PAIR_INVARIANTS,
    UNAPPLIED_EVENTS,
    UNFOUNDED_ACCEPTANCES,
    all_invariants,
    altered_snapshots,
    broken_invariants,
)
from review.upkeep.documents import BusyCheck, CheckResult, CheckState, check_faults
from review.upkeep.open_store import open_store

_STEPS_BETWEEN_SIGNALS = 100_000  # of SQLite's virtual machine
_Check: TypeAlias = Callable[[], CheckResult | Iterable[CheckResult]]


def examine(
    *, thorough: bool, repair: bool, pruning: job_files.Pruning | None
) -> Iterator[CheckResult]:
    """Yield each check as it is done; `thorough`: all invariants. A missing store is never made."""
    yield check_bytecode()
    try:
        config = settings.current()
    except ReviewError as refusal:
        yield _failed("configuration", refusal)
        return
    # A URL may hold a password.
    place = config.database if config.uses_sqlite else "on a server"
    yield CheckResult("configuration", CheckState.OK, f"root {config.root}, store {place}")
    try:
        removes = pruning is not None and pruning.remove
        open_store(write=repair or removes, make=False)
        store_id = ReviewStore.objects.identity()
    except (ReviewError, DatabaseError) as error:
        yield _failed("store", error)
        yield CheckResult("store-content", CheckState.SKIPPED, "the store cannot be used")
    else:
        yield CheckResult("store", CheckState.OK, f"of this version, id {store_id}")
        checks = _checks_of_store(config, thorough=thorough, repair=repair)
        if pruning is not None:
            checks["prunable"] = lambda: job_files.prune_job_files(config, pruning)
        yield from _look_at_store(checks)
    yield check_notes(config)
    yield check_file_index(config, repair=repair)


def _look_at_store(checks: Mapping[str, _Check]) -> Iterator[CheckResult]:
    """Yield the checks of the store; stop when it is busy or its server away: each would wait as long."""
    if connection.vendor == "sqlite":
        # Python handles Ctrl-C only in code of its own, not during a statement of SQLite.
        connection.connection.set_progress_handler(lambda: 0, _STEPS_BETWEEN_SIGNALS)
    for name, check in checks.items():
        try:
            found = check()
            yield from [found] if isinstance(found, CheckResult) else found
        except DatabaseError as error:
            if str(error) == "interrupted":
                raise KeyboardInterrupt from error
            failed = _failed(name, error)
            if isinstance(failed, BusyCheck):
                yield replace(failed, state=CheckState.SKIPPED)
                return
            yield failed


def _checks_of_store(config: settings.Config, *, thorough: bool, repair: bool) -> dict[str, _Check]:
    quick: dict[str, _Check] = {"pairs": _check_pairs, "snapshots": _check_snapshots}
    every: dict[str, _Check] = {"invariants": _check_invariants}
    return {
        "integrity": _check_integrity,
        **({} if thorough else quick),
        "current-acceptances": lambda: _check_acceptances(repair=repair),
        "queue": lambda: check_queue(repair=repair),
        **(every if thorough else {}),
        "prompts": lambda: job_files.check_prompts(config, repair=repair),
        "job-files": lambda: job_files.check_result_files(config, repair=repair),
        "job-folders": lambda: job_files.check_folders(config),
    }


def _check_invariants() -> Iterable[CheckResult]:
    message = (
        f"all {len(all_invariants())} hold; kept texts of notes and gates, and kept outputs, have"
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
    if connection.vendor != "sqlite":
        return CheckResult("integrity", CheckState.OK, f"left to {connection.display_name}")
    with connection.cursor() as cursor:
        faults = store.integrity_faults(cursor.execute, most=100)
    fine = "pages, indexes and references hold"
    wrong = "faults in the database file; move it away and restore a copy"
    return check_faults("integrity", faults, fine=fine, wrong=wrong)


def _check_pairs() -> CheckResult:
    faults = chain.from_iterable(rule.lines() for rule in PAIR_INVARIANTS)
    fine = f"{ReviewPair.objects.count()} pairs agree with their jobs and texts"
    return check_faults("pairs", faults, fine=fine, wrong="pairs or jobs are off")


def _check_snapshots() -> CheckResult:
    fine = f"{FileSnapshot.objects.count()} texts have their digests"
    return check_faults("snapshots", altered_snapshots(), fine=fine, wrong="texts were altered")


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


def rebuild_acceptances() -> int:
    """Point every key that is off at its last event; return how many there were."""
    with transaction.atomic():
        ReviewStore.objects.move_acceptances()
        notes = set(UNFOUNDED_ACCEPTANCES.values_list("note_id", flat=True))
        removed, _by_model = UNFOUNDED_ACCEPTANCES.delete()
        events = list(UNAPPLIED_EVENTS.order_by("pk"))
        CurrentAcceptance.objects.point_at(events)
        notes |= {event.note_id for event in events}
        for some in batched(sorted(notes), 500):
            refresh_finding_states(some)
    return removed + len(events)


def check_queue(*, repair: bool) -> CheckResult:
    """Compare the queue's projection with what it derives from; `repair` makes what differs again."""
    faults: list[str] = []
    for notes in notes_off_the_queue():
        faults += [
            f"note {it}: its rows in the queue differ from its current acceptances" for it in notes
        ]
        if notes and repair:
            with transaction.atomic():
                ReviewStore.objects.move_acceptances()
                refresh_finding_states(notes)
    return check_faults(
        "queue",
        faults,
        fine="its rows are what acceptances, findings and dispositions say",
        wrong="notes whose rows were made again"
        if repair
        else "notes are off; --repair makes their rows again",
        state=CheckState.REPAIRED if repair else CheckState.PROBLEM,
    )


def check_bytecode() -> CheckResult:
    """Check that modules are compiled, or will be; else every command takes twice the time to start."""
    folder = Path(__file__).parents[1]
    missing = 0
    if sys.dont_write_bytecode:
        compiled = (importlib.util.cache_from_source(str(file)) for file in folder.rglob("*.py"))
        missing = sum(not Path(file).exists() for file in compiled)
    if not missing:
        return CheckResult("bytecode", CheckState.OK, "modules are compiled, or will be when used")
    return CheckResult(
        "bytecode",
        CheckState.WARNING,
        f"{missing} modules are not compiled, and PYTHONDONTWRITEBYTECODE keeps them so; run:"
        f" {sys.executable} -m compileall -q {folder}",
    )


def check_notes(config: settings.Config) -> CheckResult:
    corpus = Corpus(config)
    listed, catalog = corpus.notes(), corpus.gates
    problems = (*listed.problems, *catalog.problems)
    told = [f"{item.path}: {item.code}: {item.message}" for item in problems]
    return check_faults(
        "knowledge-base",
        [*told, *corpus.idle_settings()],
        fine=f"{len(listed.notes)} notes, {len(catalog.gates)} gates",
        wrong="problems with notes, gates or settings",
        state=CheckState.WARNING,
    )


def check_file_index(config: settings.Config, *, repair: bool) -> CheckResult:
    name, path = "file-index", config.index_path
    if not path.exists():
        return CheckResult(name, CheckState.OK, "none yet; the next command makes it")
    read, remembered = _facts(config, use_cache=False), _facts(config, use_cache=True)
    wrong = {note for note, _facts in read ^ remembered}
    if wrong:
        # Who edits a note between the two readings is no fault: that is over at the next look.
        again = _facts(config, use_cache=False) ^ _facts(config, use_cache=True)
        wrong &= {note for note, _facts in again}
    if wrong and repair:
        path.unlink(missing_ok=True)
        return CheckResult(name, CheckState.REPAIRED, f"{path} was removed; it is made again")
    return check_faults(
        name,
        (f"{note} was changed in a way that no stat shows" for note in sorted(wrong)),
        fine=f"{len(read)} notes are remembered as they are",
        wrong=f"notes are remembered wrong: the stat of this file system cannot be trusted; use"
        f" --no-cache, and --repair to remove {path}",
    )


def _facts(config: settings.Config, *, use_cache: bool) -> set[tuple[str, object]]:
    notes = Corpus(config, use_cache=use_cache).notes().notes
    return {(note.path, (note.sha256, note.status, note.kind, note.problems)) for note in notes}
