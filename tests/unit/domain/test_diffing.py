"""Diffs that a person can read, and that no text can make slow."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.diffs.words import MAX_DIFF_CHARACTERS, MAX_DIFF_LINES, unified_diff

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d\u2028e\n", "f"]), max_size=30
).map("".join)


def applied(before: str, diff: str) -> str:
    """Apply a unified diff strictly: every context and removed line must be there."""
    old = before.split("\n")
    old = [f"{line}\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    result: list[str] = []
    position = 0
    lines = [line + "\n" for line in diff.split("\n")[:-1]][2:]
    for index, line in enumerate(lines):
        mark, content = line[0], line[1:]
        if mark == "@":
            start, count = map(int, line.split(" ")[1][1:].split(","))
            begin = start - 1 if count else start
            result += old[position:begin]
            position = begin
            continue
        if mark == "\\":
            continue
        if index + 1 < len(lines) and lines[index + 1].startswith("\\"):
            content = content.removesuffix("\n")
        if mark != "+":
            assert old[position] == content
            position += 1
        if mark != "-":
            result.append(content)
    return "".join(result + old[position:])


class TestUnifiedDiff:
    def test_shows_three_lines_around_a_change(self):
        before = "".join(f"{n}\n" for n in range(1, 12))

        diff = unified_diff(before, before.replace("6\n", "six\n"), path="kb/notes/a.md")

        assert not diff.truncated
        assert diff.text == (
            "--- a/kb/notes/a.md\n+++ b/kb/notes/a.md\n@@ -3,7 +3,7 @@\n"
            " 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"
        )

    def test_changes_that_are_far_apart_are_two_hunks(self):
        before = "".join(f"{n}\n" for n in range(20))
        after = before.replace("\n2\n", "\ntwo\n").replace("\n17\n", "\nx\n")

        assert unified_diff(before, after, path="a").text.count("@@ -") == 2

    @pytest.mark.parametrize(
        ("before", "after", "lines"),
        [
            pytest.param("a\n", "a", ["-a", "+a", "\\ No newline at end of file"], id="removed"),
            pytest.param("a", "a\n", ["-a", "\\ No newline at end of file", "+a"], id="added"),
            pytest.param("", "a\n", ["+a"], id="from-nothing"),
            pytest.param("a\n", "", ["-a"], id="to-nothing"),
            pytest.param("a\r\n", "a\n", ["-a\r", "+a"], id="carriage-return"),
        ],
    )
    def test_shows_line_ends(self, before, after, lines):
        assert unified_diff(before, after, path="a").text.split("\n")[3:-1] == lines

    def test_equal_texts_have_none(self):
        assert unified_diff("a\n", "a\n", path="a").text == ""

    @settings(deadline=None, max_examples=400)
    @given(LINES, LINES)
    def test_the_diff_applied_gives_the_new_text(self, before, after):
        diff = unified_diff(before, after, path="a")

        assert diff.truncated is False
        assert (applied(before, diff.text) if diff.text else before) == after

    def test_says_when_it_is_cut(self):
        diff = unified_diff("", "x\n" * (MAX_DIFF_LINES + 1), path="a")

        assert diff.truncated
        assert diff.text.count("\n") == MAX_DIFF_LINES + 1
        assert diff.text.endswith("[diff cut here: it is longer than what is shown]\n")

    def test_cuts_a_line_without_end(self):
        diff = unified_diff("x" * 5_000_000, "y", path="a")

        assert diff.truncated
        assert len(diff.text) < MAX_DIFF_CHARACTERS

    @pytest.mark.parametrize("count", [16_000, 24_000, 100_000])
    def test_every_second_line_changed_is_quick(self, count):
        before = "\n".join(f"line {n}" for n in range(count))
        after = "\n".join(f"line {n}" if n % 2 else f"other {n}" for n in range(count))
        started = time.process_time()

        diff = unified_diff(before, after, path="a")

        assert diff.truncated
        assert time.process_time() - started < 10  # a quadratic one takes minutes
