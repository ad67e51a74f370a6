"""What must never become a PASS: one that its review takes back or contradicts."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision

LONG = "\n\n".join(["The note names its terms.", "It links them.", "It ends well.", "So be it."])


class TestTakenBack:
    @pytest.mark.parametrize(
        "qualified",
        [
            "PASS — see blocker below",
            "PASS, but one claim is open",
            "PASS, except the second table",
            "PASS — however, the table is off",
            "PASS although the table is off",
            "PASS (although the table is off)",
            "PASS unless the table counts",
            "PASS, unless the table counts",
            "PASS — not",
            "PASS (not yet)",
            "PASS (isn't one)",
            "PASS — contradicted by the table",
            "PASS (with 1 FAIL)",
            "PASS (1 WARN)",
            "PASS (but …)",
            "PASS (with caveats)",
            "PASS — must be shortened",
            "PASS — should be shortened",
            "PASS (if the link is mended)",
            "PASS, once the link is mended",
            "PASS, subject to the link being mended",
            "PASS (conditional)",
            "PASS (provisional)",
            "PASS (5/6)",
            "PASS (5 of 6 checks)",
            "PASS — needs a link",
            "PASS — no other issues",
            "PASS (revised)",
            "PASS (expected)",
            "PASS — e.g. The link, but the rest lies",
            "PASS — fine... Yes, but it lies",
            "PASS (first part only)",
            "PASS — denied",
            "PASS — maybe?",
            "PASS — **b**ut the table is off",
            "PASS — b\u200but the table is off",
            "PASS — bụt",
            "PASS — mais pas ici",
            "PASS — aber nur halb",
            "PASS — pero no del todo",
            "PASS — кроме таблицы",
            "PASS — \u274c",
            "PASS. 1 WARN.",
            "PASS: terms. Good: tone. FAIL: links.",
            "PASS\n(only if the link is mended)",
            "PASS\n\n… when the link is mended",
            "PASS — 有问题",
            "PASS (但是有问题)",
            "PASS — b\u03c5t it lies",
        ],
    )
    @pytest.mark.parametrize("shape", ["{}", "**{}**", "## {}", "## Result: {}", "Verdict: {}"])
    def test_a_pass_with_a_doubt_in_its_sentence_is_unknown(self, shape, qualified):
        line = shape.format(qualified)

        assert read_decision(f"{line}\n\n{LONG}").decision is Decision.UNKNOWN
        assert read_decision(f"{LONG}\n\n{line}").decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("PASS\n\nHowever, the table contradicts it.", id="next-paragraph"),
            pytest.param("**Pass.** But the table is off.", id="next-sentence"),
            pytest.param("Pass, narrowly\nbut the table is off.", id="wrapped-sentence"),
            pytest.param("PASS.\n\n- But the table is off.", id="list-below"),
            pytest.param("PASS\n\nProvided that the link is mended.", id="condition"),
            pytest.param("PASS\n\nTwo WARN, both in the table.", id="counted-below"),
            pytest.param("Pass: terms. Fail: links.", id="two-halves"),
            pytest.param("PASS\n\nWait, the table is off.", id="second-thought"),
            pytest.param("PASS — " + "a word\n" * 60 + "but it is off.", id="very-long-sentence"),
        ],
    )
    def test_a_turn_right_after_it_counts_too(self, text):
        assert read_decision(f"{text}\n\n{LONG}").decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "below",
        [
            "However, the table contradicts it.",
            "The second table is broken.",
            "- FAIL: the table",
            "<!-- see the blocker, this is not done -->",
            "Die Tabelle ist nicht belegt.",
        ],
    )
    def test_objections_below_the_result_line_count(self, below):
        text = f"{LONG}\n\n## Result: PASS\n\n{below}"

        assert read_decision(text).decision is Decision.UNKNOWN

    def test_names_the_word_and_the_line(self):
        parsed = read_decision("Text.\n\n## Result: PASS (but the table)")

        assert parsed.problem == "line 3 says PASS, and “but” takes it back"

    @pytest.mark.parametrize(
        "text",
        [
            "**Pass.** The table should be shorter, but it holds.",
            "PASS — no blockers or warnings.",
            "PASS — no issues found",
            "PASS — only INFO",
            "PASS, no changes needed",
            "PASS (6/6)",
            "**Pass.** No WARN, no FAIL.",
            "PASS\n\n3 INFO, no WARN.",
        ],
    )
    def test_what_takes_nothing_back_leaves_a_pass(self, text):
        assert read_decision(f"{text}\n\n{LONG}").decision is Decision.PASS

    def test_a_pass_that_was_taken_back_leaves_a_clear_warn(self):
        text = f"PASS — but one claim is open.\n\n{LONG}\n\n## Result: WARN"

        assert read_decision(text).decision is Decision.WARN


class TestContradicted:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(f"## Result: FAIL\n\n{LONG}\n\n## Result: PASS", id="fail-then-pass"),
            pytest.param(f"## Result: PASS\n\n{LONG}\n\n## Result: FAIL", id="pass-then-fail"),
            pytest.param(f"{LONG}\n\n## Result: WARN\n\n{LONG}\n\n## Result: PASS", id="middle"),
            pytest.param(f"{LONG}\n\n## Result: PASS\n\n{LONG}\n\n## Result: FAIL", id="other-way"),
            pytest.param(f"FAIL\n\n{LONG}\n\n## Result: PASS", id="word-then-result"),
            pytest.param(f"FAIL — six terms\n\n{LONG}\n\nPASS", id="words-at-both-ends"),
            pytest.param(f"FAIL\nNo term is defined.\n\n{LONG}\n\n## Result: PASS", id="fail-none"),
            pytest.param(f"{LONG}\n\nFAIL\n\n## Result: PASS", id="right-above"),
            pytest.param(f"PASS\n\n{LONG}\n\nVerdict: WARN", id="word-and-verdict"),
            pytest.param(f"PASS\n\n{LONG}\n\n**WARN** — x\n\n{LONG}", id="word-in-the-middle"),
            pytest.param(f"{LONG}\n\nVerdict: FAIL\n\n{LONG}\n\n## Result: PASS", id="verdict"),
            pytest.param(f"Verdict: not a pass\n\n{LONG}\n\n## Result: PASS", id="denied-verdict"),
            pytest.param(f"### Verdict\nFAIL\n\n{LONG}\n\n## Result: PASS", id="label-then-word"),
            pytest.param(f"❌ Verdict: FAIL\n\n{LONG}\n\n## Result: PASS", id="behind-a-symbol"),
            pytest.param(f"1. Outcome: FAIL\n\n{LONG}\n\n## Result: PASS", id="graver-item"),
            pytest.param(f"| Result: FAIL |\n\n{LONG}\n\n## Result: PASS", id="in-a-table"),
            pytest.param(f"<!-- Result: FAIL -->\n\n{LONG}\n\n## Result: PASS", id="in-a-comment"),
            pytest.param(f"    ## Result: FAIL\n\n{LONG}\n\n## Result: PASS", id="in-code"),
            pytest.param(f"## Result: F\u200bAIL\n\n{LONG}\n\n## Result: PASS", id="disguised"),
            pytest.param(f"## Result: F\u0410IL\n\n{LONG}\n\n## Result: PASS", id="cyrillic"),
            pytest.param(f"## Result: FAILED\n\n{LONG}\n\n## Result: PASS", id="failed"),
            pytest.param(f"## Result: PASS/WARN\n\n{LONG}\n\n## Result: PASS", id="two-at-once"),
            pytest.param(f"## Result for x: FAIL\n\n{LONG}\n\n## Result: PASS", id="for-a-part"),
            pytest.param(f"Final: FAIL\n\n{LONG}\n\n## Result: PASS", id="final"),
            pytest.param(f"PASS\n\n{LONG}\n\nCorrection: FAIL", id="correction"),
            pytest.param("PASS\n\n---\n\nFAIL", id="two-words"),
            pytest.param(f"Revised result: PASS\n\n{LONG}\n\n## Result: PASS", id="revised-alike"),
            pytest.param(
                f"{LONG}\n\n### Verdict\nFAIL\n\n{LONG}\n\n## Result: PASS", id="label-mid"
            ),
            pytest.param(f"{LONG}\n\nPASS\n\n## Result: FAIL", id="pass-right-above-fail"),
            pytest.param(f"{LONG}\n\n**FAIL** — x\n\n{LONG}\n\nNo WARNs found.", id="no-warn"),
            pytest.param(f"Revised result: FAIL\n\n{LONG}\n\n## Result: PASS", id="revised-fail"),
            pytest.param(
                f"## Result: FAIL\n\n{LONG}\n\n## Revised result: PASS", id="revised-pass"
            ),
            pytest.param(f"{LONG}\n\n## Revised result\n\nPASS", id="revised-label-alone"),
            pytest.param(f"{LONG}\n\n## Result (revised): PASS", id="revised-in-parenthesis"),
            pytest.param(f"## PASS\n- x\n\n## FAIL\n- y\n\n{LONG}", id="groups-of-items"),
            pytest.param(
                f"{LONG}\nOutcome: WARN\n\n{LONG}\nOutcome: INFO\n\n{LONG}\nOutcome: WARN",
                id="three-items",
            ),
            pytest.param(f"PASS: absent\nWARN: present\n\n{LONG}", id="legend"),
            pytest.param(f"{LONG}\n\nOverall: one WARN, two FAILs", id="overall-both"),
            pytest.param(f"Text.\n\n**WARN** — x\n\n{LONG}\n\nPass.", id="warn-and-pass-of-items"),
            pytest.param("- WARN: x\n\nText.\n\nMore.\n\nPASS", id="closing-word-after-a-warn"),
        ],
    )
    def test_is_unknown(self, text):
        parsed = read_decision(text)

        assert parsed.decision is Decision.UNKNOWN
        assert parsed.problem

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param("- `## Result: FAIL` is never explained", id="code-span"),
            pytest.param("“Result: FAIL” is never explained.", id="quotation-marks"),
            pytest.param("Revised outcome: pass rates rise by a third.", id="revised-prose"),
            pytest.param("Edit: warn the reader first.", id="suggested-edit"),
        ],
    )
    def test_a_mention_contradicts_nothing(self, line):
        text = f"{LONG}\n\n{line}\n\n{LONG}\n\n## Result: PASS"

        assert read_decision(text).decision is Decision.PASS

    def test_names_both_lines(self):
        parsed = read_decision("## Result: FAIL\n\nText.\n\n## Result: PASS")

        assert parsed.problem == "the declarations differ: pass in line 5, fail in line 1"


class TestRetracted:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("## Result: PASS\n~~PASS~~ FAIL", id="struck-out-below"),
            pytest.param("~~PASS~~\n\n## Result: PASS", id="struck-out-above"),
            pytest.param("## Result: PASS*", id="footnote-mark"),
            pytest.param("PASS* (see note)", id="footnote-mark-first-line"),
        ],
    )
    def test_is_unknown(self, text):
        assert read_decision(text).decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("## Result: **PASS**", id="bold-word"),
            pytest.param("**Result: PASS**", id="bold-line"),
            pytest.param("*Pass.* Text.", id="italic-word"),
            pytest.param("An ~~old~~ new word.\n\n## Result: PASS", id="another-word-struck-out"),
        ],
    )
    def test_emphasis_is_no_retraction(self, text):
        assert read_decision(text).decision is Decision.PASS
