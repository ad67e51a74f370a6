"""The addresses of the pages; each module of pages lists its own."""

from __future__ import annotations

from review.web import (
    entering,
    events,
    jobs,
    looks,
    preferences,
    reading_urls,
    start,
    triage_urls,
)

urlpatterns = [
    *start.urlpatterns,
    *jobs.urlpatterns,
    *events.urlpatterns,
    *looks.urlpatterns,
    *reading_urls.urlpatterns,
    *triage_urls.urlpatterns,
    *entering.urlpatterns,
    *preferences.urlpatterns,
]
