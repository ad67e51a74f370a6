"""A fence that never closes: what it holds may have been meant to stand outside, and is not passed over."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision


class TestOpenFence:
    @pytest.mark.parametrize(
        "inside",
        [
            "## Result: FAIL",
            "## Result: WARN (two)",
            "**Verdict: FAIL**",
            "Outcome: ERROR",
            "## FAIL",
            "text\n\n## Result: FAIL\n\nmore text",
        ],
    )
    @pytest.mark.parametrize("fence", ["```", "~~~~", "```markdown"])
    def test_that_holds_another_decision_leaves_none(self, inside, fence):
        parsed = read_decision(f"Fine.\n\n## Result: PASS\n{fence}\n\n{inside}")

        assert parsed.decision is Decision.UNKNOWN
        assert "never closes" in parsed.problem

    @pytest.mark.parametrize(
        "after",
        [
            pytest.param("```\ncode\nFAILED tests/x\nfail", id="code"),
            pytest.param("```\n## Result: PASS", id="the-same"),
            pytest.param("```\n## Result: FAIL\n```", id="closed"),
            pytest.param("```\n## Result: FAIL\n```\n```\nx", id="closed-before-the-open-one"),
        ],
    )
    def test_that_holds_none_changes_nothing(self, after):
        closed = f"Fine.\n\n{after}\n\n" if after.endswith("```") else ""
        text = f"{closed}## Result: PASS" if closed else f"Fine.\n\n## Result: PASS\n{after}"

        assert read_decision(text).decision is Decision.PASS

    def test_of_an_item_ends_with_it(self):
        text = "- item\n  ```\n  ## Result: FAIL\n\nText.\n\n## Result: PASS"

        assert read_decision(text).decision is Decision.PASS
