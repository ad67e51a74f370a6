"""What a person set for this browser: the colours, and single-key shortcuts on or off."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_POST

from review.web.core.actions import after_post

YEAR = 365 * 24 * 60 * 60
CHOICES = {"theme": ("auto", "light", "dark"), "keys": ("on", "off")}


def preference(request: HttpRequest, name: str) -> str:
    value = request.COOKIES.get(f"review-{name}", "")
    return value if value in CHOICES[name] else CHOICES[name][0]


@login_not_required
@require_POST
def prefer(request: HttpRequest) -> HttpResponse:
    response = after_post(request, "/")
    for name, words in CHOICES.items():
        value = request.POST.get(name, "")
        if value in words:
            response.set_cookie(
                f"review-{name}",
                value,
                max_age=YEAR,
                samesite="Lax",
                httponly=True,
                secure=request.is_secure(),
            )
    return response


urlpatterns = [path("preferences/", prefer, name="preferences")]
