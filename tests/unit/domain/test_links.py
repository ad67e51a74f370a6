"""Links as notes write them, and the files they mean."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.markdown.flavours import FLAVOURS
from review.domain.markdown.links import (
    Link,
    LinkBase,
    LinkKind,
    extract_links,
    resolve_link,
)

MARKS = st.text(alphabet="[]()<>!`\\|#:\"' \t\r\n-~ab@.\ud800", max_size=150)
NOTE = "kb/notes/a.md"
KNOWN = frozenset(
    {
        NOTE,
        "kb/notes/t.md",
        "kb/notes/My Note.md",
        "kb/notes/a b.md",
        "kb/notes/C# in short.md",
        "kb/notes/Claims: a note.md",
        "kb/notes/\u00dcber.md",
        "kb/notes/50%20.md",
        "kb/notes/sub/dup.md",
        "kb/reference/x/dup.md",
        "kb/reference/Term.md",
        "kb/notes/assets/img.png",
    }
)


def targets(text: str) -> list[str]:
    return [link.target for link in extract_links(text)]


def resolved(target: str, kind: LinkKind | None = None, **flavour):
    base = LinkBase(KNOWN, **flavour)
    return resolve_link(target, note_path=NOTE, base=base, kind=kind)


class TestExtractLinks:
    @pytest.mark.parametrize(
        ("text", "target", "kind"),
        [
            pytest.param("[a](t.md)", "t.md", LinkKind.INLINE, id="inline"),
            pytest.param("[a](<a b.md>)", "a b.md", LinkKind.INLINE, id="angle-brackets"),
            pytest.param("[a](My%20Note.md)", "My%20Note.md", LinkKind.INLINE, id="percent"),
            pytest.param('[a](t.md#sec "T")', "t.md#sec", LinkKind.INLINE, id="anchor-and-title"),
            pytest.param(
                "[a]( t.md 'T (1)' )", "t.md", LinkKind.INLINE, id="blanks-and-single-quotes"
            ),
            pytest.param("[a](t_(1).md)", "t_(1).md", LinkKind.INLINE, id="parentheses"),
            pytest.param("[a](a\\)b.md)", "a)b.md", LinkKind.INLINE, id="escaped-parenthesis"),
            pytest.param("[a](a&amp;b.md)", "a&b.md", LinkKind.INLINE, id="entity"),
            pytest.param("[a [b] c](t.md)", "t.md", LinkKind.INLINE, id="brackets-in-the-text"),
            pytest.param(
                "[[1]](t.md)", "t.md", LinkKind.INLINE, id="double-brackets-before-an-address"
            ),
            pytest.param("[long\ntext](t.md)", "t.md", LinkKind.INLINE, id="text-over-two-lines"),
            pytest.param("[a]: t.md\n\n[text][A]", "t.md", LinkKind.REFERENCE, id="reference"),
            pytest.param(
                "[a][]\n\n[a]: <t u.md> 'T'", "t u.md", LinkKind.REFERENCE, id="collapsed-reference"
            ),
            pytest.param(
                "See [a b].\n\n[A  b]:\n  t.md", "t.md", LinkKind.REFERENCE, id="shortcut-reference"
            ),
            pytest.param(
                "> [a]\n>\n> [a]: t.md", "t.md", LinkKind.REFERENCE, id="definition-in-a-quotation"
            ),
            pytest.param("[[My Note]]", "My Note", LinkKind.WIKILINK, id="wikilink"),
            pytest.param("[[t#sec|words]]", "t#sec", LinkKind.WIKILINK, id="wikilink-with-alias"),
            pytest.param("| [[t\\|words]] |", "t", LinkKind.WIKILINK, id="wikilink-in-a-table"),
            pytest.param(
                "[[t]](see below)", "t", LinkKind.WIKILINK, id="wikilink-before-a-parenthesis"
            ),
            pytest.param("![[img.png]]", "img.png", LinkKind.EMBED, id="embed"),
            pytest.param("![alt](img.png)", "img.png", LinkKind.EMBED, id="image"),
            pytest.param(
                "<https://e.example/a?b#c>",
                "https://e.example/a?b#c",
                LinkKind.AUTOLINK,
                id="autolink",
            ),
            pytest.param("<me@e.example>", "mailto:me@e.example", LinkKind.AUTOLINK, id="mail"),
            pytest.param("\ufeff[a](t.md)", "t.md", LinkKind.INLINE, id="bom"),
        ],
    )
    def test_reads_every_way_to_write_one(self, text, target, kind):
        (link,) = extract_links(text)

        assert (link.target, link.kind) == (target, kind)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("```\n[a](t.md)\n```", id="fence"),
            pytest.param("~~~\n[[t]]", id="unclosed-fence"),
            pytest.param("`[a](t.md)`", id="code-span"),
            pytest.param("``[a](t.md) ` [[t]]``", id="code-span-with-a-backtick"),
            pytest.param("`[a]\n(t.md)`", id="code-span-over-two-lines"),
            pytest.param("\\[a](t.md)", id="escaped"),
            pytest.param("<!-- [a](t.md) -->", id="comment"),
            pytest.param("[a] (t.md)", id="blank-before-the-address"),
            pytest.param("[a](t u.md)", id="blank-in-the-address"),
            pytest.param("[a]()", id="no-address"),
            pytest.param("[[]]", id="empty-wikilink"),
            pytest.param("[ ] task\n[x] task\n[a][b]", id="nothing-defined"),
            pytest.param("[a]: t.md", id="definition-alone"),
            pytest.param("[^1]\n\n[^1]: t.md", id="footnote"),
            pytest.param("Seen [L].\n\n[L]: still works there.", id="label-before-prose"),
            pytest.param("Seen [L].\n\nEvidence: [L]: t.md", id="label-inside-a-line"),
            pytest.param("[a\n\nb](t.md)", id="text-over-two-paragraphs"),
            pytest.param("- [a\n- b](t.md)", id="text-over-two-items"),
            pytest.param("<b> a < b > c", id="tags-and-signs"),
        ],
    )
    def test_finds_none_where_there_is_none(self, text):
        assert targets(text) == []

    def test_a_backtick_without_a_partner_hides_nothing(self):
        assert targets("a ` b [a](t.md)\n\n`` [b](u.md) `") == ["t.md", "u.md"]

    def test_a_linked_image_is_both(self):
        assert targets("[![alt](i.png)](t.md)") == ["t.md", "i.png"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_gives_the_line_where_the_link_starts(self, end):
        text = end.join(
            ["# [h](1.md)", "", "Words [long", "text](3.md) [b](4.md)", "", "- x", "- [[7]]"]
        )

        assert [(link.target, link.line) for link in extract_links(text)] == [
            ("1.md", 1),
            ("3.md", 3),
            ("4.md", 4),
            ("7", 7),
        ]

    @settings(deadline=None, max_examples=400)
    @given(MARKS)
    def test_any_text_gives_links_in_order(self, text):
        links = extract_links(text)

        assert all(isinstance(link, Link) and link.target for link in links)
        assert [link.line for link in links] == sorted(link.line for link in links)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("[" * 300_000, id="open-brackets"),
            pytest.param("[a]: x\n\n" + "[" * 100_000 + "]" * 100_000, id="nested-brackets"),
            pytest.param("![[" * 150_000, id="open-embeds"),
            pytest.param("[](" * 150_000, id="open-addresses"),
            pytest.param('[a](b "' * 80_000, id="open-titles"),
            pytest.param("[a](" + "(" * 200_000 + ")" * 200_000, id="parentheses"),
            pytest.param(
                " ".join("`" * (n % 400 + 1) for n in range(4_000)), id="backticks-of-all-lengths"
            ),
            pytest.param("<!--" * 150_000, id="open-comments"),
            pytest.param("<a" * 300_000, id="open-tags"),
            pytest.param("[a]: x\n" * 60_000, id="definitions"),
        ],
    )
    def test_is_linear(self, text):
        started = time.process_time()

        extract_links(text)

        assert time.process_time() - started < 5


class TestResolveLink:
    @pytest.mark.parametrize(
        ("target", "path", "anchor"),
        [
            pytest.param("t.md", "kb/notes/t.md", "", id="beside-the-note"),
            pytest.param("./t.md", "kb/notes/t.md", "", id="dot"),
            pytest.param("/kb/notes/t.md", "kb/notes/t.md", "", id="from-the-root-with-a-slash"),
            pytest.param("kb/notes/t.md", "kb/notes/t.md", "", id="from-the-root"),
            pytest.param("../reference/Term.md", "kb/reference/Term.md", "", id="parent-folder"),
            pytest.param("My%20Note.md", "kb/notes/My Note.md", "", id="percent"),
            pytest.param("a b.md", "kb/notes/a b.md", "", id="blank"),
            pytest.param("t.md#sec%20one", "kb/notes/t.md", "sec one", id="anchor"),
            pytest.param("#sec", NOTE, "sec", id="anchor-alone"),
            pytest.param("t", "kb/notes/t.md", "", id="without-ending"),
            pytest.param("../t/#sec", "kb/notes/t.md", "sec", id="from-the-address-of-the-page"),
            pytest.param("C%23%20in%20short.md", "kb/notes/C# in short.md", "", id="encoded-hash"),
            pytest.param("C# in short", "kb/notes/C# in short.md", "", id="hash-in-the-name"),
            pytest.param(
                "Claims: a note", "kb/notes/Claims: a note.md", "", id="colon-in-the-name"
            ),
            pytest.param("U\u0308ber.md", "kb/notes/\u00dcber.md", "", id="decomposed"),
            pytest.param("50%20.md", "kb/notes/50%20.md", "", id="percent-in-the-name"),
        ],
    )
    def test_finds_the_file(self, target, path, anchor):
        found = resolved(target)

        assert (found.path, found.anchor, found.external) == (path, anchor, False)

    @pytest.mark.parametrize(
        ("target", "path"),
        [
            pytest.param("Term", "kb/reference/Term.md", id="name"),
            pytest.param("term", "kb/reference/Term.md", id="case"),
            pytest.param("Term#part", "kb/reference/Term.md", id="name-with-anchor"),
            pytest.param("dup", "kb/notes/sub/dup.md", id="the-nearest"),
            pytest.param("x/dup", "kb/reference/x/dup.md", id="with-its-folder"),
            pytest.param("img.png", "kb/notes/assets/img.png", id="file-of-another-kind"),
            pytest.param("no such note", None, id="none"),
        ],
    )
    def test_finds_a_wikilink_by_its_name(self, target, path):
        assert resolved(target, LinkKind.WIKILINK).path == path

    @pytest.mark.parametrize("target", ["faq", "faq.md"])
    def test_finds_the_note_in_the_language_that_the_note_is_in(self, target):
        base = LinkBase({"faq.md", "faq.en-US.md", "faq.fr.md"})
        found = [
            resolve_link(target, note_path=path, base=base).path
            for path in ("a.en-US.md", "a.de.md", "a.md")
        ]

        assert found == ["faq.en-US.md", "faq.md", "faq.md"]

    def test_does_not_find_an_ordinary_link_by_its_name(self):
        assert resolved("Term.md").path is None
        assert resolved("Term", LinkKind.INLINE).path is None

    @pytest.mark.parametrize(
        "target",
        [
            "https://e.example/t.md",
            "HTTP://e.example",
            "mailto:a@b.example",
            "//e.example/x",
            "javascript:alert(1)",
        ],
    )
    def test_knows_an_outside_address(self, target):
        found = resolved(target)

        assert (found.path, found.external) == (None, True)

    @pytest.mark.parametrize(
        "target",
        [
            "../../../etc/passwd",
            "%2e%2e/%2e%2e/%2e%2e/x",
            "..",
            "",
            ".",
            "missing.md",
            "%00",
        ],
    )
    def test_means_nothing_outside_the_root_or_missing(self, target):
        found = resolved(target)

        assert (found.path, found.external) == (None, False)

    @settings(deadline=None)
    @given(MARKS | st.sampled_from(sorted(KNOWN)), st.none() | st.sampled_from(LinkKind))
    def test_gives_a_known_path_or_none_for_any_target(self, target, kind):
        assert resolved(target, kind).path in KNOWN | {None}


class TestAddresses:
    @pytest.mark.parametrize("target", ["../guide/", "../guide#part", "/docs/guide", "./part/"])
    def test_are_followed_from_the_one_that_the_note_gives_itself(self, target):
        addresses = {
            "docs/start": NOTE,
            "docs/guide": "kb/notes/t.md",
            "docs/part": "kb/notes/t.md",
        }
        base = LinkBase(KNOWN, FLAVOURS["hugo"], lambda: addresses)

        assert resolve_link(target, note_path=NOTE, base=base).path == "kb/notes/t.md"

    @pytest.mark.parametrize(
        ("target", "is_of_a_site"), [("/gone/page", True), ("/page", True), ("/gone.md", False)]
    )
    def test_of_no_folder_of_the_repository_are_a_sites_in_github(self, target, is_of_a_site):
        base = LinkBase(KNOWN, FLAVOURS["github"])

        assert resolve_link(target, note_path=NOTE, base=base).external is is_of_a_site
