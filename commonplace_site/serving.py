"""Django's own server, as `serve` runs it: a request is read completely before it is handled."""

from __future__ import annotations

import io
import re
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer

_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)


class WholeRequestHandler(WSGIRequestHandler):
    """Refuses a body without a certain end, and closes: the rest would be taken for another request."""

    timeout = 30.0  # seconds without a byte, of a request and between two

    def handle_one_request(self) -> None:
        """Answer one request; close without an answer where the next byte does not come in time."""
        stream = self.rfile
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True
        finally:
            self.rfile = stream

    def parse_request(self) -> bool:
        """Read the line, the headers and the body; False when the request was refused."""
        if not super().parse_request():
            return False
        length, *others = {value.strip() for value in self.headers.get_all("Content-Length", ["0"])}
        if others or "Transfer-Encoding" in self.headers or not _LENGTH.fullmatch(length):
            return self._refuse(HTTPStatus.BAD_REQUEST, "the length of the body is not known")
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if int(length) > most:
            return self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {most:,} bytes"
            )
        self.rfile = io.BytesIO(self.rfile.read(int(length)))
        if len(self.rfile.getbuffer()) < int(length):
            return self._refuse(HTTPStatus.BAD_REQUEST, "the body ends before its length")
        return True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log only what the server itself refused: the pages log what they refuse, with the reason."""
        if isinstance(code, HTTPStatus):
            super().log_request(code, size)

    def _refuse(self, status: HTTPStatus, why: str) -> bool:
        self.close_connection = True
        self.send_error(status, explain=why)
        return False


class WholeRequestServer(WSGIServer):
    def __init__(self, address: tuple[str, int], handler: object, **options: Any) -> None:
        super().__init__(address, WholeRequestHandler, **options)
