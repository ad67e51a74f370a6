"""The names a gate may give as its `rule:`, apart from the rules so that asking is cheap."""

from __future__ import annotations

_NAMES = """
    bare-urls bold-as-heading broken-anchors broken-footnotes description-length
    description-repeats-title duplicate-headings empty-sections fences-without-language
    heading-level-skips images-without-alt-text long-paragraphs missing-description
    missing-paths missing-title multiple-h1 non-descriptive-title overlong-sentences
    placeholder-text positional-references readable-frontmatter relative-dates
    repeated-paragraphs repeated-words table-column-mismatch title-matches-h1 unclosed-fences
    undefined-acronyms undefined-references unresolved-links vague-link-text verbatim-quotes
    wall-of-links
"""
RULE_NAMES = tuple(_NAMES.split())
