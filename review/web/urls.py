"""The addresses of the pages; each module of pages lists its own."""

from __future__ import annotations

from review.web.auth import login as entering
from review.web.core import actions
from review.web.pages import (
    costs,
    diffs,
    events,
    findings,
    gates,
    jobs,
    matrix,
    notes,
    queue,
    reviews,
    search,
    start,
)
from review.web.pages import needs_a_look as looks
from review.web.pages import pair_actions as picking

_PAGES = (
    *(start, jobs, events, looks, reviews, picking, diffs, notes, matrix, gates, search),
    *(costs, queue, findings, entering, actions),
)
urlpatterns = [pattern for module in _PAGES for pattern in module.urlpatterns]
