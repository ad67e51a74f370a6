"""The pages for what went wrong before or under a view."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template import loader

from review.errors import Conflict, InputRejected, UsageRefused
from review.web.core.middleware import ask_for_login
from review.web.core.responses import refusal


class NoSuchPage(InputRejected):
    """Nothing is at this address."""


class NotAllowed(Conflict):
    """The user lacks a permission."""


class FormExpired(UsageRefused):
    """The form was not sent from a page of ours, or too long ago."""


class BadRequest(UsageRefused):
    """The request cannot be read."""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    error = BadRequest("the request cannot be read")
    return refusal(request, error, status=HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    error = NotAllowed(str(exception) or "you may not do this", hint="ask who runs this site")
    return refusal(request, error, status=HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; who is not logged in does not learn which addresses there are."""
    if not request.user.is_authenticated:
        return ask_for_login(request)
    error = NoSuchPage("nothing is at this address", hint="start over at /")
    return refusal(request, error, status=HTTPStatus.NOT_FOUND)


@login_not_required
def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    error = FormExpired(
        "this form is not from a page you opened, or has expired",
        hint="go back, reload the page and send it again",
    )
    return refusal(request, error, status=HTTPStatus.FORBIDDEN)


def failed(request: HttpRequest) -> HttpResponse:
    """500: a fault of ours; nothing that could fail again is asked."""
    return HttpResponseServerError(loader.get_template("review/failed.html").render({}))
