"""Counting words and finding the ends of sentences."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from review.runners.rules.words import plain, sentences, word_count
from tests.unit.runners.rules.test_judging import NOTES


def split(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


class TestWordCount:
    @pytest.mark.parametrize(
        ("text", "count"),
        [
            ("", 0),
            ("one two", 2),
            ("well-known don't", 2),
            ("and/or this\u2014that", 4),
            ("- * | #", 0),
            ("漢字仮名交じり", 2),
            ("सभी मनुष्य स्वतन्त्र हैं", 4),
            ("Größe für 3,5 m", 4),
        ],
    )
    def test_counts(self, text, count):
        assert word_count(text) == count


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("One. Two! Three?", ["One.", "Two!", "Three?"]),
            ("E.g. this, i.e. that. Then.", ["E.g. this, i.e. that.", "Then."]),
            ("Version 3.5 is out. See a.md now.", ["Version 3.5 is out.", "See a.md now."]),
            (
                "See fig. 3 here. The answer is no. Why?",
                ["See fig. 3 here.", "The answer is no.", "Why?"],
            ),
            ("A, b, etc. And more, etc. follow.", ["A, b, etc.", "And more, etc. follow."]),
            (
                "(He left.) She \u201cstayed.\u201d Yes.",
                ["(He left.)", "She \u201cstayed.\u201d", "Yes."],
            ),
            ("一つ。二つ！", ["一つ。", "二つ！"]),  # noqa: RUF001
            ("These are:\nthis", ["These are:", "this"]),
            ("over\ntwo lines", ["over\ntwo lines"]),
        ],
    )
    def test_splits(self, text, expected):
        assert split(text) == expected

    @given(text=NOTES)
    def test_are_in_order_and_leave_out_nothing_but_blanks(self, text):
        spans = list(sentences(text))

        assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(
            text.split()
        )
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


class TestPlain:
    def test_folds_case_width_and_punctuation(self):
        assert plain("**The \uff21PI** \u2014 a `Test`!") == "the api a test"
