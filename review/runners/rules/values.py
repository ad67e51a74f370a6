"""The input of a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from review.domain.markdown.anchors import Anchors
from review.domain.markdown.flavours import COMMONMARK, Flavour
from review.domain.markdown.links import LinkKind


@dataclass(frozen=True, slots=True)
class RuleLink:
    """A link of the note; `resolved` is the path it leads to, `line` counts from 1."""

    target: str
    line: int
    resolved: str | None
    external: bool
    anchor: str = ""
    kind: LinkKind | None = None


class RepositoryFacts(Protocol):
    """Facts about the repository that a rule can query."""

    def __contains__(self, path: object) -> bool: ...

    def is_gone(self, path: str, *, note_path: str) -> bool:
        """Return True if a named path surely does not exist, although its first folders do."""

    @property
    def make_targets(self) -> frozenset[str] | None:
        """The targets of the Makefile at the root; None if they are not known."""


@dataclass(frozen=True, slots=True)
class RuleInput:
    """One note as it was snapshotted, and where its links lead.

    :param repository: the facts of the repository around it.
    :param anchors_of: the anchors of a note by its path; None where they cannot be had.
    :param text_of: the text of a note by its path, in the same way.
    """

    note_path: str
    text: str
    links: tuple[RuleLink, ...] = ()
    flavour: Flavour = COMMONMARK
    anchors_of: Callable[[str], Anchors | None] | None = None
    repository: RepositoryFacts | None = None
    text_of: Callable[[str], str | None] | None = None
