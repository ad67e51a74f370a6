"""The registry of rules, and what holds for each of them on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.domain.markdown.links import RuleInput, RuleLink
from review.knowledge_base.gate_definition import RULE_NAMES
from review.runners.rules.judge import RULES, judge
from review.runners.rules.page import MOST_FINDINGS
from review.runners.rules.words import LONGEST_QUOTE
from review.vocabulary import Decision, Severity
from tests.unit.runners.rules.judged import NOTE, review_of

PIECES = st.sampled_from(
    [
        *"\n \t\r#>-*+`~|[](){}!<>$^:.,=_\\\"'&%0aA漢é",
        "\n\n",
        "\r\n",
        "\n# ",
        "\n## ",
        "\n- ",
        "\n  ",
        "\n    ",
        "\n```",
        "\n~~~sh\n",
        "\n> ",
        "\n| a | b |\n| - | - |\n",
        "---\n",
        "title: x\n",
        "description: [\n",
        "](",
        "![",
        "[[",
        "]]",
        "[^1]",
        "[^1]: ",
        "[a][b]",
        "<!--",
        "-->",
        "<img ",
        "<div>\n",
        "$$",
        "https://e.net/",
        "TODO: ",
        "recently ",
        "see above ",
        "the the ",
        "QXR ",
        "Lorem ipsum dolor. ",
        "word ",
        "\u2028",
        "\x00",
        "\ufeff",
        "\u0301",
        "\ud800",
    ]
)
NOTES = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))
LINKS = st.lists(
    st.builds(
        RuleLink,
        st.text(max_size=8),
        st.integers(0, 9),
        st.none() | st.just("kb/b.md"),
        external=st.booleans(),
    ),
    max_size=3,
).map(tuple)
GRAVEST = {Severity.INFO: Decision.PASS, Severity.WARN: Decision.WARN, Severity.FAIL: Decision.FAIL}


class TestRegistry:
    def test_has_the_names_that_cost_nothing_to_ask_for(self):
        assert tuple(RULES) == RULE_NAMES

    def test_is_sorted_and_its_names_are_slugs(self):
        assert list(RULES) == sorted(RULES)
        assert all(name.replace("-", "").isalnum() and name.islower() for name in RULES)


class TestEveryRule:
    @given(text=NOTES, links=LINKS)
    def test_takes_any_text_and_gives_bounded_findings(self, text, links):
        for name in RULES:
            review = judge(name, RuleInput(NOTE, text, links))

            assert len(review.findings) <= MOST_FINDINGS
            for found in review.findings:
                assert found.quote in " ".join(text.split())
                assert len(found.quote) <= LONGEST_QUOTE
                assert len((found.quote + found.text).splitlines()) == 1
                assert 0 <= found.line <= text.count("\n") + text.count("\r") + 10

    @given(text=NOTES)
    def test_decides_as_its_gravest_finding_says(self, text):
        order = list(GRAVEST)
        for name in RULES:
            review = judge(name, RuleInput(NOTE, text))

            if review.decision is not Decision.ERROR:
                gravest = max(
                    (found.severity for found in review.findings), key=order.index, default=order[0]
                )
                assert review.decision is GRAVEST[gravest]

    @given(text=NOTES)
    def test_says_the_same_twice(self, text):
        for name in RULES:
            assert judge(name, RuleInput(NOTE, text)) == judge(name, RuleInput(NOTE, str(text)))

    @pytest.mark.parametrize("rule", RULES)
    def test_has_nothing_against_an_empty_note(self, rule):
        assert review_of(rule, "").decision is Decision.PASS

    @pytest.mark.parametrize("rule", RULES)
    def test_says_that_no_model_took_part(self, rule):
        assert f"by the rule `{rule}`, without a model" in review_of(rule, "# A note\n").summary


class TestManyFindings:
    def test_are_counted_and_the_gravest_listed(self):
        text = "It is told at https://spec.org/x too.\n\n" * 30 + "See [it] (https://spec.org/x).\n"

        review = review_of("bare-urls", text)

        assert review.decision is Decision.WARN
        assert len(review.findings) == MOST_FINDINGS
        assert review.findings[-1].line == 61
        assert review.summary.startswith("31 places")
