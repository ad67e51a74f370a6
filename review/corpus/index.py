"""The file index: a cache file per root of what was read, trusted only while no stat can hide a change."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from review.corpus.reading import read_descriptor
from review.corpus.signature import StatSignature

if TYPE_CHECKING:
    from collections.abc import Callable, Set

# Raise RULES whenever the same bytes would give other facts (another frontmatter rule, say).
LAYOUT, RULES = 1, 1
_STAMP = f"commonplace-file-index/{LAYOUT}.{RULES}"
_DIGEST_BYTES = 32
_MAX_INDEX_BYTES = 1 << 30
_LEFTOVER_AGE_NS = 3_600_000_000_000
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


class _Envelope(NamedTuple):
    stamp: str
    root: str
    written_at_ns: int
    kinds: list[KindRow]
    gates: dict[str, GateRow]
    notes: bytes  # a dict[str, NoteRow]; bytes, so that who wants only gates need not read it


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
        """Rows of notes, by path."""
        if not self._envelope.notes:
            return {}
        import msgspec

        try:
            return msgspec.msgpack.decode(self._envelope.notes, type=dict[str, NoteRow])
        except msgspec.MsgspecError as error:
            _log.debug("file index ignored: %s", error)
            return {}

    @property
    def gates(self) -> dict[str, GateRow]:
        """Rows of gates, by path."""
        return self._envelope.gates

    @property
    def kinds(self) -> list[KindRow]:
        """The kinds that rows of notes count in."""
        return self._envelope.kinds

    def remember_note(self, path: str, row: NoteRow) -> None:
        """Keep a row; hand in only what `StatSignature.is_settled`."""
        self.notes[path] = row
        self._changed = True

    def remember_gate(self, path: str, row: GateRow) -> None:
        """Keep a row."""
        self.gates[path] = row
        self._changed = True

    def forget_notes_but(self, paths: Set[str], *, folders: tuple[str, ...]) -> None:
        """Drop rows of notes below the folders (each with its final slash) that are no more."""
        if len(self.notes) == len(paths):
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
            _write(self._path, self._encoded())
        except OSError as error:
            _log.debug("file index not saved: %s", error)

    @cached_property
    def _kind_numbers(self) -> dict[KindRow, int]:
        return {row: number for number, row in enumerate(self.kinds)}

    @cached_property
    def _envelope(self) -> _Envelope:
        found = _load(self._path) if self._path else None
        if found is None or found.stamp != _STAMP or found.root != self._root:
            return self._empty()
        # Written in the future: the clock was set back, and times that come again prove nothing.
        return self._empty() if found.written_at_ns > self._clock_ns() else found

    def _empty(self) -> _Envelope:
        return _Envelope(_STAMP, self._root, 0, [], {}, b"")

    def _encoded(self) -> bytes:
        import msgspec

        encode = msgspec.msgpack.encode
        notes = encode(self.notes)
        # Never earlier than what was loaded: the clock may have been set back since.
        written_at_ns = max(self._clock_ns(), self._envelope.written_at_ns)
        content = encode(self._envelope._replace(written_at_ns=written_at_ns, notes=notes))
        return hashlib.sha256(content).digest() + content


def _load(path: Path) -> _Envelope | None:
    import msgspec

    try:
        data = _read(path)
        content = memoryview(data)[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != data[:_DIGEST_BYTES]:
            return None
        return msgspec.msgpack.decode(content, type=_Envelope)
    except (OSError, msgspec.MsgspecError) as error:
        _log.debug("file index ignored: %s", error)
        return None


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_INDEX_BYTES:
            return b""
        return read_descriptor(descriptor, size=status.st_size, max_bytes=_MAX_INDEX_BYTES)
    finally:
        os.close(descriptor)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # Created as open() would, not as mkstemp does: agents of other users share the file.
    descriptor = os.open(draft, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            written_at_ns = os.fstat(file.fileno()).st_mtime_ns
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _remove_leftovers(path, before_ns=written_at_ns - _LEFTOVER_AGE_NS)


def _remove_leftovers(path: Path, *, before_ns: int) -> None:
    """Drop drafts of writers that were killed; a young one may still be written."""
    for draft in path.parent.glob(f"{path.name}.*-*.tmp"):
        with contextlib.suppress(OSError):
            if draft.stat().st_mtime_ns < before_ns:
                draft.unlink()
