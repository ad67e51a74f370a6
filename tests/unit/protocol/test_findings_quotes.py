"""A quote is found in the note it was taken from, though it is rarely exact."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.protocol.quote_location import lines_after, quote_lines, set_apart
from tests.helpers.quotes import locate_quote

NOTE = """---
title: Wal\u00e9n's rule
---
# The rule

A *plain* claim with `code` and a [link](other.md)
that is wrapped over
three lines, and "quoted words" too.

> A quoted line
> of two lines.

- first item
- second item: 40\u00a0% off

The end. The end comes twice: the end.
\u6ce8\u91ca\u5199\u5728
\u8fd9\u91cc
snake_case_name and soft\u00adhyphen
"""


LINKED = "# A\n\nSee [the old rule](../b.md) of R&amp;D, and [a term][t] that it names.\n"
MARKED = "# A\n\nSee [[Old Rule|the rule]] of <b>tides</b>[^1] and of gulls.\n"


class TestLocateQuote:
    @pytest.mark.parametrize(
        "quote",
        [
            "See the old rule of R&D, and a term that it names.",
            "See [the old rule](../b.md) of R&amp;D",
            "L3: See the old rule of R&D",
            "and a term that it names. (line 3)",
        ],
    )
    def test_is_found_as_a_reader_of_the_page_quotes_it(self, quote):
        assert locate_quote(LINKED, quote) == 3

    @pytest.mark.parametrize(
        "quote",
        ["See the rule of tides and of gulls.", "See [[Old Rule|the rule]] of <b>tides</b>"],
    )
    def test_is_found_without_targets_tags_and_footnotes(self, quote):
        assert locate_quote(MARKED, quote) == 3

    @pytest.mark.parametrize(
        ("quote", "line"),
        [
            pytest.param("# The rule", 4, id="exact"),
            pytest.param("three lines", 8, id="in-the-middle"),
            pytest.param("A plain claim with code", 6, id="without-markup"),
            pytest.param("A *plain* claim with `code`", 6, id="with-markup"),
            pytest.param("that is wrapped over three lines", 7, id="over-a-wrap"),
            pytest.param("that  is\twrapped   over", 7, id="spaces"),
            pytest.param("THREE LINES", 8, id="case"),
            pytest.param("\u201cthree lines\u201d", 8, id="curly-marks-around"),
            pytest.param("\u00abthree lines\u00bb", 8, id="angle-marks-around"),
            pytest.param("'three lines,'", 8, id="single-marks-around"),
            pytest.param("and \u201cquoted words\u201d too", 8, id="curly-marks-within"),
            pytest.param("Wal\u00e9n\u2019s rule", 2, id="apostrophe"),
            pytest.param("A quoted line of two lines.", 10, id="over-a-quotation"),
            pytest.param("- first item - second item", 13, id="over-bullets"),
            pytest.param("40 % off", 14, id="no-break-space"),
            pytest.param("A plain claim \u2026 three lines", 6, id="ellipsis"),
            pytest.param("A plain claim ... quoted words", 6, id="three-dots"),
            pytest.param("A plain claim [\u2026] three lines \u2026 too", 6, id="two-ellipses"),
            pytest.param("\u2026 three lines \u2026", 8, id="ellipses-around"),
            pytest.param("The end comes twice", 16, id="second-of-two-alike"),
            pytest.param("A plain . . . that is wrapped", 6, id="spaced-dots"),
            pytest.param("The \u2026 comes twice", 16, id="nearest-start-of-a-broken-quote"),
            pytest.param("a quoted line \u2026 no such words", 10, id="first-part-only"),
            pytest.param("second ite", 14, id="cut-in-a-word"),
            pytest.param("snake_case_name", 19, id="underscores"),
            pytest.param("softhyphen", 19, id="soft-hyphen"),
            pytest.param("\u6ce8\u91ca", 17, id="unspaced-script"),
            pytest.param("\u6ce8\u91ca\u5199\u5728\u8fd9\u91cc", 17, id="unspaced-over-a-wrap"),
            pytest.param("*plain*", 6, id="emphasis"),
            pytest.param("---\n", None, id="marks-that-stand-twice"),
        ],
    )
    def test_gives_the_line_where_it_begins(self, quote, line):
        assert locate_quote(NOTE, quote) == line

    @pytest.mark.parametrize(
        "quote",
        [
            "",
            "   ",
            "\u201c\u201d",
            "no such words",
            "three lines of it",
            "???",
            "a \u2026 no",
            "lines \u2026 too \u2026 code",
            "\u5199\u9519",
        ],
    )
    def test_gives_none_for_what_does_not_stand_there(self, quote):
        assert locate_quote(NOTE, quote) is None

    def test_prefers_whole_words(self):
        assert locate_quote("a scatter\n\na cat", "cat") == 3

    def test_counts_lines_at_line_feeds_only(self):
        assert locate_quote("a\rb\u2028c\r\nthe end\r\n", "the end") == 2

    def test_finds_composed_letters_in_decomposed_ones(self):
        assert locate_quote(unicodedata.normalize("NFD", NOTE), "Wal\u00e9n") == 2

    def test_finds_nothing_in_an_empty_note(self):
        assert locate_quote("", "a") is None

    @given(st.text(), st.text())
    def test_is_total_and_stays_within_the_note(self, note, quote):
        line = locate_quote(note, quote)

        assert line is None or 1 <= line <= note.count("\n") + 1

    @given(st.data())
    def test_finds_every_run_of_words_of_the_note(self, data):
        words = st.lists(st.sampled_from(["one", "two", "three", "four,"]), min_size=1, max_size=4)
        lines = data.draw(st.lists(words, min_size=1, max_size=6))
        at = data.draw(st.integers(0, len(lines) - 1))
        note = "\n".join(" ".join([f"mark{n}", *line]) for n, line in enumerate(lines))
        quote = " ".join(note.split("\n")[at:])

        assert locate_quote(note, quote) == at + 1

    @pytest.mark.parametrize(
        ("note", "quote"),
        [
            pytest.param("ab " * 300_000, "ab " * 100_000 + "c", id="almost-everywhere"),
            pytest.param("a\n" * 400_000, "a \u2026 " * 100_000 + "b", id="many-parts"),
            pytest.param("a" * 1_000_000, "a" * 500_000 + "b", id="one-word"),
            pytest.param("\u6ce8" * 300_000, "\u6ce8 \u6ce8" * 100_000 + "x", id="unspaced"),
        ],
    )
    def test_is_found_or_not_in_linear_time(self, note, quote):
        assert locate_quote(note, quote) is None


class TestWholeLines:
    NOTE = "---\ntitle: A vague gate\n---\n\n# A vague gate\n\nText on a vague gate.\n"

    def test_a_line_quoted_to_the_letter_comes_before_the_same_words_above(self):
        assert locate_quote(self.NOTE, "# A vague gate") == 5
        assert locate_quote(self.NOTE.replace("\n", "\r\n"), "# A vague gate") == 5

    def test_words_in_their_case_come_before_others(self):
        assert quote_lines(self.NOTE, "a vague gate") == (7,)
        assert quote_lines(self.NOTE, "A Vague Gate") == (2, 5, 7)

    @pytest.mark.parametrize(
        ("note", "quote", "lines"),
        [
            pytest.param("claims\nreclaim\nclaim", "claim", (3,), id="part-of-a-word"),
            pytest.param("x md\nx.md", "x.", (2,), id="before-a-word"),
            pytest.param("## One\n# One", "# One", (2,), id="part-of-a-row-of-marks"),
        ],
    )
    def test_a_part_of_a_word_is_no_place_of_it(self, note, quote, lines):
        assert quote_lines(note, quote) == lines


class TestTwoPlaces:
    QUOTE = "The end comes twice: the end. A plain claim with code and a link"

    @pytest.mark.parametrize(
        ("quote", "line"),
        [
            pytest.param(QUOTE, 16, id="later-place-first"),
            pytest.param("A plain claim with code, as the other note says", 6, id="of-two-notes"),
            pytest.param("As it says: A quoted line of two lines", 10, id="words-ahead"),
            pytest.param("A plain claim as the other note says", None, id="too-few-words"),
            pytest.param("As it says: quoted line of two lines", 10, id="five-words"),
            pytest.param("As it says: line of two lines", None, id="four-words"),
        ],
    )
    def test_the_first_that_is_there_counts(self, quote, line):
        assert locate_quote(NOTE, quote) == line

    @pytest.mark.parametrize(
        ("quotation", "quote", "line"),
        [
            pytest.param("# The rule\nThe end comes twice", "# The rule … The end comes twice", 4, id="two"),
            pytest.param("The end comes twice\nA quoted line", "The end comes twice … A quoted line", 16, id="later-first"),
            pytest.param("A plain\nclaim with code\nfirst item", "A plain claim with code … first item", 6, id="one-wrapped"),
            pytest.param("- first item\n- second item", "- first item - second item", 13, id="one-place"),
            pytest.param("A plain claim\nof nobody", "A plain claim of nobody", None, id="not-there"),
        ],
    )  # fmt: skip
    def test_of_a_quotation_are_set_apart_where_they_stand_apart(self, quotation, quote, line):
        assert set_apart(NOTE, quotation) == quote
        assert locate_quote(NOTE, quote) == line

    @pytest.mark.parametrize(
        ("quote", "old", "new", "lines"),
        [
            pytest.param("# The rule … A plain claim", "*plain*", "bold", (), id="set-apart-edited"),
            pytest.param("# The rule … A plain claim", "---\n#", "---\n\n#", (5,), id="set-apart-kept"),
            pytest.param(QUOTE, "# The rule", "# The rule\n", (17,), id="kept"),
            pytest.param(QUOTE, "`code`", "words", (), id="second-place-edited"),
            pytest.param("A plain claim with code and a link that is", "and", "or", (), id="one-place"),
        ],
    )  # fmt: skip
    def test_none_is_left_where_the_edit_deletes_a_part(self, quote, old, new, lines):
        assert lines_after(NOTE, NOTE.replace(old, new), quote) == lines
