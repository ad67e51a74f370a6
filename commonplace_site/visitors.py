"""The address of a visitor behind a team's proxy, and the answer to one that is locked out."""

from __future__ import annotations

import ipaddress
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

from review.errors import TryAgain
from review.web.core.responses import refusal


def address_of(request: HttpRequest) -> str:
    """The address the proxy took the request from: what it appended last, else the peer's own."""
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(forwarded))
    except ValueError:
        return str(request.META.get("REMOTE_ADDR", ""))


def locked_out(
    request: HttpRequest, original_response: object = None, credentials: Any = None
) -> HttpResponse:
    error = TryAgain(
        "too many wrong passwords for this name from where you are",
        "too-many-guesses",
        hint="wait a quarter of an hour, then try again",
    )
    return refusal(request, error, status=HTTPStatus.TOO_MANY_REQUESTS)
