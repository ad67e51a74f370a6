"""The file index: a cache file per root of what was read, trusted only while no stat can hide a change."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from review.corpus import index_file
from review.corpus.index_file import Shard, shard_count, shard_of
from review.corpus.signature import StatSignature

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence, Set
    from pathlib import Path

# Raise RULES whenever the same bytes would give other facts (another frontmatter rule, say).
LAYOUT, RULES = 2, 3
_STAMP = f"commonplace-file-index/{LAYOUT}.{RULES}"
# Rather all rows than so large a share of the shards, one by one.
_FEW_SHARDS = 4
_log = logging.getLogger(__name__)


class ProblemRow(NamedTuple):
    """A problem of a file, without its path."""

    code: str
    message: str
    skipped: bool
    line: int | None


class KindRow(NamedTuple):
    """What a note says it is; a note base has few of them, so rows of notes carry a number."""

    type_path: str
    traits: tuple[str, ...]
    readable: bool


class NoteRow(NamedTuple):
    """What one content of one note came to; `kind` counts in the index's list of kinds."""

    signature: StatSignature
    sha256: str
    status: str
    kind: int
    problems: tuple[ProblemRow, ...]


class GateRow(NamedTuple):
    """What one content of one gate file came to; read afresh, so there is no signature to trust."""

    sha256: str
    name: str
    description: str
    watches: tuple[str, ...]
    rewrite_threshold: float | None
    types: tuple[str, ...]
    traits: tuple[str, ...]
    rule: str
    rule_line: int
    problems: tuple[ProblemRow, ...]


class _Head(NamedTuple):
    stamp: str
    root: str
    written_at_ns: int
    kinds: list[KindRow]
    gates: dict[str, GateRow]
    shards: list[Shard]  # each is a dict[str, NoteRow]; apart, so that who wants few reads few


class FileIndex:
    """Rows by path. Whatever is wrong with the file, the index is empty: slower, never wrong.

    Loaded lazily, saved by renaming a whole file into place; of two writers the last one wins.
    """

    def __init__(self, path: Path | None, *, root: str, clock_ns: Callable[[], int]) -> None:
        """Use the file at `path`; `None` is an index that remembers nothing from before."""
        self._path = path
        self._root = root
        self._clock_ns = clock_ns
        self._changed = False

    @cached_property
    def notes(self) -> dict[str, NoteRow]:
        """Rows of notes, by path: all there are."""
        found: dict[str, NoteRow] = {}
        for rows in self._read(self._head.shards):
            found.update(rows)
        return found

    def rows_of(self, paths: Collection[str]) -> Mapping[str, NoteRow]:
        """Rows of these notes, if there are any; of a few notes without those of all others."""
        count = len(self._head.shards)
        if "notes" in self.__dict__ or len(paths) * _FEW_SHARDS > count:
            return self.notes
        wanted = {shard_of(path, count) for path in paths}
        found: dict[str, NoteRow] = {}
        for rows in self._read([self._head.shards[number] for number in sorted(wanted)]):
            found.update(rows)
        return found

    def keep_some(self, number: int) -> list[str]:
        """Know from now on the rows of about so many notes, whole shards, and save nothing; their paths."""
        known: dict[str, NoteRow] = {}
        for shard in self._head.shards:
            if len(known) >= number:
                break
            for rows in self._read([shard]):
                known.update(rows)
        self.__dict__["notes"] = known
        self._path = None
        return sorted(known)[:number]

    @property
    def gates(self) -> dict[str, GateRow]:
        """Rows of gates, by path."""
        return self._head.gates

    @property
    def kinds(self) -> list[KindRow]:
        """The kinds that rows of notes count in."""
        return self._head.kinds

    def remember_note(self, path: str, row: NoteRow) -> None:
        """Keep a row; hand in only what `StatSignature.is_settled`.

        Where all rows were not read, because few notes are looked at, it is not worth writing all.
        """
        if "notes" in self.__dict__ or not self._head.shards:
            self.notes[path] = row
            self._changed = True

    def remember_gate(self, path: str, row: GateRow) -> None:
        """Keep a row."""
        self.gates[path] = row
        self._changed = True

    def forget_notes_but(self, paths: Set[str], *, folders: tuple[str, ...]) -> None:
        """Drop rows of notes below the folders (each with its final slash) that are no more."""
        if "notes" not in self.__dict__ or len(self.notes) == len(paths):
            return
        for path in self.notes.keys() - paths:
            if path.startswith(folders):
                del self.notes[path]
                self._changed = True

    def forget_gates_but(self, paths: Set[str]) -> None:
        """Drop rows of gates that are no more."""
        for path in self.gates.keys() - paths:
            del self.gates[path]
            self._changed = True

    def kind_number(self, row: KindRow) -> int:
        """Number a kind, a new one at the end."""
        number = self._kind_numbers.setdefault(row, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(row)
        return number

    def save(self) -> None:
        """Write the file if anything changed. Failing is silent: the next command reads again."""
        if self._path is None or not self._changed:
            return
        self._changed = False
        try:
            index_file.write(self._path, *self._encoded())
        except OSError as error:
            _log.debug("file index not saved: %s", error)

    @cached_property
    def _kind_numbers(self) -> dict[KindRow, int]:
        return {row: number for number, row in enumerate(self.kinds)}

    @property
    def _head(self) -> _Head:
        return self._loaded[0]

    @cached_property
    def _loaded(self) -> tuple[_Head, int]:
        """The head, and the size of it as it was read."""
        found, size = _load(self._path) if self._path else (None, 0)
        if found is None or found.stamp != _STAMP or found.root != self._root:
            return self._empty(), 0
        # Written in the future: the clock was set back, and times that come again prove nothing.
        return (self._empty(), 0) if found.written_at_ns > self._clock_ns() else (found, size)

    def _empty(self) -> _Head:
        return _Head(_STAMP, self._root, 0, [], {}, [])

    def _read(self, shards: Sequence[Shard]) -> list[dict[str, NoteRow]]:
        if self._path is None or not shards:
            return []
        import msgspec

        decoder = msgspec.msgpack.Decoder(dict[str, NoteRow])
        try:
            pieces = index_file.read_shards(self._path, self._loaded[1], shards)
            return [decoder.decode(piece) for piece in pieces if piece]
        except (OSError, msgspec.MsgspecError) as error:
            _log.debug("file index ignored: %s", error)
            return []

    def _encoded(self) -> tuple[bytes, list[bytes]]:
        import msgspec

        encode = msgspec.msgpack.Encoder().encode
        count = shard_count(len(self.notes))
        shards: list[dict[str, NoteRow]] = [{} for _ in range(count)]
        for path, row in self.notes.items():
            shards[shard_of(path, count)][path] = row
        pieces = [encode(rows) for rows in shards]
        # Never earlier than what was loaded: the clock may have been set back since.
        written_at_ns = max(self._clock_ns(), self._head.written_at_ns)
        places = index_file.lay_out(pieces)
        return encode(self._head._replace(written_at_ns=written_at_ns, shards=places)), pieces


def _load(path: Path) -> tuple[_Head | None, int]:
    import msgspec

    try:
        stored = index_file.read_head(path)
        if stored is None:
            return None, 0
        head = msgspec.msgpack.decode(stored.data, type=_Head)
        # Rather no index than one that was cut or grew: whoever did that did not know the format.
        is_whole = stored.rest == sum(shard.size for shard in head.shards)
        return (head if is_whole else None), len(stored.data)
    except (OSError, msgspec.MsgspecError) as error:
        _log.debug("file index ignored: %s", error)
        return None, 0
