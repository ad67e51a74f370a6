"""Rules on links and on what they point to within the note."""

from __future__ import annotations

import pytest

from review.domain.markdown.link_forms import Share
from review.domain.markdown.links import LinkKind, RuleLink
from review.vocabulary import Decision, Severity
from tests.unit.runners.rules.judged import lines_of, quotes_of, review_of


class Repository(frozenset):
    def ignores(self, path):
        return path.endswith(".svg") or path.startswith("media/")


class TestUnresolvedLinks:
    def test_warns_of_one_that_leads_nowhere_and_quotes_it(self):
        links = (
            RuleLink("b.md", 3, None, external=False),
            RuleLink("c.md", 3, "kb/c.md", external=False),
        )

        review = review_of("unresolved-links", "# A\n\nSee [it](b.md).\n", links=links)

        assert [(found.line, found.quote) for found in review.findings] == [(3, "[it](b.md)")]

    @pytest.mark.parametrize(("target", "is_host"), [("focus.finops.org", True), ("org.md", False)])
    def test_names_the_scheme_that_a_host_lacks(self, target, is_host):
        links = (RuleLink(target, 3, None, external=False),)

        review = review_of("unresolved-links", f"# A\n\nSee [it]({target}).\n", links=links)

        assert ("`https://` is missing" in review.findings[0].text) is is_host

    @pytest.mark.parametrize("link", ["![](b.md)", "[[b.md|x]]", '[b](b.md "x")', "[it](<b.md>)"])
    def test_quotes_the_link_and_no_more(self, link):
        links = (RuleLink("b.md", 3, None, external=False),)

        assert quotes_of("unresolved-links", f"# A\n\nSee {link}. And on.\n", links=links) == [link]

    @pytest.mark.parametrize(
        "link",
        [
            pytest.param(RuleLink("https://e.org", 1, None, external=True), id="outside"),
            pytest.param(RuleLink("#part", 1, None, external=False), id="anchor"),
            pytest.param(RuleLink("obsidian://x", 1, None, external=False), id="scheme"),
            pytest.param(RuleLink("{{ page.url }}", 1, None, external=False), id="template"),
            pytest.param(RuleLink("%%SLOT%%/a", 1, None, external=False), id="slot"),
            pytest.param(RuleLink("%= url 'a.png' %", 1, None, external=False), id="erb"),
            pytest.param(RuleLink("../.ci/run", 1, None, external=False), id="hidden-file"),
            pytest.param(RuleLink("someURL", 1, None, external=False), id="made-up"),
            pytest.param(RuleLink("0005-example.md", 1, None, external=False), id="example"),
            pytest.param(RuleLink("Voorbeeld#Deel", 1, None, external=False), id="dutch-example"),
        ],
    )
    def test_leaves_out_what_is_no_file_of_the_base(self, link):
        assert lines_of("unresolved-links", "text\n", links=(link,)) == []

    def test_leaves_out_a_link_whose_source_is_shown_beside_it(self):
        link = RuleLink("Plan", 1, None, external=False)

        assert lines_of("unresolved-links", "`[[Plan]]` becomes [[Plan]]\n", links=(link,)) == []

    def test_quotes_a_wikilink_with_both_brackets(self):
        links = (RuleLink("Rate Limiter", 1, None, external=False),)

        assert quotes_of("unresolved-links", "- [[Rate Limiter]]\n", links=links) == [
            "[[Rate Limiter]]"
        ]

    @pytest.mark.parametrize(
        ("flavour", "text", "target", "kind"),
        [
            pytest.param("obsidian", "[[Book]]", "Book", LinkKind.WIKILINK, id="to-be-written"),
            pytest.param("obsidian", "CC[C@H](CO)O", "CO", LinkKind.INLINE, id="formula"),
            pytest.param(
                "github", "[b](../../../b.md)", "../../../b.md", LinkKind.INLINE, id="outside"
            ),
            pytest.param("logseq", "[b](((6f)))", "((6f))", LinkKind.INLINE, id="a-block"),
            pytest.param(
                "obsidian", "[[fold]](func)", "func", LinkKind.INLINE, id="brackets-behind"
            ),
            pytest.param("hugo", '[b]({{< ref "b.md" >}})', "b.md", LinkKind.INLINE, id="a-name"),
            pytest.param(
                "github", "[b](part)\n\n(part)=\n## B", "part", LinkKind.INLINE, id="myst"
            ),
            pytest.param("github", "@[youtube](XeN-Q)", "XeN-Q", LinkKind.INLINE, id="a-video"),
            pytest.param("github", "[b](b.zip)", "b.zip", LinkKind.INLINE, id="an-archive"),
        ],
    )
    def test_only_remarks_on_what_may_be_no_link(self, flavour, text, target, kind):
        links = (RuleLink(target, 1, None, external=False, kind=kind),)
        review = review_of("unresolved-links", f"See {text}.\n", links=links, flavour=flavour)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        ("target", "severity"),
        [
            ("native/camera.md", Severity.INFO),
            ("b/c.md#d", Severity.WARN),
            ("b/c.png", Severity.WARN),
            ("e.md", Severity.WARN),
        ],
    )
    def test_only_remarks_on_pages_of_a_folder_that_a_build_may_bring(self, target, severity):
        given = {"flavour": "docusaurus", "repository": Repository({"kb/notes", "kb/notes/b"})}
        links = (RuleLink(target, 1, None, external=False),)
        review = review_of("unresolved-links", "See it.\n", links=links, **given)

        assert [found.severity for found in review.findings] == [severity]

    @pytest.mark.parametrize(
        ("path", "severity"),
        [
            ("_posts/2026-01-02-a.md", Severity.WARN),
            ("docs/_index.md", Severity.WARN),
            ("docs/_part.md", Severity.INFO),
            ("docs/_snippets/a.md", Severity.INFO),
            ("src/SUMMARY.md", Severity.INFO),
            ("docs/adr/template.md", Severity.INFO),
        ],
    )
    def test_only_remarks_in_what_others_include(self, path, severity):
        links = (RuleLink("b.md", 1, None, external=False),)
        (found,) = review_of("unresolved-links", "See it.\n", links=links, path=path).findings

        assert found.severity is severity

    @pytest.mark.parametrize(
        ("target", "severity"),
        [
            pytest.param("../exec/README.md", Severity.INFO, id="up-to-no-folder"),
            pytest.param("../b/c.md", Severity.WARN, id="up-to-a-folder"),
            pytest.param("/kb/b.md", Severity.INFO, id="page-of-a-folder"),
            pytest.param("c.svg", Severity.INFO, id="left-out-by-git"),
            pytest.param("swagger/", Severity.INFO, id="folder-that-is-not-here"),
            pytest.param("media/c.png", Severity.INFO, id="left-out-of-the-root"),
        ],
    )
    def test_only_remarks_on_what_is_of_another_repository_or_not_in_git(self, target, severity):
        links = (RuleLink(target, 1, None, external=False),)
        given = {"links": links, "repository": Repository({"kb/notes", "kb/b"})}
        review = review_of("unresolved-links", "See it.\n", **given)

        assert [found.severity for found in review.findings] == [severity]

    @pytest.mark.parametrize(
        ("gone", "there", "severity"),
        [(3, 2, Severity.INFO), (3, 3, Severity.WARN), (2, 0, Severity.WARN)],
    )
    def test_only_remarks_where_most_links_of_the_note_lead_nowhere(self, gone, there, severity):
        links = [RuleLink(f"{n}.md", 1, None, external=False) for n in range(gone)]
        links += [RuleLink(f"t{n}.md", 1, f"kb/t{n}.md", external=False) for n in range(there)]
        review = review_of("unresolved-links", "See it.\n", links=tuple(links))

        assert {found.severity for found in review.findings} == {severity}

    @pytest.mark.parametrize(
        ("share", "severity"),
        [
            pytest.param(Share(resolved=20, dead=5), Severity.WARN, id="most-resolve"),
            pytest.param(Share(resolved=19, dead=5), Severity.INFO, id="a-convention"),
            pytest.param(Share(resolved=0, dead=4), Severity.WARN, id="too-few-to-tell"),
        ],
    )
    @pytest.mark.parametrize("rule", ["unresolved-links", "broken-anchors"])
    def test_only_remarks_where_many_links_of_the_form_are_dead(self, rule, share, severity):
        links = (RuleLink("b.md", 3, None, external=False),)
        review = review_of(rule, "# A\n\nSee [it](#gone).\n", links=links, share=share)

        assert [found.severity for found in review.findings] == [severity]

    def test_only_remarks_in_a_page_with_an_address_of_its_own(self):
        links = (RuleLink("b.html", 4, None, external=False),)
        text = "---\npermalink: /x/\n---\nSee [it](b.html).\n"
        review = review_of("unresolved-links", text, links=links, repository=Repository())

        assert [found.severity for found in review.findings] == [Severity.INFO]

    def test_only_remarks_on_a_file_beside_a_page_of_hugo(self):
        links = (RuleLink("a.png", 1, None, external=False),)
        found = [
            review_of(
                "unresolved-links",
                "![](a.png)",
                links=links,
                path=path,
                flavour="hugo",
                repository=Repository({"content/b"}),
            ).findings[0]
            for path in ("content/b/c.md", "content/b/index.md")
        ]

        assert [one.severity for one in found] == [Severity.INFO, Severity.WARN]

    def test_quotes_each_of_two_links_to_one_target(self):
        links = (RuleLink("b.md", 1, None, external=False),) * 2
        text = "[whole](b.md#all), [one](b.md) and [two](b.md)\n"

        assert quotes_of("unresolved-links", text, links=links) == ["[one](b.md)", "[two](b.md)"]

    def test_survives_a_line_that_is_not_there(self):
        link = RuleLink("b.md", 99, None, external=False)

        assert quotes_of("unresolved-links", "text\n", links=(link,)) == [""]


