"""What is around every page: the navigation, and what the person set for this browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from review.web.preferences import preference


@dataclass(frozen=True)
class Place:
    """An entry of the navigation; `key` is pressed after `g`."""

    url: str
    title: str
    key: str


PLACES = (
    Place("/", "Start", "h"),
    Place("/queue/", "Queue", "q"),
    Place("/notes/", "Notes", "n"),
    Place("/matrix/", "Matrix", "m"),
    Place("/gates/", "Gates", "g"),
    Place("/jobs/", "Jobs", "j"),
    Place("/events/", "Events", "e"),
)


def shell(request: HttpRequest) -> Mapping[str, Any]:
    here = request.path
    return {
        "places": PLACES,
        "here": next((p.url for p in PLACES[1:] if here.startswith(p.url)), here),
        "theme": preference(request, "theme"),
        "keys": preference(request, "keys"),
        "this_page": request.get_full_path(),
    }
