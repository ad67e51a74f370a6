"""What a rule is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from review.domain.markdown.anchors import Anchors
from review.domain.markdown.flavours import COMMONMARK, Flavour
from review.domain.markdown.links import LinkKind
from review.protocol.typed_review import TypedReview


@dataclass(frozen=True, slots=True)
class RuleLink:
    """A link of the note; `resolved` is the path it leads to, `line` counts from 1."""

    target: str
    line: int
    resolved: str | None
    external: bool
    anchor: str = ""
    kind: LinkKind | None = None


@dataclass(frozen=True, slots=True)
class RuleInput:
    """One note as it was snapshotted, and where its links lead.

    :param anchors_of: the anchors of a note by its path; None where they cannot be had.
    """

    note_path: str
    text: str
    links: tuple[RuleLink, ...] = ()
    flavour: Flavour = COMMONMARK
    anchors_of: Callable[[str], Anchors | None] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A deterministic check that a gate can name."""

    name: str
    title: str
    description: str
    judge: Callable[[RuleInput], TypedReview]
