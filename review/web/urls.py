"""The addresses of the pages; each module of pages lists its own."""

from __future__ import annotations

from review.web import (
    diffs,
    entering,
    events,
    findings,
    gates,
    jobs,
    looks,
    matrix,
    notes,
    picking,
    preferences,
    queue,
    reviews,
    search,
    start,
    texts,
    triage,
)

_PAGES = (
    *(start, jobs, events, looks, reviews, texts, picking, diffs, notes, matrix, gates, search),
    *(queue, triage, findings, entering, preferences),
)
urlpatterns = [pattern for module in _PAGES for pattern in module.urlpatterns]
