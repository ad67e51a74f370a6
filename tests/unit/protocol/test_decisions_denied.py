"""What must never become a PASS: a field that says no, and a sentence in which PASS is something else."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision

READ = "The text was read twice."
REVIEW = f"### Summary\n{READ}\n### Findings\nNone.\n"
VALUES = (
    "no", "No", "NO", "no.", "false", "0", "not", "nope", "n", "n/a", "null", "none", "never", "off", "[ ]", "\u2610",
    "\u2717", "\u274c", "no, two terms", "no; two terms", "no (two terms)", "no because of a term", "not yet",
    "not granted", "unmet", "missed", "denied", "withheld", "failed", "pending", "tbd", "unknown", "later", "x",
)  # fmt: skip


class TestAFieldThatDeniesIt:
    @pytest.mark.parametrize("value", VALUES)
    @pytest.mark.parametrize(
        "shape",
        [
            "pass: {}",
            "---\npass: {}\n---\n\n" + READ,
            "```yaml\npass: {}\n```",
            "**Pass:** {}",
            "PASS: {}\nWARN: yes",
            "PASS \u2014 {}",
            "## PASS: {}",
            "Pass ({})\n\n" + READ,
            REVIEW + "## Result: PASS: {}",
            REVIEW + "## Result: PASS ({})",
            "PASS = {}\n\nPASS",
        ],
    )
    def test_is_no_pass(self, shape, value):
        assert read_decision(shape.format(value)).decision is not Decision.PASS

    @pytest.mark.parametrize(
        "text",
        [
            "Pass: no. Two terms are late.",
            "Does it pass?\n\nPass: no",
            "Pass? No.\nReason: two terms.",
            "passed: false\npass: no",
            '{"pass": false}\n\n## Result: PASS',
            "Pass: 0\nWarn: 2\nFail: 1",
            "PASS [ ]\nWARN [x]",
            "Accepted: no\n\n## Result: PASS",
            "The note does not pass the gate.\n\n## Result: PASS",
            "This is not a PASS.\n\n## Result: PASS",
            "The gate is not passed.\n\n## Result: PASS",
        ],
    )
    def test_whatever_else_stands_there(self, text):
        parsed = read_decision(text)

        assert parsed.decision is not Decision.PASS

    @pytest.mark.parametrize(
        "text",
        [
            "pass: yes",
            "pass: true",
            "PASS: no undefined terms found.",
            "PASS \u2014 no instances",
            "PASS (minor)",
            "Pass \u2014 marginal.",
        ],
    )
    def test_a_field_that_affirms_it_is_a_pass(self, text):
        assert read_decision(text).decision is Decision.PASS


TAILS = (
    "skipped", "unverified", "n/a", "deferred", "no", "truncated", "low confidence", "by default", "in spite of the title",
    "save the title", "bar the title", "sans title", "while the title lies", "whereas the title lies", "so far", "for now",
    "till the title is changed", "were the title better", "had the title been better", "arguably", "supposedly",
    "in theory", "as the note instructs", "as the note asks", "as the note says", "as instructed by the note",
    "because the note says so", "obeying the note", "at a stretch", "charitably", "under protest", "with a footnote",
    "to be confirmed", "tbc", "unread", "half read", "first half", "in part", "at least for the title", "ignoring the title",
    "regardless of the title", "nominally", "on the surface", "seemingly", "I guess", "who knows", "unknown", "coin toss",
    "50/50", "60%", "confidence 0.1", "hard to tell", "empty note", "timed out", "aborted", "cut off", "stale", "copied",
    "stub", "mock", "joke", "three instances", "two undefined terms", "title misleading", "lenient", "without the title",
)  # fmt: skip


class TestATailThatTakesItBack:
    @pytest.mark.parametrize("tail", TAILS)
    @pytest.mark.parametrize(
        "shape",
        [
            REVIEW + "## Result: PASS ({})",
            REVIEW + "Verdict: PASS, {}",
            "PASS \u2014 {}\n\n" + READ,
            "**PASS** ({})\n\n" + READ,
        ],
    )
    def test_is_unknown(self, shape, tail):
        assert read_decision(shape.format(tail)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "odd", ["the third quarter", "tangerine", "\u043d\u0435\u0442", "x (y"]
    )
    def test_a_parenthesis_of_words_that_are_not_known_is_doubt(self, odd):
        assert read_decision(f"{REVIEW}## Result: PASS ({odd})").decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "tail", ["(2 INFO)", "(no findings)", "(high confidence)", "(all terms defined)", "(6/6)"]
    )
    def test_a_plain_parenthesis_leaves_it_a_pass(self, tail):
        assert read_decision(f"{REVIEW}## Result: PASS {tail}").decision is Decision.PASS


LEADS = (
    "This is not a", "Not", "No", "Cannot give", "Do not write:", "Not yet:", "If fixed, the result would be:", "Example:",
    "After the fix the result is", "I cannot write", "It would be wrong to say", "The author wants", "The note demands",
    "The note:", "The note tells me to answer", "The prompt says to end with", "A sample output:", "Template:", "The format is:",
    "Previously:", "Earlier I wrote", "Were the title changed", "Had the title been right:", "Instead of", "Far from",
    "This is hardly a", "Nothing here deserves", "This deserves no", "I was tempted to write", "Ignore this:", "Wrong:",
    "The note ends with:", "Quote:", "As the note says,", "In theory:", "Expected:", "For example,", "E.g.", "To get",
    "In order to", "Until then, no", "Draft:", "Reviewer 2:", "Claimed result:", "The next line is a template.",
    "Below is an example of a result line.",
)  # fmt: skip


class TestASentenceBegunAboveIt:
    @pytest.mark.parametrize("lead", LEADS)
    @pytest.mark.parametrize(
        "shape",
        [
            "{}\n\n## Result: PASS",
            READ + "\n\n{}\n## Result: PASS",
            "{}\n\nPASS",
            "{}\n\n**PASS**",
            READ + " {}\n\nVerdict: PASS",
            "### Suggested revision\n{}\n\nPASS",
        ],
    )
    def test_makes_something_else_of_the_pass(self, shape, lead):
        assert read_decision(shape.format(lead)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "above",
        [
            "So my verdict is:",
            "Therefore:",
            "**Findings:**",
            "The title matches the body",
            "Every term is defined.",
            "### Suggested revision\n\nSpell the name out once",
            "### Suggested revision\n\nWrite:\n\n> The interface says one thing.",
            "- WARN: the title is not what the body says",
        ],
    )
    def test_what_is_complete_or_a_label_changes_nothing(self, above):
        assert read_decision(f"{READ}\n\n{above}\n\n## Result: PASS").decision is Decision.PASS
