"""What a request says of its own body, held against what can be read, before anything reads it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.utils.http import parse_header_parameters

_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass(frozen=True)
class Fault:
    """Why a request cannot be read, and the status that says so."""

    status: HTTPStatus
    why: str


def fault_of(*, lengths: Sequence[str], transfer: str, content_type: str) -> Fault | None:
    """What is wrong with the frame of a request, or None.

    :param lengths: every `Content-Length` that was sent.
    :param transfer: `Transfer-Encoding`; a body without a length is read by nothing here.
    """
    if transfer:
        return Fault(HTTPStatus.LENGTH_REQUIRED, "send the body whole, with its length")
    if len(set(lengths)) > 1:
        return Fault(HTTPStatus.BAD_REQUEST, "the request gives two lengths")
    for length in lengths:
        if not _NUMBER.fullmatch(length):
            return Fault(HTTPStatus.BAD_REQUEST, "the length of the request is no number")
        if int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            most = f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes"
            return Fault(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {most}")
    if not _is_readable(content_type):
        return Fault(HTTPStatus.BAD_REQUEST, "the type of the request cannot be read")
    return None


def _is_readable(content_type: str) -> bool:
    """Whether it can be taken apart; a character set that nobody knows is the reader's to ignore."""
    try:
        _kind, parameters = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        return False
    try:
        codecs.lookup(parameters.get("charset", "utf-8"))
    except LookupError:
        return True
    except ValueError:
        return False
    return True


class Framed:
    """The application behind a look at the frame: some servers hand on what it could not read."""

    def __init__(self, application: Application) -> None:
        """Take the WSGI application."""
        self._application = application

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Hand on, or refuse in one line of text."""
        length = environ.get("CONTENT_LENGTH", "")
        fault = fault_of(
            lengths=[length] if length else [],
            transfer=environ.get("HTTP_TRANSFER_ENCODING", ""),
            content_type=environ.get("CONTENT_TYPE", ""),
        )
        if fault is None:
            return self._application(environ, start_response)
        status = f"{fault.status.value} {fault.status.phrase}"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return iter([f"{fault.why}\n".encode()])
