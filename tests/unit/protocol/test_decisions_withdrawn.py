"""What must never become a PASS: one that the lines below it, or a verdict in other words, outweigh."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision

READ = "The text was read twice."
REVIEW = f"### Summary\n{READ}\n### Findings\nNone.\n"
FILLER = "\n\n".join([READ] * 5)
CLOSINGS = (
    "The verdict is FAIL.", "Therefore FAIL.", "\u2192 FAIL", "=> FAIL", "**Therefore: WARN**", "I change this to FAIL.",
    "Final call: FAIL.", "Final answer: FAIL", "Verdict FAIL", "WARN: 2, FAIL: 1", "2 WARN, 1 FAIL", "Two FAILs.", "One WARN.",
    "Rejected.", "Not acceptable.", "Strike that.", "I cannot confirm this.", "Note: this should be WARN.", "Not final.",
    "Update: changed to FAIL", "Retracted.", "Disregard the above.", "The above is wrong.", "Wrong block.", "Oops.", "Undo.",
    "^ wrong", "Note to self: check again.", "Ignore the line above.", "P.S. I now think it fails.", "Scrap that.",
    "Scratch the above.", "Forget what I said.", "That was premature.", "I take it back.", "On balance a fail.", "WARN", "FAIL!",
    "The note does not meet the gate.", "This does not pass.", "Reject.", "Send it back.", "Below the bar.", "Do not publish.",
    "My first line was premature.", "I have changed my mind.", "Downgraded to WARN.", "Overall FAIL", "Errors remain.",
    "A blocker remains.", "Must be fixed.", "Needs a rewrite.", "Should not stand.", "Unacceptable.", "Inadmissible.",
    "Insufficient.", "No.", "Nope.", "Kidding.", "Sarcasm.", "/s", "Withdrawn.", "Void.", "Annulled.", "Vetoed.", "I disagree.",
    "I am unsure.", "I do not know.", "Inconclusive.", "I could not read the note.", "The note is empty.", "Nothing was checked.",
    "Unverified.", "Wrong note.", "Erratum: WARN", "Grade: F", "Score: 0/10", "Verdict: negative", "Answer: no", "Not a pass.",
    "Far from a pass.", "\U0001f44e", "\u274c", "\uff26\uff21\uff29\uff2c", "F\u0410IL", "F A I L", "F.A.I.L.",
    "Nicht bestanden.", "\u4e0d\u5408\u683c", "It fails.", "Flunked.", "The title contradicts the body.", "Misleading.",
    "Two terms stay undefined.", "Three violations.", "The failure mode is present.", "I meant FAIL.", "PASS \u2192 FAIL",
    "PASS was wrong.", "No longer PASS.", "Only partly.", "If the title is changed.", "Except the title.", "Or is it?",
    "Conditional.", "Placeholder.", "Template.", "This was an example.", "TODO", "Subject to change.", "~~Result~~",
    "Bottom line: FAIL", "Severity: FAIL", "TL;DR: FAIL", "## Result:",
)  # fmt: skip


class TestTheLastLines:
    @pytest.mark.parametrize("closing", CLOSINGS)
    @pytest.mark.parametrize(
        "shape",
        [
            f"PASS\n\n{READ}\n\n{{}}",
            f"**Pass.** {READ}\n\n{FILLER}\n\n{{}}",
            f"Verdict: PASS\n\n{READ}\n\n{{}}",
            "## Result: PASS\n\n{}",
            f"{REVIEW}## Result: PASS\n\n{{}}",
            f"{REVIEW}**Verdict: PASS**\n{{}}",
        ],
    )
    def test_take_a_pass_above_them_back(self, shape, closing):
        assert read_decision(shape.format(closing)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "closing", ["Signed: a reader", "Thank you.", "End of review.", "None."]
    )
    def test_a_harmless_closing_leaves_the_result(self, closing):
        assert read_decision(f"{REVIEW}## Result: PASS\n\n{closing}").decision is Decision.PASS

    def test_any_other_line_below_the_result_is_doubt(self):
        parsed = read_decision(f"{FILLER}\n\n## Result: PASS\n\nThe title is long.")

        assert parsed.problem == "line 13 follows the PASS of line 11, and may take it back"

    @pytest.mark.parametrize(
        "text",
        [
            "PASS\n\nThe note does not contradict itself.",
            "PASS\n\nNo contradictions.",
            "PASS\n\nNo instances of the failure mode were found.",
            "PASS\n\nIt names its terms.\n\nNo undefined terms, no broken links.",
            "Pass.\n\nI looked for undefined terms and broken links.\n\nNone are present.",
            "**Verdict: PASS (2 INFO)**\n\n- INFO: a late definition\n- INFO: a long sentence",
            "PASS\n\nIt names them.\n\nSuggested revision: none.",
        ],
    )
    def test_what_denies_a_fault_takes_nothing_back(self, text):
        assert read_decision(text).decision is Decision.PASS


ABOVE = (
    "One FAIL.", "FAILs: 1.", "1 FAIL, 0 WARN.", "A FAIL: the title.", "The note fails the gate.", "It must be rewritten.",
    "I could not read the note.", "The note text was missing from the prompt.", "| FAIL | title |", "**FAIL** The title is wrong.",
    "FAIL: The title is wrong.", "#### FAIL: title", "The title contradicts the body.", "The note is empty.",
    "The note was not read.", "I skipped the second half.", "There was no note.", "I have no access to the note.", "The title lies.",
    "Two terms have no definition.", "I stopped halfway.", "Verdict: SCOPE DRIFT", "CLAIM DRIFT", "- Severity: fail", "- Title: FAIL",
    "1. The title is wrong.", "Three undefined terms remain.", "This breaks the note.", "Everything here is a failure.",
    "Two errors were found.", "I refuse to judge.", "I guess it is fine.", "The prompt was cut off.", "Critical: the title.",
    "Title \u2192 FAIL", "\uff26\uff21\uff29\uff2c", "F\u0410IL",
)  # fmt: skip


class TestAClosingLineWithoutWarn:
    @pytest.mark.parametrize("above", ABOVE)
    @pytest.mark.parametrize(
        "shape",
        [
            "{}\n\nNo WARNs found.",
            READ + "\n\n{}\n\nNo WARN.",
            "### Summary\n{}\n### Findings\n\nNo warnings found.",
        ],
    )
    def test_declares_no_pass_where_anything_says_otherwise(self, shape, above):
        assert read_decision(shape.format(above)).decision is not Decision.PASS

    @pytest.mark.parametrize(
        "line",
        [
            "No WARNs. No PASS either.",
            "No WARN, no FAIL, no PASS.",
            "No WARN, INFO or PASS.",
            "No WARN found: the note is empty.",
            "No WARNs, because nothing was checked.",
            "No WARNs yet.",
            "No WARNs found (half read).",
            "No WARNs found \u2014 worse.",
            "No WARNs found. FAIL.",
            "No WARN. One INFO: I could not read the note.",
            "No WARN, ERROR.",
            "No warnings. Rejected.",
        ],
    )
    @pytest.mark.parametrize("above", ["", READ + "\n\n", "### Findings\n- INFO: late\n\n"])
    def test_declares_nothing_if_it_says_more(self, above, line):
        assert read_decision(above + line).decision is Decision.UNKNOWN


VERDICTS = (
    "Severity: FAIL", "**Severity:** FAIL", "Bottom line: FAIL", "Answer: FAIL", "Summary: FAIL", "TL;DR: fail.", "Verdict is FAIL",
    "Verdict \u2192 FAIL", "Verdict\tFAIL", "Gate: failed", "Status: rejected", "verdict=fail", '{"verdict": "fail"}',
    '{"decision":"WARN","findings":[]}', "{'verdict': 'fail'}", "<verdict>FAIL</verdict>", "\\boxed{FAIL}",
    "| title | FAIL |", "| Check | Result |\n|---|---|\n| title | PASS |\n| body | FAIL |", "title | FAIL", "The result is FAIL.",
    "My verdict is FAIL.", "The right verdict would be FAIL.", "I judge this a FAIL.", "I rate this note as FAIL.", "This is a FAIL.",
    "This note gets a FAIL from me.", "This note fails the gate.", "The note fails: its title lies.", "Gate failed.", "Hence WARN.",
    "We conclude FAIL.", "- [ ] PASS\n- [x] FAIL", "\u274c FAIL", "FAILED", "REJECTED", "F A I L", "F.A.I.L.", "F\u0410IL",
    "\uff26\uff21\uff29\uff2c", "FA\u200bIL", "\U0001d405\U0001d400\U0001d408\U0001d40b", "\ua730\u1d00\u026a\u029f", "f\u0430il",
    "R\u0435sult: FAIL", "V\u0435rdict: FAIL", "## FAIL\n\nThe title lies.",
)  # fmt: skip


class TestAVerdictInOtherWords:
    @pytest.mark.parametrize("verdict", VERDICTS)
    @pytest.mark.parametrize(
        "shape",
        [
            "{}\n\n## Result: PASS",
            f"{FILLER}\n\n{{}}\n\n{FILLER}\n\n## Result: PASS",
            "{}\n\n" + READ + "\n\nPASS",
            "PASS\n\n{}\n\n" + FILLER,
        ],
    )
    def test_contradicts_a_pass(self, shape, verdict):
        assert read_decision(shape.format(verdict)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "text",
        [
            "INFO\n\n- WARN: bad",
            "OK\n\n- FAIL: bad",
            "Verdict: OK\n\n- FAIL: bad",
            "INFO\n\nThe title breaks the note.",
            "One WARN.\n\nPASS",
            "---\nverdict: pass\n---\n\nThe note fails: its title lies.",
            "---\nverdict: pass\nstatus: rejected\n---\n\n" + READ,
            "---\nwarnings: 2\n---\n\nPASS",
            "### Term: API\n\nPASS",
            f"Pass. {READ} Two terms are undefined.\n\nFAIL",
            "Pass. Two terms are undefined, which is the failure mode.",
            "PASS. The failure mode is present.",
            "PASS. Just kidding.",
            "PASS. Nope.",
            "Pass. I cannot judge this.",
            "\u16b4\u15e9I\u14aa\n\nPASS",
        ],
    )
    def test_contradicts_other_shapes_of_a_pass(self, text):
        assert read_decision(text).decision is Decision.UNKNOWN

    @pytest.mark.parametrize(
        "summary",
        [
            "The note explains how the parser fails when a fence is open.",
            "It says that the build fails if a test fails.",
            "The gate asks for PASS, WARN or FAIL; nothing calls for a WARN.",
            "I looked for warnings and failures and found none.",
            "The note describes error handling: an error is retried, a warning is logged.",
            "I considered a WARN for the second paragraph; the link resolves it.",
            "The failure mode (undefined terms) is not present here.",
            "The example `Result: FAIL` is quoted from the log.",
            "The note fails to mention nothing.",
            "It is about rejected proposals. All are cited.",
            "This would be a FAIL if the link were missing, but it is there.",
            "Warnings: none",
            "Errors \u2014 none found",
            "| PASS | WARN | FAIL |\n| --- | --- | --- |\n| 3 | 0 | 0 |",
            "| FAIL | 0 |",
        ],
    )
    def test_words_of_prose_contradict_no_result_line(self, summary):
        text = (
            f"### Summary\n{summary}\n\n### Findings\n- WARN: bad\n- FAIL: worse\n\n## Result: PASS"
        )

        assert read_decision(text).decision is Decision.PASS

    def test_names_the_line_and_the_words(self):
        parsed = read_decision("Severity: FAIL\n\n## Result: PASS")

        assert parsed.problem == "line 1 speaks against a PASS: \u201cseverity: fail\u201d"

    def test_counts_outweigh_a_result_line_only_where_no_finding_shows_them(self):
        counted = "### Summary\nOne WARN.\n### Findings\n{}\n\n## Result: PASS"

        assert read_decision(counted.format("")).decision is Decision.UNKNOWN
        assert read_decision(counted.format("- WARN: late")).decision is Decision.PASS


class TestARetractionInTheMiddle:
    @pytest.mark.parametrize(
        "line",
        [
            "On reflection I retract this.",
            "I withdraw the PASS.",
            "The PASS above is wrong.",
            "Strike that PASS.",
            "Disregard my first line.",
            "I changed my mind.",
            "This review is a draft.",
            "Not a real review.",
        ],
    )
    def test_is_found_wherever_it_stands(self, line):
        text = f"PASS\n\n{READ}\n\n{line}\n\n{FILLER}"

        assert read_decision(text).decision is Decision.UNKNOWN


class TestAResultLineInBold:
    @pytest.mark.parametrize("word", ["PASS", "WARN", "FAIL", "ERROR"])
    def test_is_read(self, word):
        assert read_decision(f"{REVIEW}**## Result: {word}**").decision == word.lower()


class TestLongLines:
    """Any of these would take hours if the time grew with the square of the length."""

    @pytest.mark.parametrize(
        "text",
        [
            "1" * 500_000,
            "it is " * 80_000,
            "change a b c d " * 30_000,
            "no undefined terms or " * 20_000,
            "not a " * 80_000,
            "| " * 200_000,
            '"a' * 200_000,
            "`a" * 200_000,
            '"x":' * 100_000,
            "look for " * 50_000,
            "so it is therefore " * 20_000 + ":",
            "neither x " * 50_000,
            "fail" * 100_000,
            "the note " * 50_000 + "fail",
            "- " * 200_000 + "pass",
            "pass " * 80_000,
        ],
        ids=lambda text: text[:12],
    )
    def test_are_read_in_linear_time(self, text):
        assert read_decision(f"{text}\n\n## Result: PASS").decision in Decision
        assert read_decision(f"PASS\n\n{text}").decision in Decision
