"""The stat signature of a file: what tells, without reading it, that its content is the one we know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os

# A file changed twice within one tick of its file system's clock keeps its times. The coarsest
# clocks in use count two seconds (FAT); a file younger than this when read is read again next time.
RACY_WINDOW_NS = 2_500_000_000
# Where no change time is kept it is the modification time, which anyone can set: FAT, exFAT, images
# that are mounted read-only and built with one time for all files. Their times are whole seconds or
# hundredths; a clock of nanoseconds gives such a number once in ten million.
_COARSE_GRAIN_NS = 10_000_000
_EARLIEST_NS = -(1 << 63)  # what the index can write down; some file systems take any time


class StatSignature(NamedTuple):
    """Size in bytes, times in nanoseconds, inode and device; equal means unchanged.

    A named tuple because tens of thousands are made and compared by every selector. `ctime_ns`
    is what a restored mtime cannot hide, the inode what a file moved into place cannot.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    def is_settled(self, *, read_at_ns: int) -> bool:
        """Whether a change after a read at that moment is sure to show in the times."""
        return (
            max(self.mtime_ns, self.ctime_ns) + RACY_WINDOW_NS < read_at_ns
            and self.ctime_ns % _COARSE_GRAIN_NS != 0
            and self.mtime_ns >= _EARLIEST_NS
        )


def signature_of(status: os.stat_result) -> StatSignature:
    return StatSignature(
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    )
