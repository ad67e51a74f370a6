"""Turns an answer into a page, or into the JSON document that the command of the same name prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from review.errors import ExitCode, ReviewError

Context = Mapping[str, Any]

_JSON = "application/json"
_STATUS = {
    ExitCode.USAGE: HTTPStatus.BAD_REQUEST,
    ExitCode.CONFLICT: HTTPStatus.CONFLICT,
    ExitCode.INPUT_REJECTED: HTTPStatus.NOT_FOUND,
    ExitCode.FAILED: HTTPStatus.SERVICE_UNAVAILABLE,
    ExitCode.TRY_AGAIN: HTTPStatus.SERVICE_UNAVAILABLE,
}


def page(
    request: HttpRequest,
    template: str,
    context: Context | Callable[[], Context],
    *,
    document: msgspec.Struct | Callable[[], msgspec.Struct],
) -> HttpResponse:
    """Return the page, or the document if JSON is requested; the other is not computed.

    :param document: the same answer as the command's `--json`, or a function that gives it.
    """
    if wants_json(request):
        return as_json(document() if callable(document) else document)
    return render(request, template, dict(context() if callable(context) else context))


def wants_json(request: HttpRequest) -> bool:
    """Return True if `?format=json` or the Accept header requests JSON; browsers get HTML."""
    asked = request.GET.get("format")
    if asked:
        return asked == "json"
    return request.get_preferred_type(["text/html", _JSON]) == _JSON


def as_json(document: object, *, status: int = HTTPStatus.OK) -> HttpResponse:
    body = msgspec.json.encode(document) + b"\n"
    return HttpResponse(body, content_type=_JSON, status=status)


def refusal(request: HttpRequest, error: ReviewError, *, status: int | None = None) -> HttpResponse:
    """A page (or document) that says what was refused, why, and what to do."""
    if status is None:
        status = _STATUS.get(error.exit_code, HTTPStatus.INTERNAL_SERVER_ERROR)
        if status == HTTPStatus.NOT_FOUND and request.method == "POST":
            status = HTTPStatus.UNPROCESSABLE_ENTITY  # what was sent is not missing but wrong
    if wants_json(request):
        return as_json(error.document(), status=status)
    context = {
        "error": error,
        "status": status,
        "phrase": HTTPStatus(status).phrase,
        "back": _where_from(request),
    }
    return render(request, "review/refused.html", context, status=status)


def _where_from(request: HttpRequest) -> str:
    """Return our own page that led here, without its host; "" for none, or for this page itself."""
    try:
        from_page = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return ""
    place = from_page._replace(scheme="", netloc="", fragment="").geturl()
    is_ours = from_page.netloc and from_page.netloc == request.headers.get("Host")
    return place if is_ours and place.startswith("/") and place != request.get_full_path() else ""
