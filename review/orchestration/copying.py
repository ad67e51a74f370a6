"""Copies one store into another, whatever database each is in, and proves that they are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from django.db import connections

from review.errors import InputRejected
from review.models import ReviewStore
from review.orchestration.copied_tables import copied_tables, store_table
from review.orchestration.copied_values import Digest
from review.orchestration.copy_filling import (
    CopyNotVerified,
    Filling,
    Progress,
    TableCopied,
    TargetDiffers,
)
from review.orchestration.copy_standing import (
    Standing,
    Target,
    look,
    put_mark,
    take_mark_away,
    while_marked,
)
from review.store import elsewhere
from review.store.raw_rows import BEFORE_ALL, Rows, delete, last_key, rows_of
from review.store.refusals import store_name

SOURCE, TARGET = "copied_from", "copied_to"


class SamePlace(InputRejected):
    """Source and target are one store."""


@dataclass(frozen=True)
class CopyRequest:
    """What is copied where.

    :param source: a path or a `postgres://` URL, as is `target`.
    :param dry_run: only look what there would be to do.
    """

    source: str
    source_named: str
    target: str
    target_named: str
    dry_run: bool = False


@dataclass(frozen=True)
class StoreCopied:
    """What was done, or would be; the names tell no password.

    :param standing: what the target was at the start.
    """

    source: str
    target: str
    store_id: str
    standing: Standing
    tables: tuple[TableCopied, ...]
    dry_run: bool

    @property
    def differs(self) -> int:
        """How many rows were not in the target as they are in the source."""
        return sum(table.differs for table in self.tables)


def copy_store(request: CopyRequest, *, tell: Progress) -> StoreCopied:
    """Copy, or go on copying, and verify; what is written to the source meanwhile is not taken.

    The target's other tables, such as the people who log in, are left as they are.

    :raises SamePlace: source and target are one store.
    :raises StoreMissing: there is no store to copy.
    :raises Conflict: the target holds something else, or was used since it was copied.
    :raises CopyNotVerified: what arrived is not what was sent.
    """
    if elsewhere.place_of(request.source) == elsewhere.place_of(request.target):
        raise SamePlace(f"{request.source_named} and {request.target_named} name one store")
    with (
        elsewhere.attached(SOURCE, request.source, named=request.source_named),
        elsewhere.attached(TARGET, request.target, named=request.target_named),
    ):
        elsewhere.require_store(using=SOURCE)
        source = rows_of(SOURCE)
        source.hold_still()
        store_id = ReviewStore.objects.using(SOURCE).identity()
        target = _target(source_id=store_id, dry_run=request.dry_run)
        tables = _Copy(source, rows_of(TARGET), target, store_id, tell).run(request)
        return StoreCopied(
            source=store_name(SOURCE),
            target=store_name(TARGET),
            store_id=store_id,
            standing=target.standing,
            tables=tables,
            dry_run=request.dry_run,
        )


def _target(*, source_id: str, dry_run: bool) -> Target:
    missing = Target(TARGET, Standing.MISSING, {})
    was_missing = elsewhere.is_missing(using=TARGET)
    if was_missing and dry_run:
        return missing
    filled_from = elsewhere.store_to_fill(using=TARGET)
    _refuse_one_database()
    found = look(TARGET, source_id=source_id, filled_from=filled_from)
    return missing if was_missing and found.standing is Standing.EMPTY else found


def _refuse_one_database() -> None:
    """A database can be named in many ways; one look at it tells."""
    if connections[SOURCE].vendor != connections[TARGET].vendor:
        return
    if connections[SOURCE].vendor == "sqlite":
        return
    with connections[SOURCE].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(pg_backend_pid())")
        cursor.execute("SELECT pg_backend_pid()")
        key = cursor.fetchone()[0]
    with connections[TARGET].cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [key])
        if not cursor.fetchone()[0]:
            raise SamePlace(f"{store_name(SOURCE)} and {store_name(TARGET)} are one database")


@dataclass(frozen=True)
class _Copy:
    source: Rows
    target: Rows
    found: Target
    store_id: str
    tell: Progress

    def run(self, request: CopyRequest) -> tuple[TableCopied, ...]:
        if request.dry_run:
            return tuple(table for _filling, table in self._go_through(writes=False))
        if self.found.standing is Standing.WHOLE:
            seen = tuple(table for _filling, table in self._go_through(writes=False))
            if not self._is_behind(seen):
                return (*seen, self._row_of_store())
        put_mark(self.found, source_id=self.store_id)
        filled = list(self._go_through(writes=True))
        for filling, copied in filled:
            filling.verify(copied)
        return (*(copied for _filling, copied in filled), self._finish())

    def _go_through(self, *, writes: bool) -> Iterator[tuple[Filling, TableCopied]]:
        in_turn = partial(while_marked, TARGET, source_id=self.store_id) if writes else None
        for table in copied_tables():
            filling = Filling(
                source=self.source,
                target=self.target,
                table=table,
                in_turn=in_turn,
                last=self.found.last_keys.get(table.name, BEFORE_ALL),
                tell=self.tell,
            )
            yield filling, filling.fill(upto=last_key(SOURCE, table))

    def _is_behind(self, seen: tuple[TableCopied, ...]) -> bool:
        """Whether the source went on since the target was made; every act of it adds a row."""
        grown = {table.name for table in copied_tables() if table.grows_only}
        if any(table.added for table in seen if table.name in grown):
            return True
        for table in seen:
            if table.differs:
                raise TargetDiffers(
                    f"{table.name} in {store_name(TARGET)} differs in {table.differs} rows, and"
                    " nothing was done in the source that would say why",
                    hint="it was changed by hand; name an empty target to copy anew",
                )
        return False

    def _finish(self) -> TableCopied:
        """Let the counters go on where the source's are, and others in: all at once."""
        table = store_table()
        row = list(self.source.read(table))
        with while_marked(TARGET, source_id=self.store_id):
            for counted in copied_tables():
                if counted.counts:
                    self.target.count_on_from(counted, self.source.last_issued(counted))
            delete(TARGET, table, [1])
            self.target.insert(table, row)
            if list(self.target.read(table)) != row:
                raise CopyNotVerified(
                    f"the row of the store in {store_name(TARGET)} is not as sent"
                )
            take_mark_away(TARGET, source_id=self.store_id)
        is_new = self.found.standing is not Standing.WHOLE
        return replace(self._row_of_store(), added=int(is_new), changed=int(not is_new))

    def _row_of_store(self) -> TableCopied:
        table, digest = store_table(), Digest()
        digest.add(list(self.source.read(table)))
        return TableCopied(table.name, rows=1, sha256=digest.text())
