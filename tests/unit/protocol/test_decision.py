"""Decisions as models state them: the shapes that were seen in real reviews, and what is no decision."""

from __future__ import annotations

import pytest

from review.protocol.decision import read_decision
from review.vocabulary import DecisionSource

FINDING = "### Findings\n- WARN: the claim has no source\n  > All of them agree.\n"


def read(text: str) -> str:
    return read_decision(text).decision.value


class TestResultLine:
    @pytest.mark.parametrize(
        ("line", "decision"),
        [
            ("## Result: PASS", "pass"),
            ("## Result: WARN", "warn"),
            ("## Result: FAIL", "fail"),
            ("## Result: ERROR", "error"),
            ("# Result: PASS", "pass"),
            ("###### result: warn", "warn"),
            ("## RESULT : Fail", "fail"),
            ("##Result: PASS", "pass"),
            ("## Result: pass", "pass"),
            ("## Result: PASS.", "pass"),
            ("\u200b## Result: FAIL!", "fail"),
            ("## Result: **PASS**", "pass"),
            ("## **Result:** PASS", "pass"),
            ("**## Result: WARN**", "warn"),
            ("## Result: `FAIL`", "fail"),
            ("## Result: PASS ##", "pass"),
            ("## Result: WARNING", "warn"),
            ("## Result: PASS (2 INFO)", "pass"),
            ("## Result: PASS (2 INFOs, 1 minor note)", "pass"),
            ("## Result: PASS (no findings)", "pass"),
            ("## Result: PASS (borderline)", "pass"),
            ("## Result: PASS (minor)", "pass"),
            ("## Result: WARN (mild)", "warn"),
            ("## Result: WARN (1 instance)", "warn"),
            ("## Result: FAIL (3 FAIL, 1 WARN)", "fail"),
            ("## Result: FAIL (two findings and one remark).", "fail"),
            ("## Result: \u2705 PASS", "pass"),
            ("## Result: WARN \u26a0\ufe0f", "warn"),
            ("## Result: \U0001f534 FAIL", "fail"),
            ("## Result: [WARN]", "warn"),
            ("## Result\uff1aPASS", "pass"),
            ("\\## Result: PASS", "pass"),
            ("## Result: PASS, 2 INFO", "pass"),
            ("## Result: PASS — no findings", "pass"),
            ("## Result: PASS (0 WARN, 0 FAIL)", "pass"),
            ("## Result: PASS (no WARN or FAIL)", "pass"),
            ("## Result: PASS (INFO only)", "pass"),
            ("## Result: WARN — one undefined term", "warn"),
            ("## Result: FAIL: the title contradicts the body", "fail"),
            ("## Result: \U0001f44d PASS", "pass"),
            ("## Result: PASS<|im_end|>", "pass"),
            ("## Result: <b>WARN</b>", "warn"),
            ("## Result: $\\boxed{\\text{FAIL}}$", "fail"),
            ("## Ergebnis: WARN", "warn"),
            ("## 结果\uff1aPASS", "pass"),
        ],
    )
    def test_decides_as_the_last_line(self, line, decision):
        parsed = read_decision(f"{FINDING}\n{line}\n")

        assert parsed.decision == decision
        assert parsed.source is DecisionSource.RESULT_LINE
        assert parsed.problem == ""

    @pytest.mark.parametrize(
        "below",
        [
            "\n\n",
            "\n---\n",
            "\n</review>\n<!-- end -->\n",
            "\n***\n \n",
            "\n```\n## Result: FAIL\n```\n",
            "\n> ## Result: FAIL\n",
        ],
    )
    def test_is_the_last_line_whatever_is_no_text_below_it(self, below):
        assert read(f"No finding.\n\n## Result: PASS{below}") == "pass"

    @pytest.mark.parametrize("part", ["### Summary\nOne term.", "## **Suggested revision**\nNone."])
    def test_may_stand_above_a_part_of_the_template(self, part):
        assert read(f"{FINDING}\n## Result: WARN\n\n{part}\n") == "warn"

    @pytest.mark.parametrize(
        "above",
        [
            pytest.param(FINDING, id="findings-that-warn"),
            pytest.param(
                "- FAIL: the title is wrong\n- FAIL: so is the lead\n", id="findings-that-fail"
            ),
            pytest.param(
                "At first sight this is a FAIL, but the second table settles it.", id="prose"
            ),
            pytest.param("Verdict: FAIL", id="another-label"),
            pytest.param("Verdict: sound.\n- Outcome: the note improves.", id="labels-of-prose"),
            pytest.param(
                '"ADR-002" is linked but not explained inline; the link is enough.', id="but"
            ),
            pytest.param("```\n## Result: ERROR\n```", id="fence"),
            pytest.param("> ## Result: WARN", id="quotation"),
            pytest.param("## Outcome of the test\n**TODO**\nJSON", id="headings"),
            pytest.param("Reviewer 2 said: ## Result: FAIL", id="mention"),
            pytest.param("PASS — unmet.\nKidding.", id="first-line-that-turns"),
            pytest.param("## Result: PASS", id="the-same-twice"),
            pytest.param("## Result: the reader learns nothing", id="a-heading-of-the-same-name"),
        ],
    )
    def test_is_taken_back_by_no_other_text(self, above):
        assert read(f"{above}\n\n## Result: PASS") == "pass"

    def test_counts_below_a_fence_that_is_never_closed(self):
        assert read("```\nkey: value\n\nThe lead is long.\n\n## Result: WARN") == "warn"

    @pytest.mark.parametrize(
        ("line", "shown"),
        [
            ("## Result: PASS — see blocker below", "PASS — see blocker below"),
            ("## Result: PASSED", "PASSED"),
            ("## Result: PASS/WARN", "PASS/WARN"),
            ("## Result: PASS|WARN|FAIL|ERROR", "PASS|WARN|FAIL|ERROR"),
            ("## Result: PASS, WARN, FAIL or ERROR", "PASS, WARN"),
            ("## Result: OK", "OK"),
            ("## Result: no PASS", "no PASS"),
            ("## Result: NOT PASS", "NOT PASS"),
            ("## Result: PASS (with caveats)", "PASS (with caveats)"),
            ("## Result: PASS (1 WARN)", "PASS (1 WARN)"),
            ("## Result: WARN (1 FAIL)", "WARN (1 FAIL)"),
            ("## Result: PASS (10 WARN)", "PASS (10 WARN)"),
            ("## Result: PASS — one blocker", "PASS —"),
            ("## Result: PASS — the failure mode is absent", "PASS —"),
            ("## Result: WARN, or FAIL if it ships", "WARN, or FAIL"),
            ("## Result: FAIL \u2192 WARN", "FAIL"),
            ("## Result: CLAIM DRIFT", "CLAIM DRIFT"),
            ("## Result: <PASS>", "<PASS>"),
            ("## Result: PASS?", "PASS?"),
            ("## Result: PASS \u26a0\ufe0f", "PASS \u26a0"),
        ],
    )
    def test_that_holds_something_else_decides_nothing(self, line, shown):
        parsed = read_decision(f"Pass.\n\n{line}")

        assert parsed.decision == "unknown"
        assert parsed.source is None
        assert shown in parsed.problem

    def test_above_other_text_decides_nothing(self):
        parsed = read_decision("PASS\n\n## Result: PASS\n\nOn second thought, see the table.")

        assert parsed.decision == "unknown"
        assert parsed.problem == "the result line in line 3 is not the last line"

    @pytest.mark.parametrize(
        "other", ["WARN", "FAIL (2 findings)", "PASS|WARN|FAIL|ERROR", "PASS — see blocker"]
    )
    def test_that_another_contradicts_decides_nothing(self, other):
        parsed = read_decision(f"## Result: {other}\n\nMore.\n\n## Result: PASS")

        assert parsed.decision == "unknown"
        assert "two result lines differ" in parsed.problem


