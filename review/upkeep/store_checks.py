"""Checks of the store's content that `review_doctor` always makes."""

from __future__ import annotations

from itertools import chain

from django.db import connection

from review.models import CurrentAcceptance, FileSnapshot, ReviewPair
from review.upkeep.checks import Check, CheckState, check_faults
from review.upkeep.invariants import CURRENT_INVARIANTS, PAIR_INVARIANTS, altered_snapshots


def check_integrity() -> Check:
    """Ask the database about its own pages, indexes and references."""
    if connection.vendor != "sqlite":
        return Check("integrity", CheckState.OK, f"left to {connection.display_name}")
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


def check_pairs() -> Check:
    return check_faults(
        "pairs",
        chain.from_iterable(rule.lines() for rule in PAIR_INVARIANTS),
        fine=f"{ReviewPair.objects.count()} pairs agree with their jobs and texts",
        wrong="pairs or jobs are off",
    )


def check_snapshots() -> Check:
    return check_faults(
        "snapshots",
        altered_snapshots(),
        fine=f"{FileSnapshot.objects.count()} texts have their digests",
        wrong="texts were altered",
    )


def check_acceptances() -> Check:
    return check_faults(
        "current-acceptances",
        chain.from_iterable(rule.lines() for rule in CURRENT_INVARIANTS),
        fine=f"{CurrentAcceptance.objects.count()} current acceptances are what the events say",
        wrong="current acceptances differ from the events; --repair makes them again",
    )
