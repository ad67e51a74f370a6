"""What a rule is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from review.vocabulary import Decision, Severity


@dataclass(frozen=True, slots=True)
class RuleLink:
    """A link of the note; `resolved` is the path it leads to, `line` counts from 1."""

    target: str
    line: int
    resolved: str | None
    external: bool


@dataclass(frozen=True, slots=True)
class RuleInput:
    """One note as it was snapshotted, and where its links lead."""

    note_path: str
    text: str
    links: tuple[RuleLink, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One place to look at.

    `quote` stands in one line of the note, runs of blanks made one, or is empty; `line` counts from 1 and is 0 where the
    note as a whole is meant.
    """

    severity: Severity
    text: str
    quote: str
    line: int


@dataclass(frozen=True, slots=True)
class RuleReview:
    """What a rule says of a note; the decision is that of its gravest finding."""

    decision: Decision
    summary: str
    findings: tuple[RuleFinding, ...]
    suggestion: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A deterministic check that a gate can name."""

    name: str
    title: str
    description: str
    judge: Callable[[RuleInput], RuleReview]
