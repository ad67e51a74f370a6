"""Reviews that are data from the start, and the one text that they are written as."""

from __future__ import annotations

from dataclasses import dataclass

from review.vocabulary import Decision, Severity

WHOLE_NOTE = 0


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """A point that a review makes; `line` of the note, from 1, if the reporter knows it.

    `quote` has the lines that are quoted, which may be of several places.
    """

    severity: Severity
    text: str
    quote: str
    line: int = WHOLE_NOTE


@dataclass(frozen=True, slots=True)
class TypedReview:
    decision: Decision
    findings: tuple[ReviewFinding, ...] = ()
    summary: str = ""
    suggestion: str = "None."


def render_typed_review(review: TypedReview) -> str:
    """Write a review as the template has it, without sentinels; it ends in its result line."""
    listed = "\n".join(_bullet(found) for found in review.findings) or "None."
    return (
        f"### Summary\n\n{review.summary}\n\n"
        f"### Findings\n\n{listed}\n\n"
        f"### Suggested revision\n\n{review.suggestion}\n\n"
        f"## Result: {review.decision.value.upper()}\n"
    )


def one_line(text: str) -> str:
    return " ".join(text.split())


def filled_lines(text: str) -> str:
    """Return the lines that are not blank, each without what surrounds its words."""
    return "\n".join(filter(None, map(one_line, text.split("\n"))))


def finding_text(found: ReviewFinding) -> str:
    """Return what a finding says, its line included: the text the parser reads back."""
    return found.text if found.line == WHOLE_NOTE else f"{found.text} (line {found.line})"


def _bullet(found: ReviewFinding) -> str:
    bullet = f"- {found.severity.value.upper()}: {finding_text(found)}"
    return "\n  > ".join((bullet, *found.quote.split("\n"))) if found.quote else bullet
