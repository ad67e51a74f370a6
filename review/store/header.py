"""What an SQLite file's first bytes say: whether it is one, and whether it is ours."""

from __future__ import annotations

from pathlib import Path

# Written into the file's header, so that a store is known before anything opens it.
APPLICATION_ID = 0x436D5052
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
ID_OFFSET = 68


def is_database(header: bytes) -> bool:
    """Whether these first bytes are those of an SQLite file."""
    return header.startswith(MAGIC) and len(header) >= HEADER_BYTES


def has_our_mark(header: bytes) -> bool:
    """Whether these first bytes are those of a store of ours."""
    mark = int.from_bytes(header[ID_OFFSET : ID_OFFSET + 4], "big")
    return is_database(header) and mark == APPLICATION_ID


def is_marked_store(path: Path) -> bool:
    """Whether the file, which this process must not have open, bears our mark.

    :raises OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        return has_our_mark(stream.read(HEADER_BYTES))
