"""Django's own server, as `serve` runs it: it reads on only behind requests whose end is known."""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import Any, cast

from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer

from commonplace_site.framing import Fault, fault_of
from commonplace_site.incoming import Incoming, RequestStalled


class FramedRequestHandler(WSGIRequestHandler):
    """Refuses what has no certain end, and closes: the rest would be taken for another request.

    The body is read before the application is asked, which then waits for no client.
    """

    patience = 30.0  # seconds without a byte, of a request and between two
    longest = 120.0  # seconds for a whole request

    def setup(self) -> None:
        """Read with patience that ends."""
        super().setup()
        self.rfile.close()
        connection: Any = self.connection
        self._incoming = Incoming(connection, patience=self.patience, longest=self.longest)
        self.rfile = self._stream = cast(Any, io.BufferedReader(self._incoming))

    def handle_one_request(self) -> None:
        """Answer one request, refuse one that stalls, or leave where none comes."""
        self.requestline = self.request_version = self.command = ""
        try:
            if not self._is_asked():
                self.close_connection = True
                return
            self._incoming.begin()
            super().handle_one_request()
        except RequestStalled:
            why = "the request did not arrive in time"
            self._refuse(Fault(HTTPStatus.REQUEST_TIMEOUT, why))
        finally:
            self.rfile = self._stream
            self._incoming.rest()

    def parse_request(self) -> bool:
        """Read the line, the headers and the body; False when the request was refused."""
        if not super().parse_request():
            return False
        lengths = [value.strip() for value in self.headers.get_all("Content-Length", [])]
        fault = fault_of(
            lengths=lengths,
            transfer=self.headers.get("Transfer-Encoding", ""),
            content_type=self.headers.get("Content-Type", ""),
        )
        if fault is not None:
            self._refuse(fault)
            return False
        length = int(lengths[0]) if lengths else 0
        body = self._stream.read(length)
        if len(body) < length:
            self._refuse(Fault(HTTPStatus.BAD_REQUEST, "the body ends before its length"))
            return False
        self.rfile = io.BytesIO(body)
        return True

    def _is_asked(self) -> bool:
        """Whether a request begins before the client leaves, or says nothing for too long."""
        try:
            return bool(self._stream.peek(1))
        except RequestStalled:
            return False

    def _refuse(self, fault: Fault) -> None:
        self.close_connection = True
        self.send_error(fault.status, explain=fault.why)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log what the server itself refused: what the pages refuse, they have logged with its why."""
        if isinstance(code, HTTPStatus):
            super().log_request(code, size)


class FramedServer(WSGIServer):
    """A server with that handler, whichever it is given."""

    def __init__(self, address: tuple[str, int], handler: object, **options: Any) -> None:
        super().__init__(address, FramedRequestHandler, **options)
