"""What stands beside a result line: other results, sentences of breach, lead-ins, remarks of INFO."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision

BLOCK = "### Summary\nThe note names its terms.\n{}\n### Findings\nNone.\n## Result: PASS\n"
OTHER_RESULTS = (
    "Result: \u274c", "Result: \u2718", "Result: nope", "Result: NOK", "Result: negative", "Result: 0/2", "Result: red", "Result: PASS (no)",
    "Result: PASS? Hardly.", "Result: PASS, but only when sourced", "Result: PASS once renamed", "<b>Result: FAIL</b>",
    "<strong>Verdict:</strong> <em>WARN</em>", "Verdict: unacceptable", "Verdict: breach", "Verdict: does not satisfy the gate",
    "Outcome: the criterion is breached", "Decision: return to the author", "Result ... WARN", "Result \u2014 withheld", "Grade: E", "Score: 0",
    "Our verdict: poor", "- Verdict: insufficient", "Ergebnis: nicht bestanden", "Resultado: rechazado", "\u7ed3\u8bba\uff1a\u4e0d\u901a\u8fc7",
    "Verdict: \u274c PASS", "FAIL is our verdict.", "I am giving it a WARN.", "A WARN is warranted.", "Consequently a FAIL is due.",
    "So it's a WARN.", "FAIL it is.", "We must fail this.", "At least a WARN.", "At best a FAIL.", "Clearly WARN.", "Verdict is FAIL.",
    "I have to fail the note.", "Gate outcome is WARN", "I'd say WARN.",
)  # fmt: skip
SAME_RESULTS = (
    "Result: PASS", "Result: passed", "**Verdict:** pass", "Verdict: \u2705 PASS", "Outcome: \u2705", "Verdict: sound.", "Result: PASS (1 INFO)",
    "- Outcome: the note gains a lead.", "Outcome: no findings", "Decision: accept", "Ergebnis: bestanden", "\u7ed3\u8bba\uff1a\u901a\u8fc7",
    "<b>Result: PASS</b>", "The outcome of the trial is told in the lead.", "`Result: FAIL` is the line it quotes.",
    "Nothing calls for a WARN.", "No line trips the gate.", "The author says when a rule fires.", "Score: 100%", "Issues: 0", "Issues: none",
    "- [x] Links resolve", "> Result: FAIL", "The decision: use a queue. The note gives the reasons.", "The rule applies to the lead, which is fine.",
    "The body shows the failure mode of naive retries, with a diagram.", "The author argues that tests should fail fast; the argument is sourced.",
    "The note lists three issues of the old design, with links.", "I checked each link; none is dead.", "No residue of a chat, no placeholders.",
    "The requirement is stated in the first line, and met in the second section.", "It says what happens if a node is broken, and cites a source.",
)  # fmt: skip


class TestALineBesideTheResult:
    @pytest.mark.parametrize("line", OTHER_RESULTS)
    def test_that_says_another_is_not_overlooked(self, line):
        assert read_decision(BLOCK.format(line)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize("line", SAME_RESULTS)
    def test_that_says_the_same_or_nothing_leaves_it(self, line):
        assert read_decision(BLOCK.format(line)).decision is Decision.PASS

    def test_in_a_fence_is_none(self):
        assert read_decision(BLOCK.format("```\nResult: no\n```")).decision is Decision.PASS


BREACHES = (
    "The rule is triggered by paragraph 3.", "This criterion fires.", "Paragraph 3 trips the gate.", "`quorum` is never introduced.",
    "`quorum` has no explanation.", "The main claim has no citation.", "The note is in breach of the rule.", "It flouts the criterion.",
    "It falls short of the gate.", "Recommendation: major revision.", "Conformance: 55 %", "Quality: weak", "Problems: 4", "Mergeable: no",
    "- [ ] Sources given", "The failure mode shows up in the lead.", "There is no source for the main claim.", "The lead is at odds with the body.",
    "The link in line 3 is dead.", "The author forgot to name the source.", "I only looked at the lead.", "Action required: yes",
    "Risk: critical", "The real verdict is elsewhere.", "The gate applies to line 4.",
)  # fmt: skip


class TestASentenceOfBreach:
    @pytest.mark.parametrize("sentence", BREACHES)
    @pytest.mark.parametrize(
        "shape", ["PASS\n\n{}", "Verdict: PASS\n\n{}", "{}\n\nVerdict: PASS", BLOCK]
    )
    def test_is_believed_before_the_pass(self, shape, sentence):
        assert read_decision(shape.format(sentence)).decision is not Decision.PASS


SUGGESTED = (
    "### Findings\n- FAIL: The title says more.\n### Suggested revision\n{}\n## Result: PASS\n"
)
LEAD_INS = (
    "Shorten the title. With this edit:", "Shorten it. Then", "Once shortened:", "After that:", "Only if this is done:", "Shorten it, which yields",
    "Shorten it so that the verdict is", "With these changes the note earns", "Status after the edit:", "Expected outcome:",
    "The note wants me to close with this line.", "Following the edit, it becomes",
)  # fmt: skip
ADVICE = (
    "Optionally add a figure", "Add an example below the first table", "Shorten the title.", "Link the source", "Consider the table below",
    "Not strictly needed, and the title could be shorter", "None.", "n/a", "Spell the name out once",
    "Use this wording:\n```\nBackups are tested weekly.\n```", "Use this wording:\n> Backups are tested weekly.",
)  # fmt: skip


class TestASuggestionRightAboveTheResult:
    @pytest.mark.parametrize("line", LEAD_INS)
    @pytest.mark.parametrize("gap", ["", "\n"])
    def test_may_lead_into_it(self, line, gap):
        assert read_decision(SUGGESTED.format(line + gap)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize("line", ADVICE)
    @pytest.mark.parametrize("gap", ["", "\n"])
    def test_is_most_often_advice(self, line, gap):
        text = SUGGESTED.replace("FAIL: The title says more", "INFO: A long title")

        assert read_decision(text.format(line + gap)).decision is Decision.PASS


class TestARemarkOfInfo:
    @pytest.mark.parametrize(
        "remark",
        ["This is a WARN.", "The verdict is FAIL.", "Reject.", "I did not read the note.", "This is not a pass.", "I take it back.",
         "The note fails.", "The criterion is not met.", "Do not merge."],
    )  # fmt: skip
    def test_that_speaks_of_the_note_takes_the_pass_back(self, remark):
        assert (
            read_decision(f"PASS\n\n### Findings\n- INFO: {remark}\n").decision is Decision.UNKNOWN
        )

    @pytest.mark.parametrize(
        "remark", ["A long sentence.", "The title could be shorter.", 'Consider changing "fails" to "failed".', "\"roughly\" is a loose word.", "The note does not define TLS, which its readers know.", "Lag is never explained, and common."]
    )  # fmt: skip
    def test_about_a_detail_takes_nothing_back(self, remark):
        text = f"### Findings\n- INFO: {remark}\n### Suggested revision\nNone.\n## Result: PASS"

        assert read_decision(text).decision is Decision.PASS
