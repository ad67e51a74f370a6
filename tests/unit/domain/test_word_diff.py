"""Words that changed are shown in the line they stand in, and nothing of either text is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.domain.diffs.words import (
    MAX_CHARACTERS,
    MAX_ROWS,
    Mark,
    WordDiff,
    changed_words,
    word_diff,
)

BEFORE = "".join(f"line {number} says a few plain words\n" for number in range(1, 41))


def shown(diff: WordDiff) -> list[str]:
    """Rows as `old new text`, with `[-removed-]` and `{+added+}`."""
    forms = {Mark.SAME: "{}", Mark.REMOVED: "[-{}-]", Mark.ADDED: "{{+{}+}}"}
    return [
        f"{row.old or '-'} {row.new or '-'} "
        + "".join(forms[piece.mark].format(piece.text) for piece in row.pieces)
        for hunk in diff.hunks
        for row in hunk.rows
    ]


def text_of(diff: WordDiff, *, without: Mark) -> str:
    """One of the two texts, put together again from all rows."""
    return "".join(
        piece.text
        for hunk in diff.hunks
        for row in hunk.rows
        for piece in row.pieces
        if piece.mark is not without
    )


class TestWordDiff:
    @pytest.mark.parametrize(
        ("before", "after", "rows"),
        [
            pytest.param("a b c d e\n", "a b x d e\n", ["1 1 a b [-c-]{+x+} d e\n"], id="word"),
            pytest.param("a b c\n", "a b c d\n", ["1 1 a b c{+ d+}\n"], id="word-added"),
            pytest.param(
                "one two\n", "three four\n", ["1 - [-one two\n-]", "- 1 {+three four\n+}"],
                id="nothing-in-common",
            ),
            pytest.param("", "x\n", ["- 1 {+x\n+}"], id="all-new"),
            pytest.param("x\n", "", ["1 - [-x\n-]"], id="all-gone"),
            pytest.param("x y", "x y\n", ["1 1 x y{+\n+}"], id="last-line-end"),
            pytest.param("x y\r\n", "x y\n", ["1 1 x y[-\r-]\n"], id="carriage-return"),
            pytest.param(
                "a b\nc d\n", "a b\nnew words\nc d\n",
                ["1 1 a b\n", "- 2 {+new words\n+}", "2 3 c d\n"], id="line-added",
            ),
            pytest.param(
                "keep one two three\nand four\n", "keep one two three and four\n",
                ["1 1 keep one two three[-\n-]{+ +}and four\n"], id="lines-joined",
            ),
            pytest.param(
                "keep one two three and four\n", "keep one two three\nand four\n",
                ["1 1 keep one two three[- -]{+\n+}", "1 2 and four\n"], id="line-broken",
            ),
        ],
    )  # fmt: skip
    def test_shows(self, before, after, rows):
        assert shown(word_diff(before, after)) == rows

    def test_changes_with_a_blank_between_them_are_one(self):
        diff = word_diff("it has some plain old words in it\n", "it has few good new words in it\n")

        assert shown(diff) == ["1 1 it has [-some plain old-]{+few good new+} words in it\n"]

    def test_equal_texts_show_nothing(self):
        diff = word_diff(BEFORE, BEFORE)

        assert diff.hunks == ()
        assert diff.skipped == 40

    def test_has_three_lines_around_and_counts_the_rest(self):
        after = BEFORE.replace("line 10 says", "line 10 told")

        diff = word_diff(BEFORE, after)

        assert [row.old for row in diff.hunks[0].rows] == [7, 8, 9, 10, 11, 12, 13]
        assert (diff.hunks[0].skipped, diff.skipped) == (6, 27)

    def test_shows_a_kept_line_though_it_did_not_change(self):
        after = BEFORE.replace("line 10 says", "line 10 told")

        diff = word_diff(BEFORE, after, keep=[30, 99])

        assert [[row.old for row in hunk.rows] for hunk in diff.hunks] == [
            [7, 8, 9, 10, 11, 12, 13],
            [29, 30, 31],
        ]
        assert (diff.hunks[1].skipped, diff.skipped) == (15, 9)

    def test_lines_are_numbered_in_both_texts(self):
        after = "new first\n" + BEFORE.replace("line 40 says", "line 40 told")

        diff = word_diff(BEFORE, after)

        last = diff.hunks[-1].rows[-1]
        assert (last.old, last.new, last.changed) == (40, 41, True)

    def test_counts_words(self):
        diff = word_diff("a b c d e\n", "a b x y d e\n")

        assert (diff.removed_words, diff.added_words) == (1, 2)


class TestBounds:
    def test_too_many_rows_are_cut(self):
        diff = word_diff("", "word\n" * 5000)

        assert diff.truncated
        assert sum(len(hunk.rows) for hunk in diff.hunks) == MAX_ROWS

    def test_a_line_that_is_too_long_is_cut(self):
        diff = word_diff("x\n", "y " * MAX_CHARACTERS)

        assert diff.truncated
        assert len(text_of(diff, without=Mark.REMOVED)) <= MAX_CHARACTERS

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param("a b c\n" * 8000, "a x c\n" * 8000, id="every-line"),
            pytest.param("word " * 90_000, "drow " * 90_000, id="one-long-line"),
            pytest.param("\n" * 50_000, "x\n" * 50_000, id="blank-lines"),
        ],
    )
    def test_large_texts_are_quick(self, before, after):
        begun = time.process_time()

        word_diff(before, after)

        assert time.process_time() - begun < 20

    @given(st.text(alphabet="ab \n\r.", max_size=60), st.text(alphabet="ab \n\r.", max_size=60))
    def test_both_texts_can_be_put_together_again(self, before, after):
        diff = word_diff(before, after, keep=range(1, 80))

        assert text_of(diff, without=Mark.ADDED) == before
        assert text_of(diff, without=Mark.REMOVED) == after

    @given(st.text(alphabet="ab \n", max_size=80), st.text(alphabet="ab \n", max_size=80))
    def test_line_numbers_rise_and_no_old_line_is_left_out(self, before, after):
        diff = word_diff(before, after)

        new = [row.new for hunk in diff.hunks for row in hunk.rows if row.new is not None]
        lines = before.count("\n") + (before[-1:] not in ("", "\n"))
        told = sum(hunk.skipped for hunk in diff.hunks) + diff.skipped
        assert new == sorted(set(new))
        assert told <= lines


class TestChangedWords:
    @pytest.mark.parametrize(
        ("before", "after", "shown"),
        [
            pytest.param("a b c d e\n", "a b x d e\n", "1: a b [-c-]{+x+} d e", id="word"),
            pytest.param("a\nb c\n", "a\n", "-2: [-b c-]", id="line-gone"),
            pytest.param("a\n", "a\nb c\n", "2: {+b c+}", id="line-added"),
            pytest.param("x y", "x y\n", "1: x y{+⏎+}", id="last-line-end"),
            pytest.param(
                "one two three\nand four\n", "one two three and four\n",
                "1: one two three[-⏎-]{+ +}and four", id="lines-joined",
            ),
            pytest.param("same\n", "same\n", "", id="equal"),
            pytest.param(
                "w " * 100 + "old" + " v" * 100, "w " * 100 + "new" + " v" * 100,
                f"1:  … {'w ' * 19}[-old-]{{+new+}}{' v' * 19} … ", id="far-words-cut",
            ),
        ],
    )  # fmt: skip
    def test_shows_changes_with_the_words_next_to_them(self, before, after, shown):
        assert changed_words(word_diff(before, after)) == shown
