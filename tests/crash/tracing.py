"""Runs a child of this process from write to write, and strikes at the one that is named.

It is `ptrace`, so what is counted are the writes that really happen, SQLite's own among them. A
store into mapped memory is none: the index of SQLite's log is, and is made anew by the next one.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from tests.crash.call_filter import filter_calls
from tests.crash.system_calls import NAMES, Call, read_call

_TRACEME, _POKE_REGISTER, _CONTINUE, _TO_EXIT = 0, 6, 7, 24
_SET_OPTIONS, _GET_CALL = 0x4200, 0x420E
# Exits marked; forks, threads, new programs and filtered calls told; nobody outlives the tracer.
_OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x00100000
_WALL = 0x40000000
_EXIT_STOP = signal.SIGTRAP | 0x80
_FILTERED = 7
# Where x86-64 keeps them while a process is stopped: the number, the answer, the third argument.
_NUMBER, _ANSWER, _LENGTH = 120, 80, 96
_COUNTED = frozenset({"write", "pwrite64"})

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Moment(StrEnum):
    """When to strike: the call is not made, is made, or has written half of what it should."""

    BEFORE = "before"
    AFTER = "after"
    HALFWAY = "halfway"


@dataclass(frozen=True)
class Plan:
    """What to do at the writing system call of number `at`, counted from 1; 0: count only.

    :param error: instead of a kill, this call and all later ones are refused with this errno, as
        far as it concerns them and files below `below`.
    :param command: instead of a kill, run this and let the process go on.
    """

    at: int = 0
    moment: Moment = Moment.BEFORE
    error: int = 0
    below: str = ""
    command: Sequence[str] = ()


@dataclass
class Traced:
    """How the child ended (an exit code, or less than 0: the signal), and the calls it made."""

    status: int = 0
    calls: list[str] = field(default_factory=list)
    struck: str = ""


def can_change_calls() -> bool:
    """Whether calls can be refused and halved here, and not only counted and killed at."""
    return platform.machine() == "x86_64"


def can_trace() -> bool:
    """Whether this machine lets a process trace its child, and its system calls are known."""
    if not NAMES:
        return False
    pid = spawn(lambda: 0)
    try:
        return follow(pid, Plan()).status == 0
    except OSError:
        return False


def spawn(work: Callable[[], int], *, traced: bool = True, first: Callable[[], None] = int) -> int:
    """Fork a child that does `first`, waits for `follow` if it is traced, and then does `work`."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        first()
        if traced:
            _trace(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            filter_calls()
        code = work()
    finally:
        if sys.exc_info()[0] is not None:
            sys.excepthook(*sys.exc_info())
        os._exit(code)


def follow(pid: int, plan: Plan) -> Traced:
    """Let the stopped child run to its end as `plan` says."""
    os.waitpid(pid, 0)
    _trace(_SET_OPTIONS, pid, 0, _OPTIONS)
    tracer = _Tracer(pid, plan)
    _trace(_CONTINUE, pid)
    while not tracer.step():
        pass
    tracer.end_the_others()
    return tracer.traced


class _Tracer:
    def __init__(self, pid: int, plan: Plan) -> None:
        self._pid = pid
        self._plan = plan
        self._refused: dict[int, int] = {}
        self._ends_after: set[int] = set()
        self._new: set[int] = {pid}
        self._ended: set[int] = set()
        self.traced = Traced()

    def step(self) -> bool:
        """Wait for the next stop and let it go on; True when the child has ended."""
        thread, status = os.waitpid(-1, _WALL)
        if not os.WIFSTOPPED(status):
            self._ended.add(thread)
            self.traced.status = os.waitstatus_to_exitcode(status)
            return thread == self._pid
        delivered = 0
        if os.WSTOPSIG(status) == _EXIT_STOP:
            self._at_exit(thread)
        elif status >> 16 == _FILTERED:
            self._at_call(thread)
        elif status >> 16 == 0 and not self._is_birth(thread, os.WSTOPSIG(status)):
            delivered = os.WSTOPSIG(status)
        waits = thread in self._refused or thread in self._ends_after
        with suppress(ProcessLookupError):  # killed just now: its end is the next to be told
            _trace(_TO_EXIT if waits else _CONTINUE, thread, 0, delivered)
        return False

    def end_the_others(self) -> None:
        """End what the child had started: it would stand still, and be taken for the next one's."""
        for process in self._new - self._ended:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(process, _WALL)

    def _is_birth(self, thread: int, number: int) -> bool:
        """A new thread starts with a stop that is not for it."""
        born = thread not in self._new and number == signal.SIGSTOP
        self._new.add(thread)
        return born

    def _at_call(self, thread: int) -> None:
        found = ctypes.create_string_buffer(88)
        _trace(_GET_CALL, thread, len(found), ctypes.addressof(found))
        number, *arguments = struct.unpack_from("<7Q", found.raw, 24)
        call = read_call(thread, number, tuple(arguments))
        if call is not None:
            self._at_entry(thread, call)

    def _at_exit(self, thread: int) -> None:
        if thread in self._ends_after:
            os.kill(self._pid, signal.SIGKILL)
        if thread in self._refused:
            answer = -self._refused.pop(thread) & 0xFFFFFFFFFFFFFFFF
            _trace(_POKE_REGISTER, thread, _ANSWER, answer)

    def _at_entry(self, thread: int, call: Call) -> None:
        plan, number = self._plan, len(self.traced.calls) + 1
        if call.writes:
            self.traced.calls.append(call.told())
        if plan.error:
            if plan.at and len(self.traced.calls) >= plan.at:
                self._refuse(thread, call)
        elif call.writes and number == plan.at:
            self.traced.struck = call.told()
            self._strike(thread, call)

    def _refuse(self, thread: int, call: Call) -> None:
        below = any(path.startswith(self._plan.below) for path in call.paths)
        if not below or not call.refused_with(self._plan.error):
            return
        self.traced.struck = self.traced.struck or call.told()
        _trace(_POKE_REGISTER, thread, _NUMBER, 0xFFFFFFFFFFFFFFFF)
        self._refused[thread] = self._plan.error

    def _strike(self, thread: int, call: Call) -> None:
        if self._plan.command:
            subprocess.run(self._plan.command, check=True, stdout=subprocess.DEVNULL)
        elif self._plan.moment is Moment.BEFORE:
            os.kill(self._pid, signal.SIGKILL)
        else:
            if self._plan.moment is Moment.HALFWAY and call.name in _COUNTED:
                _trace(_POKE_REGISTER, thread, _LENGTH, call.arguments[2] // 2)
            self._ends_after.add(thread)


def _trace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
