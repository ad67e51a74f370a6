"""Turns an answer into a page or a document, and a change into a redirect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from review.errors import ExitCode, ReviewError, UsageRefused

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
    """Return the page, or `document`, as the command's `--json`, if JSON is requested."""
    if wants_json(request):
        return as_json(document() if callable(document) else document)
    return render(request, template, dict(context() if callable(context) else context))


def wants_json(request: HttpRequest) -> bool:
    """Return True if `?format=json` or the Accept header requests JSON; browsers get HTML."""
    if asked := request.GET.get("format"):
        return asked == "json"
    return request.get_preferred_type(["text/html", _JSON]) == _JSON


def as_json(document: object, *, status: int = HTTPStatus.OK) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(document) + b"\n", content_type=_JSON, status=status)


def refusal(request: HttpRequest, error: ReviewError, *, status: int | None = None) -> HttpResponse:
    """A page (or document) that says what was refused, why, and what to do."""
    if status is None:
        status = _STATUS.get(error.exit_code, HTTPStatus.INTERNAL_SERVER_ERROR)
        if status == HTTPStatus.NOT_FOUND and request.method == "POST":
            status = HTTPStatus.UNPROCESSABLE_ENTITY  # what was sent is not missing but wrong
    if wants_json(request):
        return as_json(error.document(), status=status)
    context = {"error": error, "status": HTTPStatus(status), "back": _where_from(request)}
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


NEXT = "next"
CHANGE_JOBS = "review.change_reviewjob"  # the permission to request reviews, and to recover jobs


class MissingField(UsageRefused):
    """The form lacks a field, or has one that is blank or too long."""


class SeeOther(HttpResponseRedirect):
    """303: the browser fetches the next page with GET, and a reload repeats nothing."""

    status_code = HTTPStatus.SEE_OTHER


def require_permission(request: HttpRequest, permission: str) -> None:
    if not request.user.has_perm(permission):
        raise PermissionDenied(f"this takes the permission {permission}")


def actor(request: HttpRequest) -> str:
    """The name that goes with a change: `human:<username>`."""
    return f"human:{cast(User, request.user).get_username()}"


def field(request: HttpRequest, name: str, *, max_length: int = 2000) -> str:
    """A text field of the form, without outer blanks; "" where it is absent or empty."""
    text = request.POST.get(name, "").strip()
    if len(text) > max_length or "\0" in text:
        raise MissingField(f"{name} is not a text of at most {max_length} characters")
    return text


def required(request: HttpRequest, name: str, *, max_length: int = 2000) -> str:
    text = field(request, name, max_length=max_length)
    if not text:
        raise MissingField(f"{name} is missing", hint=f"fill in {name}")
    return text


def after_post(
    request: HttpRequest, default: str, *, message: str = "", focus: str = ""
) -> HttpResponse:
    """303 to the form's `next`, if of this site, else to `default`, with message and focus."""
    if message:
        messages.success(request, message)
    target = request.POST.get(NEXT, "")
    if not url_has_allowed_host_and_scheme(target, None, require_https=request.is_secure()):
        target = default
    if focus:
        target = f"{target.partition('#')[0]}#{focus}"
    return SeeOther(target)


YEAR = 365 * 24 * 60 * 60
CHOICES = {"theme": ("auto", "light", "dark"), "keys": ("on", "off")}


@login_not_required
@require_POST
def prefer(request: HttpRequest) -> HttpResponse:
    response, secure = after_post(request, "/"), request.is_secure()
    for name, words in CHOICES.items():
        value = request.POST.get(name, "")
        if value in words:
            response.set_cookie(
                f"review-{name}", value, YEAR, samesite="Lax", httponly=True, secure=secure
            )
    return response


# Address, title, and the key that is pressed after `g`.
PLACES = (
    ("/", "Start", "h"),
    ("/queue/", "Queue", "q"),
    ("/notes/", "Notes", "n"),
    ("/matrix/", "Matrix", "m"),
    ("/gates/", "Gates", "g"),
    ("/jobs/", "Jobs", "j"),
    ("/costs/", "Costs", "c"),
    ("/events/", "Events", "e"),
)


def shell(request: HttpRequest) -> Mapping[str, Any]:
    here = request.path
    shown: dict[str, Any] = {
        "places": PLACES,
        "here": next((url for url, *_ in PLACES[1:] if here.startswith(url)), here),
        "this_page": request.get_full_path(),
    }
    for name, words in CHOICES.items():
        chosen = request.COOKIES.get(f"review-{name}", "")
        shown[name] = chosen if chosen in words else words[0]
    return shown
