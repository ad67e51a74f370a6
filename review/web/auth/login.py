"""Logging in: the form, and the one-time link that `commonplace serve` prints."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus

from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from review.errors import UsageRefused
from review.web.core.responses import SeeOther, refusal

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
