"""Formatting of the server's log: one escaped line a message, without links that log in."""

from __future__ import annotations

import copy
import logging
import re
from http import HTTPStatus
from typing import Any

from review.domain.printing import printable, printable_line

MAX_LINE = 1_000
_OURS = HTTPStatus.INTERNAL_SERVER_ERROR
# Whoever reads the log could follow one that was refused for its method, or asked of another host.
_ENTRY = re.compile(r"(/enter/)[^\s\"'?]+")


class SafeFormatter(logging.Formatter):
    """Escapes request lines, which clients control, to one line without control codes."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with a traceback where the fault is ours: what anybody can send fills no log."""
        if HTTPStatus.BAD_REQUEST <= getattr(record, "status_code", 0) < _OURS:
            record = copy.copy(record)
            record.exc_info = record.exc_text = None
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The message, on one line that is not as long as an address can be."""
        line = printable_line(_ENTRY.sub(r"\1…", super().formatMessage(record)))
        return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return printable(_ENTRY.sub(r"\1…", super().formatException(ei)))
