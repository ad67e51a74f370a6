"""What a review is held against: the findings before it, stored or of the job before."""

from __future__ import annotations

import pytest

from review.ingest import parse as known_findings
from review.ingest.parse import KnownFindings
from review.models import Finding, ReviewPair
from review.vocabulary import Severity
from tests.builders import NOTE, make_jobs, make_root

pytestmark = pytest.mark.django_db

NOTES = ("a.md", "b.md")


@pytest.fixture
def pairs(tmp_path):
    """One pair of each note, with two findings that were stored one after the other."""
    root = make_root(tmp_path, notes=dict.fromkeys(NOTES, NOTE))
    make_jobs(root, *((name, "prose/x") for name in NOTES))
    found = list(ReviewPair.objects.order_by("pk"))
    for name in ("older", "newer"):
        for number, pair in enumerate(found):
            Finding.objects.create(
                pair=pair,
                ordinal=Finding.objects.filter(pair=pair).count() + 1,
                severity=Severity.WARN,
                text=f"{name} {NOTES[number]}",
                fingerprint=name,
            )
    return found


def judged(text: str) -> Finding:
    return Finding(ordinal=1, severity=Severity.WARN, text=text, fingerprint="f")


def texts(known: KnownFindings, pair: ReviewPair) -> list[str]:
    return [found.text for found in known.earlier(pair)]


class TestEarlierFindings:
    def test_are_those_of_the_pair_the_newest_first(self, pairs):
        first, second = pairs

        known = KnownFindings(pairs)

        assert texts(known, first) == ["older a.md", "newer a.md"]
        assert texts(known, second) == ["older b.md", "newer b.md"]

    def test_begin_with_those_of_the_newest_pair_whichever_is_ingested_last(self, pairs):
        first, second = pairs
        known = KnownFindings(pairs)
        of = {"note_id": first.note_id, "gate_id": first.gate_id}
        of["note_snapshot_id"] = first.note_snapshot_id

        known.add(ReviewPair(pk=second.pk + 2, **of), [judged("newest"), judged("second")])
        known.add(ReviewPair(pk=second.pk + 1, **of), [judged("ingested last")])

        new = ["newest", "second", "ingested last"]
        assert texts(known, first) == [*new, "older a.md", "newer a.md"]
        assert texts(known, second) == ["older b.md", "newer b.md"]

    def test_are_the_newest_of_the_pairs_up_to_a_limit(self, pairs, monkeypatch):
        monkeypatch.setattr(known_findings, "_EARLIER_FINDINGS", 3)

        known = KnownFindings(pairs)

        assert texts(known, pairs[0]) == ["older a.md"]


class TestNoteTexts:
    def test_are_those_that_were_reviewed(self, pairs):
        assert KnownFindings(pairs).note_text(pairs[0]) == NOTE

    def test_are_not_fetched_for_nobody(self, django_assert_num_queries):
        with django_assert_num_queries(0):
            KnownFindings([])
