"""Turns answers, changes and refusals into pages, documents and redirects; limits and logins."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from django.contrib import messages
from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required, user_passes_test
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import DisallowedHost, PermissionDenied, SuspiciousOperation
from django.db import DatabaseError
from django.db.migrations.recorder import MigrationRecorder
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
    HttpResponseRedirect,
    HttpResponseServerError,
    QueryDict,
)
from django.shortcuts import render
from django.template import loader
from django.urls import is_valid_path, reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from review import store
from review.errors import Conflict, ExitCode, InputRejected, ReviewError, StoreRefused, UsageRefused
from review.upkeep.open_store import open_store

Context = Mapping[str, Any]
_View = TypeVar("_View", bound=Callable[..., HttpResponse])

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


class SeeOther(HttpResponseRedirect):
    """303: the browser fetches the next page with GET, and a reload repeats nothing."""

    status_code = HTTPStatus.SEE_OTHER


def requires(permission: str) -> Callable[[_View], _View]:
    """Restrict a view to users with a permission."""

    def holds(user: Any) -> bool:
        if not user.has_perm(permission):
            raise PermissionDenied(f"this requires the permission {permission}")
        return True

    return user_passes_test(holds)


def actor(request: HttpRequest) -> str:
    """The name that goes with a change: `human:<username>`."""
    return f"human:{cast(User, request.user).get_username()}"


def field(request: HttpRequest, name: str, *, max_length: int = 2000) -> str:
    """A text field of the form, without outer blanks; "" where it is absent or empty."""
    text = request.POST.get(name, "").strip()
    if len(text) > max_length or "\0" in text:
        raise UsageRefused(
            f"{name} is not a text of at most {max_length} characters", "missing-field"
        )
    return text


def required(request: HttpRequest, name: str, *, max_length: int = 2000) -> str:
    text = field(request, name, max_length=max_length)
    if not text:
        raise UsageRefused(f"{name} is missing", "missing-field", hint=f"fill in {name}")
    return text


def report(request: HttpRequest, **said: str) -> None:
    """Say what was done, and what was not, on the next page: texts by level, empty for none."""
    for level, text in said.items():
        if text:
            getattr(messages, level)(request, text)


def after_post(request: HttpRequest, default: str, *, focus: str = "") -> HttpResponse:
    """303 to the form's `next`, if of this site, else to `default`, with the focus."""
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
    response, secure = after_post(request, reverse("start")), request.is_secure()
    told = {name: request.POST.get(name, "") for name in CHOICES}
    for name in (name for name in CHOICES if told[name] in CHOICES[name]):
        response.set_cookie(
            f"review-{name}", told[name], YEAR, samesite="Lax", httponly=True, secure=secure
        )
    return response


# Name of the address, title, and the key that is pressed after `g`.
PLACES = (
    ("start", "Start", "h"),
    ("queue", "Queue", "q"),
    ("notes", "Notes", "n"),
    ("matrix", "Matrix", "m"),
    ("gates", "Gates", "g"),
    ("jobs", "Jobs", "j"),
    ("costs", "Costs", "c"),
    ("events", "Events", "e"),
)


def shell(request: HttpRequest) -> Mapping[str, Any]:
    here, places = request.path, [(reverse(name), *told) for name, *told in PLACES]
    chosen = {name: request.COOKIES.get(f"review-{name}", "") for name in CHOICES}
    return {
        "places": places,
        "here": next((url for url, *_ in places[1:] if here.startswith(url)), here),
        "this_page": request.get_full_path(),
        **{name: chosen[name] if chosen[name] in of else of[0] for name, of in CHOICES.items()},
    }


_log = logging.getLogger(__name__)

MAX_QUERY_BYTES = 8_000
MAX_FIELDS = 400


def answer_to(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """Return the refusal that `error` is or means; None for an internal error."""
    if isinstance(error, DatabaseError) and (known := store.refusal_of(error)):
        _log.warning("answered with %s: %s", known.code, error)
        return refusal(request, known)
    return refusal(request, error) if isinstance(error, ReviewError) else None


class RefusalMiddleware(MiddlewareMixin):
    """Answers a refusal raised by a view, and a database error that an operator can mend."""

    process_exception = staticmethod(answer_to)

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
        error = UsageRefused(
            f"the address is too long; at most {most}",
            "address-too-long",
            hint="start over at the start page",
        )
        return refusal(request, error, status=HTTPStatus.REQUEST_URI_TOO_LONG)


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
            raise PermissionDenied("these pages are for staff; ask an operator for access")
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
            raise StoreRefused("the store lacks tables for people", "store-lacks-logins", hint=hint)
        self._store_checked = True


def ask_for_login(request: HttpRequest) -> HttpResponse:
    if wants_json(request):
        error = UsageRefused("log in first", "login-needed", hint=f"at {reverse('login')}")
        return refusal(request, error, status=HTTPStatus.UNAUTHORIZED)
    return redirect_to_login(request.get_full_path(), reverse("login"))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    is_name = isinstance(exception, DisallowedHost)
    hint = "the site has another name; COMMONPLACE_HOSTS lists its names" if is_name else ""
    return refusal(request, UsageRefused("the request cannot be read", "bad-request", hint=hint))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    error = Conflict(
        str(exception) or "you may not do this", "not-allowed", hint="ask who runs this site"
    )
    return refusal(request, error, status=HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; who is not logged in does not learn which addresses there are."""
    if not request.user.is_authenticated:
        return ask_for_login(request)
    bare = request.path_info.rstrip("/")
    found = request.method == "GET" and bare != request.path_info and is_valid_path(bare)
    if found and "admin" not in found.namespaces:  # which has a view of all addresses
        return HttpResponsePermanentRedirect(request.get_full_path().replace("/?", "?").rstrip("/"))
    error = InputRejected(
        "nothing is at this address", "no-such-page", hint="start over at the start page"
    )
    return refusal(request, error, status=HTTPStatus.NOT_FOUND)  # of a form, too


@login_not_required
def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    hint = "go back, reload the page and send it again"
    if reason.startswith("Origin"):
        hint = f"{reason} A proxy must pass on Host and X-Forwarded-Proto."
    error = UsageRefused(
        "this form is not from a page you opened, or has expired", "form-expired", hint=hint
    )
    return refusal(request, error, status=HTTPStatus.FORBIDDEN)


def failed(request: HttpRequest) -> HttpResponse:
    """500: an internal error; the page uses nothing that could fail again."""
    return HttpResponseServerError(loader.get_template("review/failed.html").render({}))


_BACKEND = "django.contrib.auth.backends.ModelBackend"


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
        error = UsageRefused(
            "this link was used already, or has expired",
            "link-used",
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
