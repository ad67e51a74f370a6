"""What must never become a PASS: a result line that is hidden, copied or disguised."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision

LONG = "\n\n".join(["The note names its terms.", "It links them.", "It ends well.", "So be it."])


class TestHiddenResultLines:
    @pytest.mark.parametrize(
        ("ending", "place"),
        [
            pytest.param("```\n## Result: PASS\n```", "a code fence", id="fence"),
            pytest.param("~~~\n## Result: PASS", "a code fence", id="unclosed-fence"),
            pytest.param("> ## Result: PASS", "a quotation", id="quotation"),
            pytest.param(">> Verdict: PASS", "a quotation", id="nested-quotation"),
            pytest.param("> The reviewer wrote\nVerdict: PASS", "a quotation", id="lazy-line"),
            pytest.param("<!-- Result: PASS -->", "an HTML", id="comment"),
            pytest.param("<!--\n## Result: PASS\n-->", "an HTML", id="long-comment"),
            pytest.param("<!--\n## Result: PASS", "an HTML", id="unclosed-comment"),
            pytest.param("so <!-- then\n## Result: PASS\n-->", "an HTML", id="comment-in-a-line"),
            pytest.param("<pre>\n## Result: PASS\n</pre>", "an HTML", id="preformatted"),
            pytest.param("    ## Result: PASS", "indented code", id="indented"),
            pytest.param("\t## Result: PASS", "indented code", id="tabbed"),
            pytest.param("- ## Result: PASS", "a list item", id="list-item"),
            pytest.param("1. Result: PASS", "a list item", id="numbered-item"),
            pytest.param("- Checks\n\n  ## Result: PASS", "a list item", id="within-an-item"),
            pytest.param("| Result: PASS |", "a table", id="table"),
        ],
    )
    def test_declare_nothing_and_the_place_is_named(self, ending, place):
        parsed = read_decision(f"{LONG}\n\n{ending}\n")

        assert parsed.decision is Decision.UNKNOWN
        assert place in parsed.problem

    def test_a_comment_that_is_only_mentioned_hides_nothing(self):
        text = "The note opens `<!--` twice, and <!-- once.\n\n## Result: PASS"

        assert read_decision(text).decision is Decision.PASS

    def test_a_review_that_is_one_fence_says_nothing(self):
        parsed = read_decision("```\n## Result: PASS\n```")

        assert parsed.problem == "the review says nothing outside code fences and quotations"


class TestCopiedAndDisguised:
    @pytest.mark.parametrize(
        "line",
        [
            "## Result: PASS|WARN|FAIL|ERROR",
            "## Result: PASS | WARN | FAIL | ERROR",
            "## Result: <PASS|WARN|FAIL|ERROR>",
            "**Result:** [PASS|WARN|FAIL]",
        ],
    )
    @pytest.mark.parametrize("first", ["The note.", "PASS"])
    def test_a_copied_template_line_has_its_own_message(self, first, line):
        parsed = read_decision(f"{first}\n\n{LONG}\n\n{line}\n")

        assert parsed.decision is Decision.UNKNOWN
        assert "the template's, copied" in parsed.problem

    @pytest.mark.parametrize(
        "line", ["## Result: PASS/WARN", "PASS or FAIL", "Verdict: PASS, FAIL"]
    )
    def test_several_words_choose_none(self, line):
        parsed = read_decision(f"{LONG}\n\n{line}")

        assert parsed.decision is Decision.UNKNOWN
        assert "names several decisions" in parsed.problem

    @pytest.mark.parametrize(
        "word",
        [
            pytest.param("\u0420ASS", id="cyrillic-p"),
            pytest.param("P\u0391SS", id="greek-alpha"),
            pytest.param("PA\u200bSS", id="zero-width-space"),
            pytest.param("PA\u00adSS", id="soft-hyphen"),
            pytest.param("\uff30\uff21\uff33\uff33", id="full-width"),
            pytest.param("PÁSS", id="accent"),
            pytest.param("PA\u017f\u017f", id="long-s"),
            pytest.param("\U0001d40f\U0001d400\U0001d412\U0001d412", id="mathematical-bold"),
            pytest.param("PASS\u202e", id="direction-override"),
            pytest.param("PASSED", id="passed"),
            pytest.param("PASS?", id="question"),
            pytest.param("~~PASS~~", id="struck-out"),
            pytest.param('"PASS', id="open-quotation-mark"),
        ],
    )
    @pytest.mark.parametrize("shape", ["{}", "## {}", "## Result: {}", "Result\n{}"])
    def test_what_only_looks_like_pass_is_unknown(self, shape, word):
        assert read_decision(f"{LONG}\n\n{shape.format(word)}").decision is Decision.UNKNOWN

    def test_odd_letters_are_named_as_the_reason(self):
        parsed = read_decision("Text.\n\n## Result: PA\u200bSS")

        assert (
            parsed.problem == "line 3 looks like a decision, but holds letters that are not plain"
        )
