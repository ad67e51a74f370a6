"""Inline markup of a block, and the text that is left of it for the rules on prose."""

from __future__ import annotations

import pytest
from hypothesis import given

from review.runners.rules.inline import OPAQUE, LinkKind, read_inline
from tests.unit.rules.test_judging import NOTES


def links_of(text: str) -> list[tuple[LinkKind, str, str]]:
    return [(link.kind, link.text, link.target) for link in read_inline(text).links]


class TestReadInline:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[a](b.md)", (LinkKind.INLINE, "a", "b.md")),
            ('[a](b.md "Title (x)")', (LinkKind.INLINE, "a", "b.md")),
            ("[a](<b c.md>)", (LinkKind.INLINE, "a", "b c.md")),
            ("[a](b_(c).md)", (LinkKind.INLINE, "a", "b_(c).md")),
            ("[a][b]", (LinkKind.REFERENCE, "a", "b")),
            ("[a][]", (LinkKind.REFERENCE, "a", "a")),
            ("[[b#c|a]]", (LinkKind.WIKILINK, "a", "b#c")),
            ("![[b.png]]", (LinkKind.EMBED, "b.png", "b.png")),
            ("![a](b.png)", (LinkKind.IMAGE, "a", "b.png")),
            ("x[^1]", (LinkKind.FOOTNOTE, "1", "1")),
        ],
    )
    def test_reads_each_kind_of_link(self, text, expected):
        assert links_of(text) == [expected]

    def test_reads_an_image_inside_a_link(self):
        assert [kind for kind, _, _ in links_of("[![a](b.png)](c.md)")] == [
            LinkKind.INLINE,
            LinkKind.IMAGE,
        ]

    @pytest.mark.parametrize(
        "text", ["`[a](b)`", "``[a](`b``", "\\[a](b)", "[a] (b)", "<!-- [a](b) -->", "$[a](b)$"]
    )
    def test_reads_none_where_there_is_none(self, text):
        assert links_of(text) == []

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("see `code` now", f"see {OPAQUE * 6} now"),
            ("see [words](b.md) now", "see  words        now"),
            ("see [[b|words]] now", "see     words   now"),
            ("<b>bold</b> now", "   bold     now"),
            ("$5 and $6", "$5 and $6"),
            ("an open ` stays", "an open ` stays"),
        ],
    )
    def test_leaves_the_words_in_their_places(self, text, left):
        assert read_inline(text).masked == left

    @given(text=NOTES)
    def test_keeps_length_and_lines_of_any_text(self, text):
        masked = read_inline(text).masked

        assert len(masked) == len(text)
        assert [at for at, char in enumerate(masked) if char == "\n"] == [
            at for at, char in enumerate(text) if char == "\n"
        ]