class TestBareUrls:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("See\nhttps://spec.org/a_(b), then on.", id="in-a-sentence"),
            pytest.param("One:\n- https://spec.org/a", id="in-a-list"),
            pytest.param("[2] (https://spec.org/a)", id="a-reference"),
        ],
    )
    def test_only_remarks(self, text):
        review = review_of("bare-urls", f"{text}\n")

        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text", ["Or\n[a title] (https://spec.org/a)", "See (a title)[https://spec.org/a]."]
    )
    def test_warns_of_a_link_that_is_none(self, text):
        review = review_of("bare-urls", f"{text}\n")

        assert [found.severity for found in review.findings] == [Severity.WARN]

    @pytest.mark.parametrize(
        "text",
        [
            "<https://spec.org>",
            "[spec](https://spec.org/a_(b))",
            "[https://spec.org](https://spec.org)",
            "`https://spec.org`",
            "[spec][s]\n\n[s]: https://spec.org",
            "A fact.[^1]\n\n[^1]: https://spec.org",
            "```\nhttps://spec.org\n```",
            '<a href="https://spec.org">spec</a>',
            "Open http://localhost:8000/ or https://example.org/x.",
            "Fetch https://spec.org/<version>/ or https://spec.org/${TAG}.",
            "| a |\n| - |\n| https://spec.org |",
            "![plot](https://spec.org/p.png)",
            "It is <code>https://spec.org/<b>8080</b>/x</code>.",
            "Clone https://spec.org/team/tool.git first.",
            "Readers of www.spec.org, and of www.gov.uk too.",
            "It is so [@https://spec.org/items/7].",
            "The link looks like https://spec.org/your-name.",
        ],
    )
    def test_passes(self, text):
        assert lines_of("bare-urls", f"{text}\n") == []


