"""Track records, trends and costs in a browser: clean in every look."""

from __future__ import annotations

import pytest
from django.utils import timezone

from review.models import Finding, ReviewJob
from tests.builders import write_note
from tests.helpers.reviewed import WARN, open_corpus, review_pairs


@pytest.fixture
def measured(root, transactional_db):
    from review.protocol.fix_answers import FixAnswer
    from review.queue.triage import dispose_each
    from review.vocabulary import DispositionState

    names, now = [f"n{number}.md" for number in range(9)], timezone.now()
    for name in names:
        write_note(root, name)
    for model in ("claude-opus-4-6", "other"):
        pairs = ((name, "prose/x") for name in names)
        review_pairs(root, *pairs, review=WARN, now=now, model_partition=model)
    ReviewJob.objects.update(telemetry={"cost_usd": 0.25}, started_at=now)
    marks = Finding.objects.values_list("fingerprint", flat=True).distinct()[:8]
    answers = [FixAnswer(mark, DispositionState.REJECTED, "no") for mark in marks]
    corpus = open_corpus(root)
    dispose_each(answers, actor="human:ana", corpus=corpus, now=now)
    return root


@pytest.mark.parametrize(
    "address",
    ["/", "/gates/", "/gates/prose/x?agreement=shown", "/costs/", "/queue/?sort=priority"],
)
def test_a_page_is_clean(visit, measured, address):
    visit.open(address)

    assert visit.problems() == []
