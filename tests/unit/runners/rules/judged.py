"""Short ways to judge a text by a rule."""

from __future__ import annotations

from collections.abc import Callable

from review.domain.markdown.flavours import FLAVOURS
from review.domain.markdown.link_forms import Share
from review.domain.markdown.links import RepositoryFacts, RuleInput, RuleLink
from review.protocol.typed_review import TypedReview
from review.runners.rules.judge import judge

NOTE = "kb/notes/a.md"


def review_of(
    rule: str,
    text: str,
    *,
    links: tuple[RuleLink, ...] = (),
    path: str = NOTE,
    repository: RepositoryFacts | None = None,
    text_of: Callable[[str], str | None] = lambda path: None,
    flavour: str = "commonmark",
    share: Share | None = None,
) -> TypedReview:
    facts = {"repository": repository, "text_of": text_of, "flavour": FLAVOURS[flavour]}
    return judge(
        rule, RuleInput(path, text, links, **facts, share_of=lambda form: share or Share())
    )


def lines_of(rule: str, text: str, **given) -> list[int]:
    return [found.line for found in review_of(rule, text, **given).findings]


def quotes_of(rule: str, text: str, **given) -> list[str]:
    return [found.quote for found in review_of(rule, text, **given).findings]
