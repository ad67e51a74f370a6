"""Has the kernel stop a traced process at the system calls that may write, and at no others.

Without it a child would stop at each of some ten thousand calls, and be slow where others compute.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

from tests.crash.system_calls import CHANGES, FLAGS, NAMES

_NO_NEW_PRIVILEGES, _SET_FILTER, _BY_PROGRAM = 38, 22, 2
_LOAD, _IF_EQUAL, _IF_ANY, _ANSWER = 0x20, 0x15, 0x45, 0x06
_ALLOW, _TELL = 0x7FFF0000, 0x7FF00000
_FIRST_ARGUMENT = 16


def filter_calls() -> None:
    """Filter the calls of this process and of all it forks, for good."""
    program = b"".join(struct.pack("<HBBI", *line) for line in _lines())
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_FILTER, _BY_PROGRAM, described, 0, 0)):
        if libc.prctl(*(ctypes.c_ulong(word) if isinstance(word, int) else word for word in words)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _lines() -> Iterator[tuple[int, int, int, int]]:
    """The program: operation, lines to skip if so, lines to skip if not, operand."""
    opening = [(number, FLAGS[name]) for number, name in NAMES.items() if name in FLAGS]
    plain = [number for number, name in NAMES.items() if name not in FLAGS]
    yield _LOAD, 0, 0, 0
    left = len(plain) + 3 * len(opening)
    for number in plain:
        left -= 1
        yield _IF_EQUAL, left + 1, 0, number
    for number, place in opening:
        left -= 3
        yield _IF_EQUAL, 0, 2, number
        yield _LOAD, 0, 0, _FIRST_ARGUMENT + 8 * place
        yield _IF_ANY, left + 1, left, CHANGES
    yield _ANSWER, 0, 0, _ALLOW
    yield _ANSWER, 0, 0, _TELL
