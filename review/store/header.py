"""What an SQLite file's first bytes say: whether it is one, and whether it is ours."""

from __future__ import annotations

# Written into the file's header, so that a store is known before anything opens it.
APPLICATION_ID = 0x436D5052
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
ID_OFFSET = 68