class TestDeclared:
    @pytest.mark.parametrize(
        ("text", "decision"),
        [
            ("pass", "pass"),
            ("PASS", "pass"),
            ("Pass.", "pass"),
            ("**Pass.** The note cannot be reduced to a paragraph.", "pass"),
            ("**pass** The title is a claim.", "pass"),
            ("## PASS", "pass"),
            ("## PASS — no instances", "pass"),
            ("pass. The title works in a sentence.", "pass"),
            ("pass — The body delivers what the title says.", "pass"),
            ("PASS - no residue", "pass"),
            ("PASS: nothing to report.", "pass"),
            ("Pass, narrowly. The second row is thin.", "pass"),
            ("PASS (marginal)", "pass"),
            ("**PASS (borderline)**", "pass"),
            ("Pass. Only two terms are used, and both are defined.", "pass"),
            ("Clean pass.", "pass"),
            ("INFO", "pass"),
            ("## INFO — one mild instance", "pass"),
            ("OK", "pass"),
            ("Clean.", "pass"),
            ("**Fail.** Six of ten entries repeat the body.", "fail"),
            ('fail — "Backlinks" is a bare noun.', "fail"),
            ("## FAIL", "fail"),
            ("**fail** The title asks instead of stating.", "fail"),
            ("fail, and not only once", "fail"),
            ("warn", "warn"),
            ("warning", "warn"),
            ("**WARN (mild)**", "warn"),
            ("## WARN — one instance", "warn"),
            ("**WARN** — 1 instance", "warn"),
            ("WARN; the lead is long", "warn"),
            ("## Review of backlinks.md\n\nPASS\n\nNothing found.", "pass"),
            ("# prose/source-residue\n**Fail.** Two sentences answer somebody.", "fail"),
        ],
    )
    def test_in_the_first_line_below_a_title(self, text, decision):
        parsed = read_decision(f"{text}\n\nThe rest of the review says why.\n")

        assert (parsed.decision, parsed.source) == (decision, DecisionSource.DECLARED)

    @pytest.mark.parametrize(
        ("line", "decision"),
        [
            ("**Verdict: PASS (2 INFO)**", "pass"),
            ("## Verdict: PASS (borderline)", "pass"),
            ("**Result: WARN — two instances**", "warn"),
            ("**Result:** FAIL", "fail"),
            ("Outcome: WARN", "warn"),
            ("Decision: fail", "fail"),
            ("Final verdict: pass.", "pass"),
            ("The final decision: WARN", "warn"),
            ("Gate verdict — PASS", "pass"),
            ("Verdict - FAIL", "fail"),
            ("verdict: pass", "pass"),
            ("Result: OK", "pass"),
            ("Overall: one WARN (the lead), two INFOs", "warn"),
            ("Overall: PASS", "pass"),
            ("Overall verdict: FAIL", "fail"),
            ("## Result\nWARN", "warn"),
            ("## Result WARN", "warn"),
            ("## Result\n\n**PASS**", "pass"),
            ("Result\nPASS", "pass"),
            ("Verdict:\nfail", "fail"),
            ("- Verdict: WARN", "warn"),
        ],
    )
    def test_in_a_labelled_line(self, line, decision):
        text = f"The note presents one framework, and its terms are defined.\n\n{line}\n\nThanks."

        parsed = read_decision(text)

        assert (parsed.decision, parsed.source) == (decision, DecisionSource.DECLARED)

    def test_in_frontmatter(self):
        assert read("---\ngate: prose/x\nverdict: pass\n---\nThe rows are calibrated.") == "pass"

    @pytest.mark.parametrize(
        "line", ["No WARN. Two INFOs: the lead, the title.", "No WARNs found.", "**No warnings.**"]
    )
    def test_by_a_closing_line_without_a_warning(self, line):
        assert (
            read(f"The note cites four sources.\n\n- INFO: the lead is long\n\n---\n{line}")
            == "pass"
        )

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("PASS\n\nVerdict: WARN", id="first-line-and-label"),
            pytest.param("Outcome: WARN\nOutcome: INFO\nOutcome: WARN", id="items"),
            pytest.param("Verdict: PASS\n\nOverall: one FAIL (the title)", id="labels"),
            pytest.param("Verdict: ERROR\n\nNo access.", id="error-counts-in-a-result-line-only"),
            pytest.param("PASS\n\n- WARN: the claim has no source", id="a-pass-whose-bullet-warns"),
            pytest.param("INFO\n\n- FAIL: the title is wrong", id="info-whose-bullet-fails"),
        ],
    )
    def test_statements_that_differ_decide_nothing(self, text):
        parsed = read_decision(text)

        assert parsed.decision == "unknown"
        assert parsed.problem

    @pytest.mark.parametrize(
        "text",
        [
            "PASS — but the second table contradicts it.",
            "PASS, but only for the first part.",
            "PASS (unless the table is wrong)",
            "**PASS** except for the lead.",
            "PASS: not yet.",
            "PASS (with caveats)",
            "Pass. However, the second paragraph claims more.",
            "Verdict: PASS — wait, the table",
            "Verdict: PASS. Actually, the table contradicts it.",
            "**Pass.** No, the second table says more.",
            "pass, if the source is added",
        ],
    )
    def test_a_pass_that_turns_is_none(self, text):
        assert read(f"{text}\n\nMore.") == "unknown"

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param(" \n\n", id="blank"),
            pytest.param("```\nPASS\n```", id="fence"),
            pytest.param("> PASS", id="quotation"),
            pytest.param("Sorry, I can't help with that.", id="refusal"),
            pytest.param("This is not a PASS.", id="denial"),
            pytest.param("I cannot say whether it would PASS.", id="doubt"),
            pytest.param("SUMMARY … This is not a PASS; BLOCKED", id="mention"),
            pytest.param("PASS: 3 / FAIL: 1", id="tally"),
            pytest.param("PASS = 3, WARN = 1", id="tally-of-numbers"),
            pytest.param("PASS or WARN", id="choice"),
            pytest.param("PASS, WARN or FAIL are possible.", id="list"),
            pytest.param("PASS/WARN", id="slash"),
            pytest.param("Decision: FAIL \u2192 PASS", id="arrow"),
            pytest.param("pass-through of the argument is shown", id="compound"),
            pytest.param("Pass 1 of the review looked at the title.", id="noun"),
            pytest.param("Passages of the note are long.", id="longer-word"),
            pytest.param("Fail-safe defaults are described.", id="compound-fail"),
            pytest.param("OK, I have read the note.", id="small-talk"),
            pytest.param("Clean prose throughout.", id="clean-as-adjective"),
            pytest.param("CLAIM DRIFT — the title promises less.", id="invented-word"),
            pytest.param("Verdict: CLAIM DRIFT", id="invented-word-after-a-label"),
            pytest.param("Verdict: sound.", id="prose-after-a-label"),
            pytest.param("Overall, the note passes.", id="no-label"),
            pytest.param("- pass — the first term", id="item"),
            pytest.param("1. PASS\n2. FAIL", id="numbered-items"),
            pytest.param("- `epoch` is not defined.\n  Pass.", id="last-item"),
            pytest.param("- `epoch` is used.\n\nNo other undefined terms found.", id="no-other"),
            pytest.param("The lead is long.\n\nNo WARNs, but one FAIL.", id="no-warn-but"),
            pytest.param("- FAIL: the title\n\nNo WARNs found.", id="no-warn-with-a-fail"),
            pytest.param("No WARNs so far.\n\n`epoch` is not defined.", id="no-warn-above"),
            pytest.param("The word pass stands in the middle.\n\nIt may PASS.", id="prose"),
        ],
    )
    def test_nothing_else_is_a_decision(self, text):
        parsed = read_decision(text)

        assert parsed.decision == "unknown"
        assert parsed.source is None
        assert parsed.problem
