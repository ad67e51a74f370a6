"""The line of a finding whose quote stands several times: the likeliest, or none."""

from __future__ import annotations

import pytest

from review.protocol.findings import ReviewFinding
from review.protocol.quote_location import follow_quote, locate_findings
from review.vocabulary import Severity

NOTE = """---
title: A plan
description: What the plan costs.
---
# A plan

What the plan costs. It opens here.

## Costs

TBD

## Open risks

TBD

## Owners

TBD, and the end.
"""
WARN, FAIL = Severity.WARN, Severity.FAIL


def lines(*findings: tuple[str, str], severity: Severity = WARN) -> list[int | None]:
    return locate_findings(
        NOTE,
        [
            ReviewFinding(severity, text, quote)
            for number, (quote, text) in enumerate(findings, start=1)
        ],
    )


class TestLocateFindings:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            pytest.param("nothing is said", None, id="nothing-named"),
            pytest.param("the placeholder on line 15", 15, id="line"),
            pytest.param("a placeholder (lines 9-12)", 11, id="lines"),
            pytest.param("the placeholder of lines 11 and line 15 again", 19, id="others-named"),
            pytest.param("a placeholder on line 300", None, id="line-beyond"),
            pytest.param("the open risks are empty", 15, id="heading-of-two-words"),
            pytest.param('"Costs" is a placeholder', 11, id="heading-in-marks"),
            pytest.param("the Owners section is empty", 19, id="heading-called-a-section"),
            pytest.param("the costs are a placeholder", None, id="a-word-that-is-a-heading-too"),
            pytest.param("Costs, owners and open risks", 15, id="one-named-for-certain"),
        ],
    )
    def test_the_place_that_the_text_names(self, text, line):
        assert lines(("TBD", text)) == [line]

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            pytest.param("says little", 7, id="body"),
            pytest.param("the description says little", 3, id="key"),
            pytest.param("in the front matter too", 3, id="frontmatter"),
        ],
    )
    def test_the_body_unless_the_text_speaks_of_the_frontmatter(self, text, line):
        assert lines(("What the plan costs.", text)) == [line]

    def test_as_many_findings_as_places_have_one_each(self):
        assert lines(*[("TBD", "a placeholder")] * 3) == [11, 15, 19]
        assert lines(*[("TBD", "a placeholder")] * 2) == [None, None]

    def test_things_of_one_sentence_do_not_share_out_its_places(self):
        found = lines(
            ("TBD, and the end.", "'TBD' is left"), ("TBD", "'a' is left"), ("TBD", "'b' is left")
        )

        assert found == [19, None, None]

    def test_the_place_between_the_findings_around_it(self):
        assert lines(("## Open risks", "a"), ("TBD", "b"), ("## Owners", "c"))[1] == 15
        assert lines(("## Owners", "a"), ("TBD", "b"), ("## Open risks", "c"))[1] is None

    def test_a_line_that_is_given_counts(self):
        given = [ReviewFinding(WARN, "a", "TBD", line=15), ReviewFinding(WARN, "a", "gone")]

        assert locate_findings(NOTE, given) == [15, None]


class TestFollowQuote:
    @pytest.mark.parametrize(
        ("now", "line"),
        [
            pytest.param(NOTE, 15, id="the-same-text"),
            pytest.param(NOTE.replace("## Costs", "New.\n\n## Costs"), 17, id="shifted"),
            pytest.param(NOTE.replace("## Costs\n\nTBD", "## Costs\n\nFive."), 15, id="other-gone"),
            pytest.param(NOTE.replace("risks\n\nTBD", "risks\n\nNone."), None, id="gone"),
            pytest.param(NOTE.replace("TBD", "None"), None, id="all-gone"),
            pytest.param(NOTE.replace("## Open risks", "## Dangers"), 15, id="heading-renamed"),
            pytest.param(
                NOTE.replace("## Open risks\n\nTBD\n\n", "") + "\n## Open risks\n\nTBD\n",
                19,
                id="section-moved",
            ),
        ],
    )
    def test_gives_the_line_where_the_same_passage_is(self, now, line):
        assert follow_quote(NOTE, now, quote="TBD", line=15) == line

    def test_does_not_guess_for_a_finding_without_a_line(self):
        assert follow_quote(NOTE, NOTE + "\nMore.\n", quote="TBD", line=None) is None
        assert follow_quote("TBD\n", "Words.\n\nTBD\n", quote="TBD", line=None) == 3
