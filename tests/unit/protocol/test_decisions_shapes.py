"""The shapes in which models state a decision, and the ones that state none."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision, DecisionSource

REVIEW = "### Summary\nThe note names its terms.\n\n### Findings\n- INFO: one is late\n\n"
LONG = "\n\n".join(["The note names its terms.", "It links them.", "It ends well.", "So be it."])


class TestResultLine:
    @pytest.mark.parametrize(
        ("line", "decision"),
        [
            pytest.param("## Result: PASS", "pass", id="pass"),
            pytest.param("## Result: WARN", "warn", id="warn"),
            pytest.param("## Result: FAIL", "fail", id="fail"),
            pytest.param("## Result: ERROR", "error", id="error"),
            pytest.param("## Result: pass", "pass", id="lower-case"),
            pytest.param("## result: Pass", "pass", id="mixed-case"),
            pytest.param("## RESULT: PASS", "pass", id="upper-case"),
            pytest.param("## Result: **PASS**", "pass", id="bold-word"),
            pytest.param("## **Result: PASS**", "pass", id="bold-line"),
            pytest.param("## **Result:** PASS", "pass", id="bold-label"),
            pytest.param("## Result: PASS ##", "pass", id="closed-heading"),
            pytest.param("##  Result:   PASS   ", "pass", id="spaces"),
            pytest.param("## Result:\u00a0PASS", "pass", id="no-break-space"),
            pytest.param("## Result: PASS\u200b", "pass", id="zero-width-space-at-the-end"),
            pytest.param(" ## Result: PASS", "pass", id="one-space-of-indent"),
            pytest.param("## Result: PASS (2 INFO)", "pass", id="parenthesis"),
            pytest.param("## Result: PASS (0 WARN, 2 INFO)", "pass", id="no-warn-in-parenthesis"),
            pytest.param("## Result: PASS (no warnings or failures)", "pass", id="none-of-both"),
            pytest.param("## Result: FAIL (but short)", "fail", id="fail-is-not-taken-back"),
        ],
    )
    def test_decides_as_the_last_line(self, line, decision):
        parsed = read_decision(REVIEW + line + "\n\n")

        assert (parsed.decision, parsed.source) == (decision, DecisionSource.RESULT_LINE)
        assert parsed.problem == ""

    @pytest.mark.parametrize("ending", ["\n", "\r\n", "\r\n\r\n  \r\n"])
    def test_reads_any_line_ending(self, ending):
        text = (REVIEW + "## Result: WARN").replace("\n", "\r\n") + ending

        assert read_decision(text).decision is Decision.WARN

    def test_tolerates_a_byte_order_mark(self):
        assert read_decision("\ufeff## Result: PASS").decision is Decision.PASS

    def test_outweighs_the_findings(self):
        text = "### Findings\n- WARN: one\n- FAIL: two\n\n## Result: PASS\n"

        assert read_decision(text).source is DecisionSource.RESULT_LINE
        assert read_decision(text).decision is Decision.PASS

    def test_fails_a_review_without_findings(self):
        assert read_decision("Fine.\n\n## Result: FAIL").decision is Decision.FAIL

    def test_outweighs_words_in_prose(self):
        text = (
            "At first sight this is a PASS, but the second table contradicts it.\n\n## Result: FAIL"
        )

        assert read_decision(text).decision is Decision.FAIL

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param("Verdict: sound.", id="label-with-another-word"),
            pytest.param("- Outcome: the note improves.", id="label-with-prose"),
            pytest.param("JSON", id="word-alone"),
            pytest.param("**TODO**", id="bold-word-alone"),
            pytest.param("## Outcome of the test", id="heading-that-begins-with-a-label"),
            pytest.param("flagging as unsupported is rare", id="fragment"),
            pytest.param("```\n## Result: ERROR\n```", id="result-line-in-a-fence"),
            pytest.param("> ## Result: FAIL", id="result-line-in-a-quotation"),
            pytest.param("## Result: PASS|WARN|FAIL|ERROR", id="copied-template-line"),
            pytest.param("### FAIL\nNone.\n\n### WARN\nNone.", id="empty-groups"),
            pytest.param("Pass rates lack a denominator.", id="ordinary-word-pass"),
            pytest.param("Error handling is out of scope.", id="ordinary-word-error"),
            pytest.param("Outcome: no warnings", id="denied-label"),
        ],
    )
    def test_stands_whatever_prose_is_above_it(self, line):
        assert read_decision(f"{line}\n\n## Result: PASS").decision is Decision.PASS

    @pytest.mark.parametrize(
        "items",
        [
            pytest.param("1. Terms\n   Outcome: PASS\n2. Links\n   Outcome: WARN", id="list"),
            pytest.param(f"{LONG}\n\nLinks:\nOutcome: INFO", id="lines"),
            pytest.param(f"{LONG}\n\n## Result for the links: PASS", id="a-part"),
        ],
    )
    def test_stands_above_milder_decisions_of_items(self, items):
        assert read_decision(f"{items}\n\n## Result: WARN").decision is Decision.WARN


class TestDeclarations:
    @pytest.mark.parametrize(
        ("first", "decision"),
        [
            pytest.param("pass", "pass", id="pass"),
            pytest.param("PASS", "pass", id="PASS"),
            pytest.param("PASS.", "pass", id="full-stop"),
            pytest.param("**PASS**", "pass", id="bold"),
            pytest.param("__PASS__", "pass", id="bold-underscores"),
            pytest.param("**Pass.** The note names its terms.", "pass", id="bold-sentence"),
            pytest.param("## PASS", "pass", id="heading"),
            pytest.param("## PASS — no instances", "pass", id="heading-and-dash"),
            pytest.param("pass. The note names them.", "pass", id="lower-case-sentence"),
            pytest.param("Pass, narrowly. The note names them.", "pass", id="comma"),
            pytest.param("PASS (marginal)", "pass", id="marginal"),
            pytest.param("PASS (minor)", "pass", id="minor"),
            pytest.param("**PASS (borderline)**", "pass", id="borderline"),
            pytest.param("PASS — failure mode absent", "pass", id="scale-in-its-own-words"),
            pytest.param("Clean pass.", "pass", id="clean-pass"),
            pytest.param("**Fail.** Six of nine terms are undefined.", "fail", id="bold-fail"),
            pytest.param('fail — "the quote" is not there', "fail", id="fail-and-dash"),
            pytest.param("## FAIL", "fail", id="heading-fail"),
            pytest.param("warn", "warn", id="warn"),
            pytest.param("warning", "warn", id="warning"),
            pytest.param("**WARN (mild)**", "warn", id="mild"),
            pytest.param("## WARN — one instance", "warn", id="heading-warn"),
            pytest.param("**WARN** — 1 instance", "warn", id="bold-warn-and-dash"),
            pytest.param("INFO", "pass", id="info"),
            pytest.param("## INFO — one mild instance", "pass", id="heading-info"),
            pytest.param("Error: the note cannot be read.", "error", id="error"),
        ],
    )
    def test_are_read_from_the_first_line(self, first, decision):
        parsed = read_decision(f"{first}\n\n{LONG}\n")

        assert (parsed.decision, parsed.source) == (decision, DecisionSource.DECLARED)
        assert parsed.problem == ""

    @pytest.mark.parametrize(
        ("last", "decision"),
        [
            pytest.param("**Verdict: PASS (2 INFO)**", "pass", id="bold-verdict"),
            pytest.param("## Verdict: PASS (borderline)", "pass", id="heading-verdict"),
            pytest.param("**Result: WARN — one term", "warn", id="open-bold"),
            pytest.param("Outcome: WARN", "warn", id="outcome"),
            pytest.param("Decision: fail", "fail", id="decision"),
            pytest.param("**Verdict:** `PASS`", "pass", id="code-after-label"),
            pytest.param("Final verdict: FAIL", "fail", id="final-verdict"),
            pytest.param("Result — PASS", "pass", id="dash-after-label"),
            pytest.param("### Result: PASS", "pass", id="other-level"),
            pytest.param("## Result: OK", "pass", id="ok-after-label"),
            pytest.param("Verdict: CLEAN", "pass", id="clean-after-label"),
            pytest.param("Verdict: INFO (one late term)", "pass", id="info-after-label"),
            pytest.param("## Result\nWARN", "warn", id="heading-then-word"),
            pytest.param("## Result\n\nPASS", "pass", id="heading-blank-word"),
            pytest.param("Result\nPASS", "pass", id="label-then-word"),
            pytest.param("**Verdict**\n**FAIL**", "fail", id="bold-label-then-word"),
            pytest.param("Result:\nPASS", "pass", id="label-with-colon-then-word"),
            pytest.param("Overall: one WARN (the table)", "warn", id="overall-counted"),
            pytest.param("Overall: 2 FAILs", "fail", id="overall-fails"),
            pytest.param("PASS", "pass", id="word-alone"),
            pytest.param("## Result: PASS\n\n---", "pass", id="rule-below"),
            pytest.param("## Result: PASS\n\nThat is all.", "pass", id="harmless-words-below"),
            pytest.param("Clean pass.", "pass", id="clean-pass"),
        ],
    )
    def test_are_read_from_the_last_lines(self, last, decision):
        assert read_decision(f"{LONG}\n\n{last}\n").decision == decision

    @pytest.mark.parametrize(
        "top",
        [
            pytest.param("---\nverdict: pass\n---", id="alone"),
            pytest.param("---\ngate: prose/x\nnote: a.md\nmodel: m\nverdict: pass\n---", id="last"),
            pytest.param('\n---\nresult: "PASS"\n...', id="quoted"),
        ],
    )
    def test_are_read_from_metadata_at_the_top(self, top):
        assert read_decision(f"{top}\n\n{LONG}\n").decision is Decision.PASS

    def test_are_read_from_metadata_below_a_fence(self):
        text = f"```\n## Result: FAIL\n```\n---\na: b\nc: d\ne: f\nverdict: pass\n---\n\n{LONG}\n"

        assert read_decision(text).decision is Decision.PASS

    @pytest.mark.parametrize(
        "top",
        [
            pytest.param("---\nitems:\n  verdict: pass\n---", id="nested"),
            pytest.param("---\nverdict: pass\nresult: fail\n---", id="two-values"),
            pytest.param("---\nverdict: pass|warn|fail\n---", id="template"),
        ],
    )
    def test_are_not_guessed_from_metadata(self, top):
        assert read_decision(f"{top}\n\n{LONG}\n").decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "last",
        [
            "No WARN. Two INFOs: the table is long, the link is late.",
            "No WARNs found.",
            "No warnings or failures found.",
            "**No WARN.**",
        ],
    )
    def test_include_a_closing_line_that_denies_warnings(self, last):
        text = f"### Findings\n- INFO: the table is long\n\n{last}\n"

        assert read_decision(text).decision is Decision.PASS

    def test_agree_with_one_another(self):
        text = f"**Pass.** All named.\n\n{LONG}\n\nNo WARN.\n\nVerdict: PASS\n"

        assert read_decision(text).decision is Decision.PASS

    def test_are_not_muddled_by_small_talk(self):
        assert read_decision(f"OK.\n\n{LONG}\n\nVerdict: WARN").decision is Decision.WARN

    def test_may_be_a_title_above_the_word(self):
        assert read_decision(f"# Review of a note\n\nPASS\n\n{LONG}").decision is Decision.PASS


class TestNothingDeclared:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param(" \n\t\n\r\n", id="blank"),
            pytest.param("Sorry, I can't help with that.", id="apology"),
            pytest.param("This is not a PASS.", id="not-a-pass"),
            pytest.param("This is not a PASS; BLOCKED", id="not-a-pass-blocked"),
            pytest.param("I cannot say whether it would PASS.", id="cannot-say"),
            pytest.param("CLAIM DRIFT", id="word-of-the-gate"),
            pytest.param("## Result: SCOPE DRIFT", id="labelled-word-of-the-gate"),
            pytest.param("Pass rates lack a denominator.", id="pass-rates"),
            pytest.param("Pass the note to the editor.", id="pass-to"),
            pytest.param("Pass-through links are fine.", id="pass-through"),
            pytest.param("Fail-safe defaults are named.", id="fail-safe"),
            pytest.param("Error handling is explained.", id="error-handling"),
            pytest.param("Pass, in this context, means nothing.", id="pass-as-a-subject"),
            pytest.param("OK, let me review this.\n\nIt is long.", id="chat"),
            pytest.param("OK.\n\nTwo terms are undefined.", id="chat-with-full-stop"),
            pytest.param("- WARN: one\n- INFO: two", id="findings-only"),
            pytest.param("### Findings\n- FAIL: one\n  > quote", id="template-without-result"),
            pytest.param("- INFO: x\n\nNo **other** undefined terms found.", id="no-other"),
            pytest.param("- WARN: x\n\nNo WARNs found.", id="findings-say-otherwise"),
            pytest.param("No WARNs found in the first half.", id="half-of-the-note"),
            pytest.param("No WARN was looked for.", id="not-looked-for"),
            pytest.param("No WARN. One FAIL: the table.", id="no-warn-one-fail"),
            pytest.param("No WARN, but one term is odd.", id="no-warn-but"),
            pytest.param("No warnings. The table fails.", id="no-warn-fails"),
            pytest.param(f"{LONG}\n\n    No WARNs found.", id="no-warn-in-code"),
            pytest.param(f"{LONG}\n\n### Terms\nNo WARNs found.", id="no-warn-of-an-item"),
            pytest.param(f"No WARNs found.\n\n{LONG}", id="no-warn-is-not-the-last-line"),
            pytest.param("1. x: undefined.\n2. y: defined.\nPass.", id="item-continued"),
            pytest.param("1. x: undefined.\n\n2. y: defined.\n\nPass.", id="after-items"),
            pytest.param("1. x: undefined.\n\n2. y\n\n   **PASS**", id="within-an-item"),
            pytest.param("### x\nUndefined.\n\n### y\nPASS", id="under-an-item-heading"),
            pytest.param("### x\nPass. Fine.\n\n### y\nUndefined.", id="first-item-passes"),
            pytest.param(f"{LONG}\n\nPass.", id="sentence-case-far-below"),
            pytest.param(f"{LONG}\n\n### Terms\nPASS", id="under-one-item-heading"),
            pytest.param("- The link is there.\nVerdict: PASS", id="line-that-continues-an-item"),
            pytest.param("Pass (as a verb) has two senses.", id="parenthesis-in-prose"),
            pytest.param("I would say that it does not\n\nPASS", id="end-of-a-broken-sentence"),
            pytest.param("A note that does all this is a:\n\nPASS", id="led-in"),
            pytest.param("I would not call this a\nPASS", id="end-of-a-wrapped-sentence"),
            pytest.param("PASS: 3\nDONE: 4", id="tally"),
            pytest.param("PASS:\n- terms\n- links\n\nThe rest is open.", id="group-of-items"),
            pytest.param("PASS (3):\n- terms\n- links\n\nThe rest is open.", id="counted-group"),
            pytest.param("PASS = the failure mode is absent", id="legend"),
            pytest.param("`PASS`", id="code"),
            pytest.param("[x] PASS", id="checkbox"),
            pytest.param("PASS[^1]\n\n[^1]: of a kind", id="footnote"),
        ],
    )
    def test_is_unknown_and_says_why(self, text):
        parsed = read_decision(text)

        assert (parsed.decision, parsed.source) == (Decision.UNKNOWN, None)
        assert parsed.problem

    def test_is_unknown_when_the_result_stands_in_the_middle(self):
        parsed = read_decision(f"{LONG}\n\n## Result: PASS\n\n{LONG}\n")

        assert parsed.decision is Decision.UNKNOWN
        assert parsed.problem == "the result line in line 9 is not the last line"
