"""Brings one table of a target to what the source holds, stretch by stretch, and verifies it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from django.db import DatabaseError, DataError, IntegrityError, connections

from review.errors import Conflict, ReviewError
from review.orchestration.copied_values import (
    Digest,
    Stretch,
    canonical,
    for_postgresql,
    stretches,
    what_is_wrong,
)
from review.store.raw_rows import BEFORE_ALL, Row, Rows, Table, delete
from review.store.refusals import store_name

Progress = Callable[[str, Table, int, int], None]
_SHOWN = 5


class RowRefused(ReviewError):
    """The target's database cannot hold a row of the source."""


class TargetDiffers(Conflict):
    """The target holds rows that the source does not, or not so."""


class CopyNotVerified(ReviewError):
    """What the target holds after the copy is not what the source holds."""


@dataclass(frozen=True)
class TableCopied:
    """What became of one table.

    :param rows: how many the source holds; `sha256` is the digest of them all.
    """

    name: str
    rows: int = 0
    sha256: str = ""
    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def differs(self) -> int:
        """How many rows were not as they are in the source."""
        return self.added + self.changed + self.removed


@dataclass
class _Seen:
    """One stretch of the source as it was read, to hold the target against."""

    after: int
    upto: int
    rows: int
    sha256: bytes


@dataclass
class Filling:
    """Fills one table.

    :param in_turn: opens the transaction in which the target may be written; None looks only.
    :param last: the highest key in the target at the start, beyond which nothing has to be read.
    """

    source: Rows
    target: Rows
    table: Table
    in_turn: Callable[[], AbstractContextManager[None]] | None
    last: int
    tell: Progress
    _seen: list[_Seen] = field(default_factory=list)

    def fill(self, *, upto: int) -> TableCopied:
        """Write what is missing; a row that differs is refused where rows never change.

        :param upto: the source's highest key, for the progress.
        :raises TargetDiffers: the target holds what the source never did.
        """
        if self.table.derived and self.in_turn is not None and self.last != BEFORE_ALL:
            # First all that goes: a key of the source may be taken by a later row of the target.
            for stretch in self._stretches():
                self._remove(stretch)
        copied, digest = TableCopied(self.table.name), Digest()
        end = BEFORE_ALL
        for stretch in self._stretches():
            end = stretch.upto
            sha256 = digest.add(canonical(self.table, stretch.rows))
            self._seen.append(_Seen(stretch.after, end, len(stretch.rows), sha256))
            copied = self._bring(copied, stretch)
            self.tell("copying", self.table, end, upto)
        beyond = [row[0] for row in self._present(end, None)]
        self._refuse_strangers(beyond)
        removed = self._delete(beyond)
        return replace(
            copied, rows=digest.rows, sha256=digest.text(), removed=copied.removed + removed
        )

    def verify(self, copied: TableCopied) -> None:
        """Read the target again and hold it against what was read of the source.

        :raises CopyNotVerified: a count or a digest differs; names the rows.
        """
        digest = Digest()
        for seen in self._seen:
            read = self.target.read(self.table, after=seen.after, upto=seen.upto)
            rows = canonical(self.table, list(read))
            if digest.add(rows) != seen.sha256:
                self._refuse_stretch(seen, rows)
            self.tell("verifying", self.table, seen.upto, self._seen[-1].upto)
        end = self._seen[-1].upto if self._seen else BEFORE_ALL
        beyond = [row[0] for row in self.target.read(self.table, after=end)]
        if beyond or (digest.rows, digest.text()) != (copied.rows, copied.sha256):
            raise self._not_verified(f"rows {_some(beyond)} are not in the source")

    # -- the source ------------------------------------------------------------------------

    def _stretches(self) -> Iterator[Stretch]:
        return stretches(self.table, self._sent())

    def _sent(self, *, after: int = BEFORE_ALL, upto: int | None = None) -> Iterator[Row]:
        """Rows of the source as the target's database can hold them."""
        rows = self.source.read(self.table, after=after, upto=upto)
        if connections[self.target.using].vendor == "postgresql":
            return for_postgresql(self.table, rows)
        return rows

    # -- the target ------------------------------------------------------------------------

    def _present(self, after: int, upto: int | None) -> list[Row]:
        if after >= self.last:
            return []
        return list(self.target.read(self.table, after=after, upto=upto))

    def _bring(self, copied: TableCopied, stretch: Stretch) -> TableCopied:
        present = canonical(self.table, self._present(stretch.after, stretch.upto))
        here = {row[0]: row for row in present}
        wanted = zip(stretch.rows, canonical(self.table, stretch.rows), strict=True)
        missing, changed = [], []
        for row, want in wanted:
            if row[0] not in here:
                missing.append(row)
            elif here.pop(row[0]) != want:
                changed.append(row)
        extra = sorted(here)
        self._refuse_strangers(extra)
        if changed and self.table.grows_only:
            raise self._differs(
                f"rows {_some([row[0] for row in changed])} are not as in the source"
            )
        if missing or changed or extra:
            self._write(extra + [row[0] for row in changed], sorted(missing + changed))
        return replace(
            copied,
            added=copied.added + len(missing),
            changed=copied.changed + len(changed),
            removed=copied.removed + len(extra),
        )

    def _remove(self, stretch: Stretch) -> None:
        wanted = {row[0]: row for row in canonical(self.table, stretch.rows)}
        present = canonical(self.table, self._present(stretch.after, stretch.upto))
        self._delete([row[0] for row in present if wanted.get(row[0]) != row])

    def _delete(self, keys: Sequence[int]) -> int:
        if keys:
            self._write(keys, ())
        return len(keys)

    def _write(self, gone: Sequence[int], new: Sequence[Row]) -> None:
        if self.in_turn is None:
            return
        try:
            with self.in_turn():
                if gone:
                    delete(self.target.using, self.table, gone)
                self.target.insert(self.table, new)
        except (DataError, IntegrityError, ValueError) as error:
            raise self._row_refused(new, error) from error

    # -- refusals --------------------------------------------------------------------------

    def _refuse_strangers(self, keys: Sequence[int]) -> None:
        if keys and not self.table.derived:
            raise self._differs(f"rows {_some(keys)} are not in the source")

    def _differs(self, what: str) -> TargetDiffers:
        return TargetDiffers(
            f"{self.table.name} in {store_name(self.target.using)} differs: {what}",
            hint="it was used or changed since it was copied; name an empty target to copy anew",
        )

    def _row_refused(self, rows: Sequence[Row], error: DatabaseError | ValueError) -> RowRefused:
        for row in rows:
            why = what_is_wrong(self.table, row)
            if why:
                what = f"{self.table.name} row {row[0]}: {why}"
                break
        else:
            first, last = rows[0][0], rows[-1][0]
            what = f"{self.table.name}, rows {first} to {last}: {str(error).splitlines()[0]}"
        return RowRefused(
            f"{store_name(self.target.using)} cannot hold {what}",
            hint="look at the source with review_doctor --check; what was copied stays for the next try",
        )

    def _refuse_stretch(self, seen: _Seen, rows: Sequence[Row]) -> None:
        there = {row[0]: row for row in rows}
        sent = list(self._sent(after=seen.after, upto=seen.upto))
        wanted = {row[0]: row for row in canonical(self.table, sent)}
        keys = wanted.keys() | there.keys()
        wrong = sorted(key for key in keys if wanted.get(key) != there.get(key))
        raise self._not_verified(f"rows {_some(wrong)} are not as in the source")

    def _not_verified(self, what: str) -> CopyNotVerified:
        return CopyNotVerified(
            f"{self.table.name} in {store_name(self.target.using)} is not a copy: {what}",
            hint="nobody but this command may write to the target; run it again, or start with an empty one",
        )


def _some(keys: Sequence[int]) -> str:
    more = len(keys) - _SHOWN
    return ", ".join(map(str, keys[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
