"""Middleware: limits, a usable store, a login with its one-time link, refusals as pages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DatabaseError
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, HttpResponseServerError, QueryDict
from django.template import loader
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from review import store
from review.errors import Conflict, InputRejected, ReviewError, StoreRefused, UsageRefused
from review.upkeep.open_store import open_store
from review.web.core.responses import SeeOther, refusal, wants_json

_log = logging.getLogger(__name__)

MAX_QUERY_BYTES = 8_000
MAX_FIELDS = 400


class AddressTooLong(UsageRefused):
    code = "address-too-long"


class LoginNeeded(UsageRefused):
    code = "login-needed"


class StoreLacksLogins(StoreRefused):
    """Only agents have used the store so far, or an older version: it lacks tables for people."""


class RefusalMiddleware(MiddlewareMixin):
    """Answers a refusal raised by a view, and a database error that an operator can mend."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        # What depends on who asks is kept by no cache between us.
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_cache=True)
        patch_vary_headers(response, ("Accept",))
        return response

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Refuse an address that is too long."""
        query = str(request.META.get("QUERY_STRING", ""))
        # The administration hands what it is given to the database.
        if "%00" in query and request.path.startswith(reverse("admin:index")):
            raise SuspiciousOperation("no text in a database holds a NUL character")
        if len(query) <= MAX_QUERY_BYTES and query.count("&") < MAX_FIELDS:
            return None
        # The page of the refusal would read the fields again.
        request.GET = QueryDict("")
        most = f"{MAX_QUERY_BYTES:,} bytes in {MAX_FIELDS} fields"
        error = AddressTooLong(f"the address is too long; at most {most}", hint="start over at /")
        return refusal(request, error, status=HTTPStatus.REQUEST_URI_TOO_LONG)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return answer_to(request, error)


class AccessMiddleware(MiddlewareMixin):
    """Restricts pages that are not marked `login_not_required` to staff."""

    _store_checked = False

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: object, kwargs: object
    ) -> HttpResponse | None:
        is_open = not getattr(view, "login_required", True)
        if is_open and request.method != "POST":
            return None
        if request.session.session_key is None and request.method != "POST":
            return ask_for_login(request)
        try:
            self._check_store()
            known = request.user.is_authenticated
        except (ReviewError, DatabaseError) as error:
            # The page of the refusal would ask the store who this is.
            request.user = AnonymousUser()
            if answer := answer_to(request, error):
                return answer
            raise
        if not (is_open or known):
            return ask_for_login(request)
        if not (is_open or request.user.is_staff):
            raise PermissionDenied("these pages are for staff; ask an operator to make you that")
        return None

    def _check_store(self) -> None:
        """Once a process: an older store, or one without our tables, is named and not touched."""
        if self._store_checked:
            store.recheck_store()
            return
        open_store(write=False)
        applied = MigrationRecorder.Migration.objects.filter(app__in=("auth", "sessions"))
        if applied.values("app").distinct().count() < 2:
            hint = "run: commonplace migrate"
            raise StoreLacksLogins("the store lacks tables for people", hint=hint)
        self._store_checked = True


def ask_for_login(request: HttpRequest) -> HttpResponse:
    if wants_json(request):
        error = LoginNeeded("log in first", hint=f"at {reverse('login')}")
        return refusal(request, error, status=HTTPStatus.UNAUTHORIZED)
    return redirect_to_login(request.get_full_path(), reverse("login"))


def answer_to(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """Return the refusal that `error` is or means; None for an internal error."""
    if isinstance(error, DatabaseError) and (known := store.refusal_of(error)):
        _log.warning("answered with %s: %s", known.code, error)
        return refusal(request, known)
    return refusal(request, error) if isinstance(error, ReviewError) else None


class NoSuchPage(InputRejected):
    """No page has this address."""


class NotAllowed(Conflict):
    """The user lacks a permission."""


class FormExpired(UsageRefused):
    """The form was not sent from one of our pages, or its token has expired."""


class BadRequest(UsageRefused):
    """The request cannot be read."""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal(request, BadRequest("the request cannot be read"))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    error = NotAllowed(str(exception) or "you may not do this", hint="ask who runs this site")
    return refusal(request, error, status=HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; who is not logged in does not learn which addresses there are."""
    if not request.user.is_authenticated:
        return ask_for_login(request)
    error = NoSuchPage("nothing is at this address", hint="start over at /")
    return refusal(request, error, status=HTTPStatus.NOT_FOUND)  # of a form, too


@login_not_required
def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    error = FormExpired(
        "this form is not from a page you opened, or has expired",
        hint="go back, reload the page and send it again",
    )
    return refusal(request, error, status=HTTPStatus.FORBIDDEN)


def failed(request: HttpRequest) -> HttpResponse:
    """500: an internal error; the page uses nothing that could fail again."""
    return HttpResponseServerError(loader.get_template("review/failed.html").render({}))


_BACKEND = "django.contrib.auth.backends.ModelBackend"


class LinkUsed(UsageRefused):
    """The one-time link was used, has expired, or was never made."""


class _EntryTokens(PasswordResetTokenGenerator):
    """Tokens that the login they lead to ends, since it moves `last_login`."""

    key_salt = "review.web.auth.login"

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        # To the microsecond: Django's own leaves them out, and two logins in one second are alike.
        moment = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk} {user.password} {moment} {timestamp}"


_tokens = _EntryTokens()


def entry_path(user: User) -> str:
    return reverse("enter", args=[user.pk, _tokens.make_token(user)])


@login_not_required
@require_GET
def enter(request: HttpRequest, user_id: int, token: str) -> HttpResponse:
    """Log in the link's user, and redirect to the start page, whose address reveals nothing."""
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None or not _tokens.check_token(user, token) or not _spend(user, timezone.now()):
        error = LinkUsed(
            "this link was used already, or has expired",
            hint="print a new one with: commonplace serve --link",
        )
        return refusal(request, error, status=HTTPStatus.FORBIDDEN)
    login(request, user, backend=_BACKEND)
    target = request.GET.get("next", "")
    local = url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return SeeOther(target if local else reverse("start"))


def _spend(user: User, now: datetime) -> bool:
    """True for the first request with the link: of two at once, only one updates `last_login`."""
    users = get_user_model().objects.filter(pk=user.pk, last_login=user.last_login)
    return bool(users.update(last_login=now))
