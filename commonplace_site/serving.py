"""Django's own server, as `serve` runs it: it reads on only behind requests whose end is known."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer

from commonplace_site.framing import fault_of


class FramedRequestHandler(WSGIRequestHandler):
    """Refuses what has no certain end, and closes: the rest would be taken for another request."""

    def parse_request(self) -> bool:
        """Read the line and the headers; False when the request was refused."""
        if not super().parse_request():
            return False
        fault = fault_of(
            lengths=[value.strip() for value in self.headers.get_all("Content-Length", [])],
            transfer=self.headers.get("Transfer-Encoding", ""),
            content_type=self.headers.get("Content-Type", ""),
        )
        if fault is None:
            return True
        self.close_connection = True
        self.send_error(fault.status, explain=fault.why)
        return False

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log what the server itself refused: what the pages refuse, they have logged with its why."""
        if isinstance(code, HTTPStatus):
            super().log_request(code, size)


class FramedServer(WSGIServer):
    """A server with that handler, whichever it is given."""

    def __init__(self, address: tuple[str, int], handler: object, **options: Any) -> None:
        super().__init__(address, FramedRequestHandler, **options)
