"""Dialects of Markdown: what each takes for text, for a link and for an anchor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Flavour:
    """A dialect's additions to CommonMark, tables, footnotes and wikilinks.

    :param hides: the kinds of comments and slots it has beside HTML comments, by opening mark.
    :param target_last: whether a wikilink names its target on the right, `[[words|target]]`.
    :param anchors: how headings become anchors; empty where that is not known, and anchors are
        compared by their letters and digits.
    :param site_root: root-relative folder that `/x` and `@/x` are resolved from; None: not known.
    """

    name: str
    hides: frozenset[str] = frozenset()
    math: bool = False
    wikilinks: bool = True
    target_last: bool = False
    admonitions: bool = False
    definition_lists: bool = False
    ids_in_comments: bool = False
    anchors: str = ""
    site_root: str | None = None

    @property
    def makes_pages(self) -> bool:
        """True if a site is generated from the notes, so links can name addresses of its pages."""
        return self.name in _SITES or self.site_root is not None


_SITES = ("docusaurus", "hugo", "jekyll", "mkdocs", "zola")
COMMONMARK = Flavour("commonmark")
FLAVOURS: Mapping[str, Flavour] = MappingProxyType(
    {
        flavour.name: flavour
        for flavour in (
            COMMONMARK,
            Flavour("dendron", math=True, target_last=True, anchors="github"),
            Flavour("docusaurus", frozenset({"{/*", "{`", "import"}), math=True, wikilinks=False,
                    ids_in_comments=True, anchors="docusaurus"),
            Flavour("github", math=True, anchors="github"),
            Flavour("hugo", frozenset({"{{"}), wikilinks=False, definition_lists=True,
                    anchors="github"),
            Flavour("jekyll", frozenset({"{%"}), wikilinks=False, definition_lists=True),
            Flavour("logseq", frozenset({"{{"}), math=True),
            Flavour("mkdocs", frozenset({"{#"}), math=True, admonitions=True,
                    definition_lists=True, anchors="mkdocs"),
            Flavour("obsidian", frozenset({"%%", "<%"}), math=True, anchors="obsidian"),
            Flavour("pandoc", math=True, wikilinks=False, definition_lists=True, anchors="pandoc"),
            Flavour("zola", frozenset({"{#", "{{"}), wikilinks=False),
        )
    }
)  # fmt: skip


def flavour_of(name: str, *, anchors: str = "", site_root: str | None = None) -> Flavour:
    flavour = FLAVOURS[name]
    return replace(flavour, anchors=anchors or flavour.anchors, site_root=site_root)
