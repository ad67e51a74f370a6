"""The context of every page: the navigation, and what the person set for this browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


# Address, title, and the key that is pressed after `g`.
_PLACES = (
    ("/", "Start", "h"),
    ("/queue/", "Queue", "q"),
    ("/notes/", "Notes", "n"),
    ("/matrix/", "Matrix", "m"),
    ("/gates/", "Gates", "g"),
    ("/jobs/", "Jobs", "j"),
    ("/costs/", "Costs", "c"),
    ("/events/", "Events", "e"),
)
PLACES = [{"url": url, "title": title, "key": key} for url, title, key in _PLACES]


def shell(request: HttpRequest) -> Mapping[str, Any]:
    here = request.path
    return {
        "places": PLACES,
        "here": next((url for url, *_ in _PLACES[1:] if here.startswith(url)), here),
        "theme": preference(request, "theme"),
        "keys": preference(request, "keys"),
        "this_page": request.get_full_path(),
    }


urlpatterns = [path("preferences/", prefer, name="preferences")]
