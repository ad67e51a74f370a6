"""Ends the process without a traceback on Ctrl-C.

Imported for its effect, before all else: what is imported afterwards takes most of a start.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, whose import could be what is interrupted
if TYPE_CHECKING:
    from types import TracebackType

_INTERRUPTED = 130  # as `ExitCode` has it, which is not loaded yet


def _end_quietly(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    sys.__excepthook__(kind, error, traceback)


sys.excepthook = _end_quietly
