"""Whose rows a copy's target holds, and the mark that keeps everybody else away while it is filled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from django.db import connections, transaction

from review.errors import Conflict
from review.models import ReviewStore
from review.orchestration.copied_tables import copied_tables
from review.store.elsewhere import telling
from review.store.raw_rows import BEFORE_ALL, last_key
from review.store.refusals import store_name
from review.store.unfinished import mark_of


class TargetTaken(Conflict):
    """The target holds another store's rows."""


class TargetMoved(Conflict):
    """Somebody else wrote to the target while it was looked at or filled."""


class Standing(StrEnum):
    """What a target is at the start."""

    MISSING = "missing"
    EMPTY = "empty"
    BEGUN = "begun"
    WHOLE = "whole"


@dataclass(frozen=True)
class Target:
    """A target as it was found.

    :param last_keys: the highest key of each table that had a row.
    :param counters: of the store's row: the next job, and the revision of acceptances.
    """

    using: str
    standing: Standing
    last_keys: dict[str, int]
    counters: tuple[int, int] = (1, 0)


def look(using: str, *, source_id: str, filled_from: str) -> Target:
    """What the target, which can be opened, is to a copy from the store of `source_id`.

    :raises TargetTaken: it holds, or is being filled with, the rows of another store.
    """
    store_id, *counters = _store_row(using)
    keys = _last_keys(using)
    if filled_from:
        _refuse_another(using, filled_from, source_id)
        return Target(using, Standing.BEGUN, keys)
    if not keys:
        return Target(using, Standing.EMPTY, keys)
    _refuse_another(using, store_id, source_id)
    return Target(using, Standing.WHOLE, keys, (counters[0], counters[1]))


def put_mark(target: Target, *, source_id: str) -> None:
    """Keep everybody else away from now on.

    :raises TargetMoved: it is not any more what it was when it was looked at.
    """
    if target.standing is Standing.BEGUN:
        return
    using = target.using
    with telling(using), transaction.atomic(using=using):
        # Whoever writes takes this row first, or waits for it; we wait, and then see what he did.
        ReviewStore.objects.using(using).take_turn()
        _store_id, *counters = _store_row(using)
        is_same = target.standing is not Standing.WHOLE or tuple(counters) == target.counters
        if _last_keys(using) != target.last_keys or not is_same:
            raise TargetMoved(
                f"somebody wrote to {store_name(using)} while it was looked at",
                hint="stop what works there, then run the same command again",
            )
        with connections[using].cursor() as cursor:
            cursor.execute(
                "INSERT INTO django_migrations (app, name, applied)"
                " VALUES ('review', %s, CURRENT_TIMESTAMP)",
                [mark_of(source_id)],
            )


@contextmanager
def while_marked(using: str, *, source_id: str) -> Iterator[None]:
    """A transaction on the target that holds only while the mark stands.

    :raises TargetMoved: another process finished the copy meanwhile.
    """
    lock = " FOR SHARE" if connections[using].vendor == "postgresql" else ""
    with telling(using), transaction.atomic(using=using):
        with connections[using].cursor() as cursor:
            cursor.execute(
                f"SELECT 1 FROM django_migrations WHERE app = 'review' AND name = %s{lock}",  # noqa: S608
                [mark_of(source_id)],
            )
            if cursor.fetchone() is None:
                raise TargetMoved(
                    f"another process finished the copy to {store_name(using)}",
                    hint="run the same command again to see that it is whole",
                )
        yield


def take_mark_away(using: str, *, source_id: str) -> None:
    """Let others in; call it in the transaction that makes the target whole."""
    with connections[using].cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'review' AND name = %s", [mark_of(source_id)]
        )


def _refuse_another(using: str, held: str, source_id: str) -> None:
    if held != source_id:
        raise TargetTaken(
            f"{store_name(using)} holds rows of the store {held}, not of {source_id}",
            hint="name an empty database or a new file; nothing was written",
        )


def _store_row(using: str) -> tuple[str, int, int]:
    with telling(using):
        rows = ReviewStore.objects.using(using)
        found = rows.values_list("store_id", "next_job_id", "acceptance_revision").get(pk=1)
    return (found[0], found[1], found[2])


def _last_keys(using: str) -> dict[str, int]:
    keys = {table.name: last_key(using, table) for table in copied_tables()}
    return {name: key for name, key in keys.items() if key != BEFORE_ALL}
