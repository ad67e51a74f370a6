"""The rules by name, and judging a note by one of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from review.domain.paths import near_matches
from review.errors import InputRejected
from review.protocol.typed_review import TypedReview
from review.runners.rules import (
    accessibility,
    acronyms,
    anchors,
    frontmatter,
    links,
    prose,
    quotations,
    repository,
    sentence,
    structure,
)
from review.runners.rules.values import Rule, RuleInput

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        check.name: check.wired()
        for check in sorted(
            (
                *accessibility.CHECKS,
                *acronyms.CHECKS,
                *anchors.CHECKS,
                *frontmatter.CHECKS,
                *links.CHECKS,
                *prose.CHECKS,
                *quotations.CHECKS,
                *repository.CHECKS,
                *sentence.CHECKS,
                *structure.CHECKS,
            ),
            key=lambda check: check.name,
        )
    }
)


class UnknownRule(InputRejected):
    """A gate names a rule that there is not."""


def judge(rule_name: str, given: RuleInput) -> TypedReview:
    """Judge one note by one rule: total on any text, in time that grows with its length.

    :raises UnknownRule: when there is no rule of that name.
    """
    rule = RULES.get(rule_name)
    if rule is None:
        near = ", ".join(near_matches(rule_name, RULES))
        hint = f"did you mean {near}?" if near else f"the rules are {', '.join(RULES)}"
        raise UnknownRule(f"there is no rule {rule_name!r}", hint=hint)
    return rule.judge(given)
