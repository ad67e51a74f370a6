"""Which system calls can change what others see, by number, and what they are called."""

from __future__ import annotations

import errno
import os
import platform
from dataclasses import dataclass
from pathlib import Path

_X86_64 = {
    1: "write", 2: "open", 18: "pwrite64", 20: "writev", 40: "sendfile", 44: "sendto",
    46: "sendmsg", 74: "fsync", 75: "fdatasync", 76: "truncate", 77: "ftruncate", 82: "rename",
    83: "mkdir", 84: "rmdir", 85: "creat", 86: "link", 87: "unlink", 88: "symlink", 90: "chmod",
    91: "fchmod", 257: "openat", 258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat",
    266: "symlinkat", 268: "fchmodat", 280: "utimensat", 285: "fallocate", 296: "pwritev",
    316: "renameat2", 326: "copy_file_range", 328: "pwritev2",
}  # fmt: skip
_AARCH64 = {
    34: "mkdirat", 35: "unlinkat", 36: "symlinkat", 37: "linkat", 38: "renameat", 45: "truncate",
    46: "ftruncate", 47: "fallocate", 52: "fchmod", 53: "fchmodat", 56: "openat", 64: "write",
    66: "writev", 68: "pwrite64", 70: "pwritev", 71: "sendfile", 82: "fsync", 83: "fdatasync",
    88: "utimensat", 206: "sendto", 211: "sendmsg", 276: "renameat2", 285: "copy_file_range",
    287: "pwritev2",
}  # fmt: skip
NAMES = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine(), {})

# The place of the flags among the arguments of those that open.
FLAGS = {"open": 1, "openat": 2}
_MAKES = os.O_CREAT | os.O_TRUNC
CHANGES = _MAKES | os.O_WRONLY | os.O_RDWR
_DESCRIPTOR_FIRST = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "fsync", "fdatasync", "ftruncate"}
    | {"fallocate", "fchmod", "sendto", "sendmsg", "sendfile"}
)
_PATHS = {
    "open": (0,), "creat": (0,), "truncate": (0,), "mkdir": (0,), "rmdir": (0,), "unlink": (0,),
    "chmod": (0,), "rename": (0, 1), "link": (0, 1), "symlink": (0, 1), "openat": (1,),
    "mkdirat": (1,), "unlinkat": (1,), "fchmodat": (1,), "utimensat": (1,), "renameat": (1, 3),
    "renameat2": (1, 3), "linkat": (1, 3), "symlinkat": (0, 2),
}  # fmt: skip
# What a full disk refuses: it lets go of what it has, and still renames.
_WANTS_ROOM = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "fallocate", "ftruncate", "mkdir"}
    | {"mkdirat", "link", "linkat", "symlink", "symlinkat", "sendfile", "copy_file_range"}
)
_REACHES_THE_DISK = frozenset({"write", "pwrite64", "writev", "pwritev", "fsync", "fdatasync"})


@dataclass(frozen=True)
class Call:
    """One system call that a process is about to make."""

    name: str
    arguments: tuple[int, ...]
    paths: tuple[str, ...]

    @property
    def makes_a_file(self) -> bool:
        """Whether it opens a file that need not be there, or empties one."""
        return self.name == "creat" or bool(self._flags & _MAKES)

    @property
    def writes(self) -> bool:
        """Whether it can change what another process sees."""
        return self.makes_a_file or self.name not in FLAGS

    @property
    def _flags(self) -> int:
        return self.arguments[FLAGS[self.name]] if self.name in FLAGS else 0

    def refused_with(self, error: int) -> bool:
        """Whether a disk in the state that `error` (an errno) names refuses it."""
        if error == errno.ENOSPC:
            return self.makes_a_file or self.name in _WANTS_ROOM
        if error == errno.EROFS:
            return self.name not in FLAGS or bool(self._flags & CHANGES)
        return self.name in _REACHES_THE_DISK

    def told(self) -> str:
        """The call and its files, for people."""
        return f"{self.name} {' '.join(Path(path).name for path in self.paths)}".rstrip()


def read_call(pid: int, number: int, arguments: tuple[int, ...]) -> Call | None:
    """The call that a stopped process is about to make, if it is one of those that may write."""
    name = NAMES.get(number)
    if name is None:
        return None
    if name in FLAGS and not arguments[FLAGS[name]] & CHANGES:
        return None
    if name in _DESCRIPTOR_FIRST:
        paths: tuple[str, ...] = (_opened(pid, arguments[0]),)
    else:
        paths = tuple(_text_at(pid, arguments[index]) for index in _PATHS.get(name, ()))
    return Call(name, arguments, paths)


def _opened(pid: int, descriptor: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/fd/{descriptor & 0xFFFFFFFF}").readlink())
    except OSError:
        return ""


def _text_at(pid: int, address: int) -> str:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        data = b""
        # A page at a time: the text may end just before memory that is not there.
        while b"\0" not in data and len(data) < os.pathconf("/", "PC_PATH_MAX"):
            piece = memory.read(4096 - (address + len(data)) % 4096)
            if not piece:
                break
            data += piece
    return os.fsdecode(data.split(b"\0", 1)[0])
