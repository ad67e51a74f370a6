"""Whether a new copy of a store may take the place of an older file: nothing in that one is newer."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from review.store.sqlite_file import read_only_uri
from review.store.succession import PlaceTaken

_OURS = ("review_", "acceptance_")


class Lineage(NamedTuple):
    """Which store a file is, and how far it has come.

    :param highest: by table the highest key that was ever given there; rows that were removed count.
    """

    store_id: str
    highest: Mapping[str, int]


def lineage_of(connection: sqlite3.Connection) -> Lineage | None:
    """The lineage of the open store; None where it is older than the id of a store.

    :raises sqlite3.DatabaseError: it is damaged.
    """
    try:
        row = connection.execute("SELECT store_id FROM review_store").fetchone()
        highest = dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    except sqlite3.OperationalError:
        return None
    if row is None:
        return None
    return Lineage(row[0], {name: highest[name] for name in highest if name.startswith(_OURS)})


def lineage_at(path: Path, holder: sqlite3.Connection | None) -> Lineage | None:
    """The lineage of the file at `path`; None where nothing is lost with it.

    What a link names is not at the link's path: it stays where it is.

    :param holder: the connection that holds the file alone, if one does: it keeps out every other.
    :raises PlaceTaken: it is damaged: what it holds, and of which store, nobody can tell.
    """
    if path.is_symlink() or not path.is_file() or not path.stat().st_size:
        return None
    try:
        if holder is not None:
            return lineage_of(holder)
        with closing(sqlite3.connect(read_only_uri(path.absolute()), uri=True)) as connection:
            return lineage_of(connection)
    except sqlite3.DatabaseError as error:
        raise PlaceTaken(
            f"{path} is damaged ({error}): of which store it is cannot be told; it was left there",
            hint="name another file, or move that one away if nobody needs it",
        ) from error


def refuse_loss(target: Path, *, earlier: Lineage | None, ours: Lineage | None) -> None:
    """Refuse to replace what may be all that is left: another store's copy, or work we have not.

    :raises PlaceTaken: `earlier` is of another store, or was written to after `ours` was.
    """
    if earlier is None or ours is None:
        return
    if earlier.store_id != ours.store_id:
        raise PlaceTaken(
            f"{target} is of another store ({earlier.store_id}, and this is {ours.store_id});"
            " it was left there",
            hint="name another file, or move that one away if nobody needs it",
        )
    for table, highest in sorted(earlier.highest.items()):
        if highest > ours.highest.get(table, 0):
            raise PlaceTaken(
                f"{target} holds what this store does not: {table} up to {highest} there,"
                f" up to {ours.highest.get(table, 0)} here; it was left there",
                hint="see whether this store was put back from an older copy; else name another"
                " file, or move that one away",
            )
