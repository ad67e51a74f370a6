"""Ends the process in few words where a command cannot answer: on Ctrl-C, or for want of memory.

Imported for its effect, before all else: what is imported afterwards takes most of a start.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, whose import could be what is interrupted
if TYPE_CHECKING:
    from types import TracebackType

_INTERRUPTED = 130  # as `ExitCode` has it, which is not loaded yet
_FAILED = 1
_ENOMEM = 12  # without `errno`, whose import could be what is interrupted
# Made beforehand: there may be no room to put them together.
_NO_MEMORY = (
    b"error: the memory that this process may have is not enough\n"
    b"hint: raise its limit (ulimit -v), or free some\n"
)
_NO_MEMORY_AS_JSON = (
    b'{"schema":"error/1","code":"out-of-memory",'
    b'"message":"the memory that this process may have is not enough",'
    b'"hint":"raise its limit (ulimit -v), or free some","exit":1}\n'
)


def _end_quietly(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    end_if_without_memory(error)
    sys.__excepthook__(kind, error, traceback)


def _end_where_nothing_can_be_raised(unraisable: sys.UnraisableHookArgs) -> None:
    """Python goes on after Ctrl-C in a finalizer or a callback, as while it clears what it imported."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    _told_before(unraisable)


def end_if_without_memory(error: BaseException) -> None:
    """Where an error comes of having no memory, say so and end.

    Nothing is closed by hand, and the store is as its last transaction left it.
    """
    if not _is_want_of_memory(error):
        return
    try:
        os.write(2, _NO_MEMORY_AS_JSON if "--json" in sys.argv else _NO_MEMORY)
    finally:
        os._exit(_FAILED)


def _is_want_of_memory(error: BaseException) -> bool:
    """Whether an error, or what it came of, says that there is no more memory."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError):
            return True
        # A shared library that finds no room is an ImportError with the loader's own words.
        if isinstance(seen, ImportError) and "failed to map segment" in str(seen):
            return True
        if isinstance(seen, OSError) and seen.errno == _ENOMEM:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


_told_before = sys.unraisablehook
sys.excepthook = _end_quietly
sys.unraisablehook = _end_where_nothing_can_be_raised