class TestWallOfLinks:
    def test_warns_of_eight_in_a_row(self):
        review = review_of("wall-of-links", "# A\n\n" + "".join(f"- [[n{i}]]\n" for i in range(8)))

        assert [found.line for found in review.findings] == [3]
        assert "8 links" in review.findings[0].text

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("- [a](a.md)\n" * 7, id="seven"),
            pytest.param("- [a](a.md) says why locks fail\n" * 20, id="with-reasons"),
            pytest.param("- [Limits](#limits)\n" * 20, id="table-of-contents"),
            pytest.param(("- [a](a.md)\n" * 5 + "\nOn locks:\n\n") * 3, id="in-groups"),
            pytest.param("# Index of calls\n\n" + "- [a](a.md)\n" * 20, id="index"),
            pytest.param("- **first**: [a](a.md)\n" * 20, id="a-word-of-their-own"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("wall-of-links", text) == []


class TestVagueLinkText:
    @pytest.mark.parametrize("words", ["here", "Click here!", "**this**", "read more", "hier"])
    def test_warns(self, words):
        assert lines_of("vague-link-text", f"See [{words}](a.md).\n") == [1]

    @pytest.mark.parametrize(
        "text",
        [
            "[Here be dragons](a.md)",
            "[[here]]",
            "`[here](a.md)`",
            "![here](a.png)",
            "> [here](a.md)",
            "By [Click](https://click.site.dev/8/) and [link](#link) objects.",
        ],
    )
    def test_passes(self, text):
        assert lines_of("vague-link-text", f"{text}\n") == []


class TestBrokenFootnotes:
    def test_warns_of_a_mark_without_a_text(self):
        assert lines_of("broken-footnotes", "A.[^1]\nB.[^2]\n\n[^2]: Two.\n") == [1]

    def test_only_remarks_on_a_text_without_a_mark(self):
        review = review_of("broken-footnotes", "A.\n\n[^1]: One.\n")

        assert review.decision is Decision.PASS
        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("A.[^1] and [^note]\n\n[^1]: One.\n[^note]: Two.", id="defined"),
            pytest.param("The class [^a-z]+ or [^x] matches.", id="regular-expression"),
            pytest.param("`[^1]`", id="code"),
            pytest.param("An inline one.^[Like this.]", id="inline-footnote"),
            pytest.param("A.[^1]\n\n[^1]: One, see[^2].\n[^2]: Two.", id="from-a-footnote"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("broken-footnotes", f"{text}\n") == []


class TestUndefinedReferences:
    def test_warns(self):
        assert lines_of("undefined-references", "# A\n\nSee [how it splits][splitting].\n") == [3]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("See [how][Splitting  Up].\n\n[splitting up]: a.md", id="defined"),
            pytest.param("See [splitting][].\n\n[splitting]: a.md", id="collapsed"),
            pytest.param("matrix[row][column] and x[i][j]", id="indices"),
            pytest.param("[OK][WARN] and [1][2]", id="tags-and-citations"),
            pytest.param("`[a b][c]`", id="code"),
            pytest.param("[x] [y] and [ ][ ]", id="no-link"),
            pytest.param("See [it](a.md)[^1].\n\n[^1]: One.", id="footnote-behind-a-link"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("undefined-references", f"{text}\n") == []


class TestFlavours:
    @pytest.mark.parametrize(
        ("flavour", "text"),
        [
            ("hugo", '[x](https://spec.org/{{< param "v" >}}/a) [a][]\n\n[a]: {{< ref "b" >}}\n'),
            ("jekyll", "[a][] [b][]\n\n[a]: {{ site.url }}/x/\n[b]: https://spec.org\n"),
        ],
    )
    def test_addresses_that_a_site_fills_in_make_links(self, flavour, text):
        assert lines_of("bare-urls", text, flavour=flavour) == []
        assert lines_of("undefined-references", text, flavour=flavour) == []

    def test_of_mkdocs_may_define_any_label(self):
        assert lines_of("undefined-references", "See [PEP 517][].\n", flavour="mkdocs") == []

    def test_of_pandoc_define_a_label_by_a_heading(self):
        text = "See [the rule][A Heading] and [gone][No Heading].\n\n## A heading\n"

        assert lines_of("undefined-references", text, flavour="pandoc") == [1]
        assert lines_of("undefined-references", text) == [1, 1]
