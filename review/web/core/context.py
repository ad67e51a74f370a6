"""The context of every page: the navigation, and what the person set for this browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from review.web.core.preferences import preference

# Address, title, and the key that is pressed after `g`.
_PLACES = (
    ("/", "Start", "h"),
    ("/queue/", "Queue", "q"),
    ("/notes/", "Notes", "n"),
    ("/matrix/", "Matrix", "m"),
    ("/gates/", "Gates", "g"),
    ("/jobs/", "Jobs", "j"),
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
