"""The rules by name, and judging a note by one of them."""

from __future__ import annotations

from review.domain.markdown.links import RuleInput
from review.protocol.typed_review import TypedReview
from review.runners.rules import (
    acronyms,
    frontmatter,
    links,
    prose,
    quotations,
    repository,
    structure,
)
from review.runners.rules.page import Rule
from review.vocabulary import Severity

_SUBJECTS = (acronyms, frontmatter, links, prose, quotations, repository, structure)
_DECLARED = (value for subject in _SUBJECTS for value in vars(subject).values())
RULES = dict(sorted((found.name, found) for found in _DECLARED if isinstance(found, Rule)))


def judge(rule_name: str, given: RuleInput, lowest: Severity | None = None) -> TypedReview:
    """Judge one note by one rule, on any text; raise findings below the `lowest` severity to it."""
    return RULES[rule_name].judge(given, lowest)
