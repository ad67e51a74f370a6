"""Stored words, ages and counts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template

from review import vocabulary
from review.web.core.template_tags import GLYPHS, age, count_words, duration

SHOWN = (
    *vocabulary.Decision,
    *vocabulary.Severity,
    *vocabulary.JobStatus,
    *vocabulary.PairStatus,
    *vocabulary.DispositionState,
    *vocabulary.Staleness,
)


def render(text: str, **context: object) -> str:
    return Template(text).render(Context(context))


class TestBadges:
    @pytest.mark.parametrize("word", SHOWN)
    def test_every_word_has_a_shape_of_its_own(self, word):
        assert word in GLYPHS

    def test_a_badge_says_its_word_whatever_its_colour(self):
        badge = render('{% badge "note-changed" %}')

        assert "note changed" in badge
        assert 'aria-hidden="true"' in badge

    def test_a_word_that_nobody_knows_is_inert(self):
        assert "<b>" not in render("{% badge word %}", word='"><b>')


class TestAges:
    @pytest.mark.parametrize(
        ("seconds", "words"),
        [
            (0, "just now"),
            (44, "just now"),
            (46, "1 min ago"),
            (3599, "59 min ago"),
            (3600, "1 h ago"),
            (86399, "23 h ago"),
            (86400, "1 day ago"),
            (3 * 86400, "3 days ago"),
            (-3600, "in the future"),
        ],
    )
    def test_are_told_in_one_unit(self, seconds, words):
        assert age(timedelta(seconds=seconds)) == words

    def test_the_exact_moment_is_there_too(self):
        moment = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)

        assert 'datetime="2026-01-31T09:30:00Z"' in render("{% when at %}", at=moment)

    def test_a_moment_in_a_sentence_is_told_to_the_minute(self):
        told = render("{{ words|moments }}", words="since 2026-01-31T09:30:12.000000Z")

        assert told == "since 2026-01-31 09:30 UTC"


class TestNumbers:
    @pytest.mark.parametrize(
        ("number", "noun", "words"),
        [(0, "job", "0 jobs"), (1, "job", "1 job"), (2, "entry,entries", "2 entries")],
    )
    def test_agree_with_their_noun(self, number, noun, words):
        assert count_words(number, noun) == words

    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(5, "5 s"), (65, "1 min 05 s"), (3660, "1 h 01 min"), (90000, "1 d 01 h")],
    )
    def test_lengths_of_time_have_two_units(self, seconds, words):
        assert duration(timedelta(seconds=seconds)) == words
