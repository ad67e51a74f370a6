"""What is searched for, and the piece of a text that is shown for it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.overview.search import MAX_WORDS, excerpt, wanted_words


class TestWantedWords:
    @pytest.mark.parametrize(
        ("query", "words"),
        [
            pytest.param("one two", ("one", "two"), id="words"),
            pytest.param('"one  two" three', ("one two", "three"), id="phrase"),
            pytest.param("one one", ("one",), id="twice"),
            pytest.param('"open one', ("open", "one"), id="open-quote"),
            pytest.param("* - ( ) :", (), id="marks"),
            pytest.param("", (), id="nothing"),
            pytest.param("title:x OR y*", ("title:x", "OR", "y*"), id="no-operators"),
            pytest.param('""', (), id="empty-phrase"),
        ],
    )
    def test_reads(self, query, words):
        assert wanted_words(query) == words

    def test_takes_no_more_than_a_person_types(self):
        assert len(wanted_words(" ".join(f"w{number}" for number in range(99)))) == MAX_WORDS


class TestExcerpt:
    def shown(self, text, *words, **options):
        return "".join(
            f"[{part.text}]" if part.found else part.text
            for part in excerpt(text, words, **options)
        )

    @pytest.mark.parametrize(
        ("text", "words", "shown"),
        [
            pytest.param(
                "a Claim without source", ["claim"], "a [Claim] without source", id="case"
            ),
            pytest.param("claims", ["claim"], "[claim]s", id="begin-of-a-word"),
            pytest.param("disclaim", ["claim"], "disclaim", id="not-inside-a-word"),
            pytest.param("a\n\n  b c", ["b c"], "a [b c]", id="blanks"),
            pytest.param("b\nc", ["b c"], "[b c]", id="phrase-over-lines"),
            pytest.param("x (y", ["(y"], "x [(y]", id="marks"),
            pytest.param("", ["x"], "", id="empty"),
        ],
    )
    def test_marks_the_words(self, text, words, shown):
        assert self.shown(text, *words) == shown

    def test_stands_around_the_first_of_them(self):
        text = "begin " * 100 + "the claim stands here " + "end " * 100

        shown = self.shown(text, "claim")

        assert shown.startswith("… ")
        assert "the [claim] stands" in shown
        assert shown.endswith(" …")

    def test_is_the_start_where_none_is_found(self):
        assert self.shown("one two", "three") == "one two"

    @given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=8), max_size=4))
    def test_any_text_gives_one_line(self, text, words):
        parts = excerpt(text, wanted_words(" ".join(words)))

        assert "\n" not in "".join(part.text for part in parts)

    def test_is_quick_on_a_large_text(self):
        begun = time.process_time()

        excerpt("a " * 2_000_000, ["b", "c d"])

        assert time.process_time() - begun < 10
