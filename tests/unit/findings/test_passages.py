"""The passage of a note around a quote, whatever the quote and the lines are like."""

from __future__ import annotations

import pytest

from review.queue.finding_page import cut_passage

TEXT = "one\ntwo\n\nA reader finds a note\nby its title, then by its links.\nsix\nseven\n"


def marked(text: str, line: int, quote: str) -> dict[int, str]:
    """Line number to the part of it that is marked."""
    lines = cut_passage(text, line=line, quote=quote)
    return {item.number: item.marked for item in lines if item.marked}


class TestMarks:
    @pytest.mark.parametrize(
        ("quote", "expected"),
        [
            pytest.param("reader finds a note", {4: "reader finds a note"}, id="within-a-line"),
            pytest.param(
                "a note by its title", {4: "a note", 5: "by its title"}, id="over-a-line-end"
            ),
            pytest.param("A READER finds", {4: "A reader finds"}, id="another-case"),
            pytest.param("reader *finds*  a", {4: "reader finds a"}, id="markup-and-blanks"),
            pytest.param("nowhere at all", {4: "A reader finds a note"}, id="not-there"),
            pytest.param("", {}, id="empty"),
            pytest.param("—", {}, id="no-word"),
        ],
    )
    def test_are_the_words_of_the_quote(self, quote, expected):
        assert marked(TEXT, 4, quote) == expected

    def test_take_the_place_where_most_of_the_quote_stands(self):
        assert marked("the note, the whole note\n", 1, "the whole note") == {1: "the whole note"}

    def test_end_with_the_text(self):
        assert marked("last words\n", 1, "last words and more that is not there") == {
            1: "last words"
        }


class TestLines:
    def test_are_the_ones_around_as_they_are_written(self):
        lines = cut_passage("a\r\nb\r\nc", line=2, quote="b")

        assert [(item.number, item.before + item.marked + item.after) for item in lines] == [
            (1, "a"),
            (2, "b"),
            (3, "c"),
        ]

    def test_are_few_in_a_long_note(self):
        text = "".join(f"line {number}\n" for number in range(1, 1000))

        assert [item.number for item in cut_passage(text, line=500, quote="line 500")] == list(
            range(496, 505)
        )

    def test_of_a_note_that_is_one_line_are_cut_around_the_quote(self):
        text = "word " * 10_000 + "the place " + "word " * 200_000

        (line,) = cut_passage(text, line=1, quote="the place")

        assert line.marked == "the place"
        assert len(line.before) < 400
        assert len(line.before + line.marked + line.after) < 1400

    def test_of_a_quote_that_is_the_whole_note_are_bounded(self):
        text = "word\n" * 5000

        assert len(cut_passage(text, line=1, quote=text)) <= 40

    def test_without_any_text_there_are_none(self):
        assert cut_passage("", line=1, quote="gone") == ()
