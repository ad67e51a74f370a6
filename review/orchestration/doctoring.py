"""Checks store, job files and surroundings one by one; one that fails does not hide the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError

from review import conf, store
from review.conf import Config
from review.errors import ReviewError
from review.models import ReviewStore
from review.orchestration.job_file_checks import check_folders, check_prompts, check_result_files
from review.orchestration.machine_checks import check_bytecode, check_file_index, check_notes
from review.orchestration.pruning import prune_job_files
from review.orchestration.rebuilding import rebuild_acceptances
from review.queries.checks import Check, CheckState
from review.queries.store_checks import (
    check_acceptances,
    check_integrity,
    check_pairs,
    check_snapshots,
)


@dataclass(frozen=True)
class Pruning:
    """Whether the folders of closed jobs go; if not, they are named only."""

    remove: bool
    actor: str
    now: datetime


def examine(*, repair: bool, pruning: Pruning | None = None) -> Iterator[Check]:
    """Every check in turn, as it is done; with `repair`, what can be made again is."""
    yield check_bytecode()
    try:
        config = conf.current()
    except ReviewError as refusal:
        yield _refused("configuration", refusal)
        return
    yield Check("configuration", CheckState.OK, f"root {config.root}, store {_shown(config)}")
    writes = repair or (pruning is not None and pruning.remove)
    try:
        store.ensure_store(write=writes)
    except ReviewError as refusal:
        yield _refused("store", refusal)
        yield Check("store-content", CheckState.SKIPPED, "the store cannot be used")
    else:
        yield Check("store", CheckState.OK, _identity())
        yield from _guarded(_store_checks(config, repair=repair))
        if pruning is not None:
            yield from _guarded({"prunable": lambda: prune_job_files(config, **vars(pruning))})
    yield check_notes(config)
    yield check_file_index(config, repair=repair)


def _store_checks(config: Config, *, repair: bool) -> dict[str, Callable[[], Check]]:
    return {
        "integrity": check_integrity,
        "pairs": check_pairs,
        "snapshots": check_snapshots,
        "current-acceptances": lambda: _acceptances(repair=repair),
        "prompts": lambda: check_prompts(config),
        "job-files": lambda: check_result_files(config, repair=repair),
        "job-folders": lambda: check_folders(config),
    }


def _guarded(checks: Mapping[str, Callable[[], Check]]) -> Iterator[Check]:
    for name, check in checks.items():
        try:
            yield check()
        except DatabaseError as error:
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
