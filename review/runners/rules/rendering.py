"""Writes a rule's review as a reviewer's answer, in the form the ordinary parser reads."""

from __future__ import annotations

from review.runners.rules.checks import WHOLE_NOTE
from review.runners.rules.values import RuleFinding, RuleReview


def render_block(review: RuleReview) -> str:
    """Write the text between a pair's sentinels, without them; it ends in its result line."""
    listed = "\n".join(_bullet(found) for found in review.findings) or "None."
    return (
        f"### Summary\n\n{review.summary}\n\n"
        f"### Findings\n\n{listed}\n\n"
        f"### Suggested revision\n\n{review.suggestion}\n\n"
        f"## Result: {review.decision.value.upper()}\n"
    )


def finding_text(found: RuleFinding) -> str:
    """What a finding says, its line included: the text the parser reads back."""
    return found.text if found.line == WHOLE_NOTE else f"{found.text} (line {found.line})"


def _bullet(found: RuleFinding) -> str:
    bullet = f"- {found.severity.value.upper()}: {finding_text(found)}"
    return f"{bullet}\n  > {found.quote}" if found.quote else bullet
