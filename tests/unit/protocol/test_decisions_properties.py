"""What holds of decisions for any text: totality, no PASS out of nothing, and what never counts."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from review.protocol.decisions import read_decision
from review.vocabulary import Decision, DecisionSource

LINES = [
    "",
    "The note names its terms.",
    "It would not",
    "### Summary",
    "### Findings",
    "### Claim",
    "- INFO: late",
    "- WARN: undefined",
    "  > the quote",
    "> a quoted paragraph",
    "| a | b |",
    "---",
    "PASS",
    "FAIL",
    "**Pass.** Fine.",
    "PASS, but one",
    "Verdict: WARN",
    "Verdict: PASS",
    "## Result: PASS",
    "## Result: FAIL (two)",
    "## Result: PASS|WARN|FAIL|ERROR",
    "## Result",
    "Outcome: INFO",
    "No WARNs found.",
    "<!-- aside -->",
]
REVIEWS = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)
RESULT_LINES = st.sampled_from(
    [f"## Result: {word}{tail}" for word in ("PASS", "WARN", "FAIL") for tail in ("", " (2 INFO)")]
)
# Enough of the grammar to get past its first tests, in any order.
WORDS = (
    "PASS pass WARN fail Result Verdict Overall not but no one 5/6 é \u017f \u0130 \u200b \ufeff"
)
MARKS = ": # ## * ** _ ` > - 1. | ( ) . , — <!-- --> ```"
PIECES = st.sampled_from(
    [*WORDS.split(" "), *MARKS.split(" "), " ", "\n", "\n\n", "\r", "\0", "\ud800"]
)


class TestAnyText:
    @given(st.text() | st.lists(PIECES, max_size=30).map("".join))
    @example("PA\u017f\u017f")
    @example("## Result: \u0130NFO")
    def test_gives_a_decision_with_a_source_or_a_problem(self, text):
        parsed = read_decision(text)

        assert (parsed.source is None) == (parsed.decision is Decision.UNKNOWN)
        assert (parsed.problem != "") == (parsed.decision is Decision.UNKNOWN)

    @given(st.lists(PIECES, max_size=40).map("".join))
    def test_without_a_word_for_it_is_never_a_pass(self, text):
        lowered = text.lower()

        if not any(word in lowered for word in ("pass", "ok", "clean", "info", "no warn")):
            assert read_decision(text).decision is not Decision.PASS

    @given(st.text(alphabet=st.characters(categories=("L", "Z", "P", "N")), max_size=300))
    def test_of_random_letters_is_never_a_pass(self, text):
        if "pass" not in text.lower():
            assert read_decision(f"x{text}").decision is not Decision.PASS

    @given(REVIEWS, st.sampled_from(["FAIL", "WARN", "ERROR"]))
    def test_with_two_different_result_lines_is_never_a_pass(self, review, word):
        text = f"## Result: {word}\n\n{review}\n\n## Result: PASS"

        assert read_decision(text).decision is not Decision.PASS

    @given(REVIEWS)
    def test_gives_the_same_with_other_line_endings(self, review):
        assert read_decision(review.replace("\n", "\r\n")) == read_decision(review)


class TestCopiesOfAResultLine:
    @given(
        REVIEWS,
        RESULT_LINES,
        st.data(),
        st.sampled_from(["```\n{}\n```", "~~~md\n{}\n~~~", "> {}"]),
    )
    def test_in_a_fence_or_a_quotation_change_no_decision(self, review, line, data, shape):
        lines = review.split("\n")
        at = data.draw(st.integers(0, len(lines)))

        changed = "\n".join([*lines[:at], shape.format(line), *lines[at:]])

        before, after = read_decision(review), read_decision(changed)
        assert (after.decision, after.source) == (before.decision, before.source)

    @given(REVIEWS)
    def test_alone_decide_nothing(self, review):
        fenced = "\n".join(["````", review, "````"])
        quoted = "\n".join(f"> {line}" for line in review.split("\n"))

        assert read_decision(fenced).decision is Decision.UNKNOWN
        assert read_decision(quoted).decision is Decision.UNKNOWN

    @given(st.text(alphabet="abc .,\n", max_size=200), RESULT_LINES)
    def test_at_the_end_of_plain_prose_decide(self, prose, line):
        parsed = read_decision(f"{prose}\n\n{line}\n")

        assert parsed.source is DecisionSource.RESULT_LINE
        assert parsed.decision == line.split()[2].lower()


class TestLongTexts:
    """Any of these would take hours if the time grew with the square of the length."""

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("PASS" + " " * 1_000_000 + "but", id="spaces"),
            pytest.param("_" * 1_000_000 + "a", id="underscores"),
            pytest.param("*" * 1_000_000, id="stars"),
            pytest.param(">" * 1_000_000, id="quotation-marks"),
            pytest.param("#" * 1_000_000, id="heading-marks"),
            pytest.param("PASS. " + ". " * 500_000, id="sentences"),
            pytest.param("PASS, " + "no fail or " * 90_000 + "x", id="denials"),
            pytest.param("PASS (" + "1 " * 200_000, id="digits"),
            pytest.param("PASS, " + "n" * 1_000_000, id="one-word"),
            pytest.param("x <!-- \n" * 60_000, id="open-comments"),
            pytest.param("PASS\n" * 60_000, id="words"),
            pytest.param("## Result: PASS\n" * 30_000, id="result-lines"),
            pytest.param("- WARN: x\n  > q\n" * 30_000 + "\nNo WARNs found.", id="findings"),
        ],
    )
    def test_are_read_in_linear_time(self, text):
        assert read_decision(text).decision in Decision
