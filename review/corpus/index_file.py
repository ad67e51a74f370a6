"""The file that the file index is kept in: a head, and rows of notes in shards that are read apart."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import zlib
from typing import TYPE_CHECKING, NamedTuple

from review.corpus.reading import read_descriptor
from review.folders import make_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MAX_BYTES = 1 << 30
_ROWS_A_SHARD = 64
_MAX_SHARDS = 256
_SIZE_BYTES = 8
_START_BYTES = _SIZE_BYTES + 32  # the size of the head, and its SHA-256
_LEFTOVER_AGE_NS = 3_600_000_000_000


class Shard(NamedTuple):
    """Where rows of some notes lie: bytes after the head, and their SHA-256."""

    offset: int
    size: int
    sha256: bytes


def shard_count(rows: int) -> int:
    """How many shards so many rows are kept in: a look for one of them reads few others."""
    return max(1, min(_MAX_SHARDS, rows // _ROWS_A_SHARD))


def shard_of(path: str, count: int) -> int:
    """The number of the shard that the row of a path lies in."""
    return zlib.crc32(path.encode("utf-8", "surrogatepass")) % count


class Head(NamedTuple):
    """The head as it is in the file, and how many bytes come after it."""

    data: bytes
    rest: int


def read_head(path: Path) -> Head | None:
    """The head; None where it is damaged, or the file is none of ours.

    :raises OSError: there is no such file, or it may not be read.
    """
    with _opened(path) as descriptor:
        start = os.pread(descriptor, _START_BYTES, 0) if descriptor >= 0 else b""
        size = int.from_bytes(start[:_SIZE_BYTES])
        # No more than there is: a size that was flipped must not ask for a gigabyte.
        rest = os.fstat(descriptor).st_size - _START_BYTES - size if start else -1
        if len(start) < _START_BYTES or rest < 0:
            return None
        data = os.pread(descriptor, size, _START_BYTES)
    return Head(data, rest) if hashlib.sha256(data).digest() == start[_SIZE_BYTES:] else None


def read_shards(path: Path, head: int, shards: Sequence[Shard]) -> list[bytes]:
    """The bytes of some shards; b"" for one that is damaged, or of another head by now.

    :param head: the size of the head, in bytes.
    :raises OSError: the file cannot be read any more.
    """
    start = _START_BYTES + head
    with _opened(path) as descriptor:
        if descriptor < 0:
            return [b""] * len(shards)
        size = os.fstat(descriptor).st_size
        if sum(shard.size for shard in shards) * 2 > size:
            data = read_descriptor(descriptor, size=size, max_bytes=MAX_BYTES)[start:]
            found = [data[item.offset : item.offset + item.size] for item in shards]
        else:
            found = [os.pread(descriptor, item.size, start + item.offset) for item in shards]
    return [
        data if hashlib.sha256(data).digest() == shard.sha256 else b""
        for data, shard in zip(found, shards, strict=True)
    ]


def lay_out(pieces: Iterable[bytes]) -> list[Shard]:
    """Where each piece will lie."""
    found: list[Shard] = []
    offset = 0
    for piece in pieces:
        found.append(Shard(offset, len(piece), hashlib.sha256(piece).digest()))
        offset += len(piece)
    return found


def write(path: Path, head: bytes, pieces: Iterable[bytes]) -> None:
    """Put a whole file in place.

    :raises OSError: the system refused; the old file is still there.
    """
    make_private(path.parent)
    draft = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # Created as open() would, not as mkstemp does: agents of other users share the file.
    descriptor = os.open(draft, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(len(head).to_bytes(_SIZE_BYTES) + hashlib.sha256(head).digest() + head)
            file.writelines(pieces)
            written_at_ns = os.fstat(file.fileno()).st_mtime_ns
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _remove_leftovers(path, before_ns=written_at_ns - _LEFTOVER_AGE_NS)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor to read from; -1 for what is no regular file, or too large to be an index."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        is_one = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
        yield descriptor if is_one else -1
    finally:
        os.close(descriptor)


def _remove_leftovers(path: Path, *, before_ns: int) -> None:
    """Drop drafts of writers that were killed; a young one may still be written."""
    for draft in path.parent.glob(f"{path.name}.*-*.tmp"):
        with contextlib.suppress(OSError):
            if draft.stat().st_mtime_ns < before_ns:
                draft.unlink()
