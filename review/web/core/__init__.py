"""What pages share: filters of addresses, kept answers, answers to requests, words."""

from __future__ import annotations

from review.domain.printing import count_words
from review.web.core.cached import (
    Answer,
    calibration,
    keep_answer,
    needs_a_look,
    pair_states,
    recoverable,
    trends,
)
from review.web.core.filters import Facet, Filters, Key, Paged, parse_filters, read_number
from review.web.core.responses import (
    CHANGE_JOBS,
    NEXT,
    SeeOther,
    actor,
    after_post,
    field,
    page,
    report,
    required,
    requires,
    wants_json,
)
from review.web.core.template_tags import badge, duration, label
