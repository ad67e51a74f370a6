"""What a client sends, read with patience that ends: a byte that never comes holds no thread."""

from __future__ import annotations

import io
import socket
import time
from math import inf
from typing import Any


class RequestStalled(TimeoutError):
    """A request, or its next byte, does not come."""


class Incoming(io.RawIOBase):
    """The bytes of one connection; answers to it are written without haste."""

    def __init__(self, connection: socket.socket, *, patience: float, longest: float) -> None:
        """Take the connection.

        :param patience: seconds without a byte.
        :param longest: seconds from `begin` to the last byte that is read.
        """
        self._connection = connection
        self._patience = patience
        self._longest = longest
        self._until = inf

    def begin(self) -> None:
        """A request begins: from here on its time as a whole is counted."""
        self._until = time.monotonic() + self._longest

    def rest(self) -> None:
        """No request is under way."""
        self._until = inf

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what there is, at least a byte; 0 at the end.

        :raises RequestStalled: nothing comes in time.
        """
        left = min(self._patience, self._until - time.monotonic())
        if left <= 0:
            raise RequestStalled("the request takes too long")
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        except TimeoutError as error:
            raise RequestStalled("the next byte does not come") from error
        finally:
            self._connection.settimeout(None)
