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

_SUBJECTS = (acronyms, frontmatter, links, prose, quotations, repository, structure)
_DECLARED = (value for subject in _SUBJECTS for value in vars(subject).values())
RULES = dict(sorted((found.name, found) for found in _DECLARED if isinstance(found, Rule)))


def judge(rule_name: str, given: RuleInput) -> TypedReview:
    """Judge one note by one rule: total on any text, in time that grows with its length."""
    return RULES[rule_name].judge(given)
