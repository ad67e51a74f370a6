"""The start page: what needs a person, and where everything stands."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review.contracts.jobs import JobListJson
from review.web.pages import page


def start(request: HttpRequest) -> HttpResponse:
    """What needs a person."""
    return page(request, "review/start.html", {}, document=JobListJson(jobs=[]))


urlpatterns = [path("", start, name="start")]
