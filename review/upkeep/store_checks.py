"""Checks of the store that `review_doctor` always makes; they read in pieces, whatever its size."""

from __future__ import annotations

from itertools import chain

from django.db import connection

from review.models import CurrentAcceptance, FileSnapshot, ReviewPair
from review.upkeep.checks import Check, CheckState, Faults
from review.upkeep.invariants import CURRENT_INVARIANTS, PAIR_INVARIANTS, altered_snapshots

_ROWS_AT_ONCE = 1000


def check_integrity() -> Check:
    """What the database says of itself: its pages, indexes and references."""
    if connection.vendor != "sqlite":
        return Check("integrity", CheckState.OK, f"left to {connection.display_name}")
    faults = Faults()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check(100)")
        for (line,) in cursor.fetchall():
            if line != "ok":
                faults.add(line)
        cursor.execute("PRAGMA foreign_key_check")
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for table, row_id, parent, _number in rows:
                faults.add(f"{table} row {row_id} refers to a row of {parent} that is not there")
    return faults.check(
        "integrity",
        fine="pages, indexes and references hold",
        wrong="faults in the database file; move it away and restore a copy",
    )


def check_pairs() -> Check:
    """Completed pairs have a text, pairs agree with the status of their job, and none is lost."""
    return Faults(chain.from_iterable(rule.lines() for rule in PAIR_INVARIANTS)).check(
        "pairs",
        fine=f"{ReviewPair.objects.count()} pairs agree with their jobs and texts",
        wrong="pairs or jobs are off",
    )


def check_snapshots() -> Check:
    """Each kept text has the digest and the size that are kept with it."""
    return Faults(altered_snapshots()).check(
        "snapshots",
        fine=f"{FileSnapshot.objects.count()} texts have their digests",
        wrong="texts were altered",
    )


def check_acceptances() -> Check:
    """Each key's current acceptance is the last of its events."""
    return Faults(chain.from_iterable(rule.lines() for rule in CURRENT_INVARIANTS)).check(
        "current-acceptances",
        fine=f"{CurrentAcceptance.objects.count()} current acceptances are what the events say",
        wrong="current acceptances differ from the events; --repair makes them again",
    )
