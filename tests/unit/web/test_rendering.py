"""Texts that others wrote are shown as they are, and nothing in them acts, loads or hides."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.domain.markdown.flavours import flavour_of
from review.web.render.markdown import MAX_HTML, FindingMark, render_markdown, render_plain
from review.web.render.tokens import Look
from tests.hostile import HOSTILE, harmless

FIRST, SECOND = "0" * 16, "1" * 16


class Elements(HTMLParser):
    """Start tags with their attributes, and the text outside of them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of every element of this kind."""
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def ids(self) -> list[str]:
        """Every id, in order."""
        return [str(attributes["id"]) for _tag, attributes in self.found if "id" in attributes]


def to_notes(target, _kind):
    """Pages for `other` and nothing else."""
    return "/notes/kb/notes/other.md" if target.startswith("other") else None


class TestHostileText:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_is_inert_as_markdown(self, text):
        assert harmless(render_markdown(text))

    @pytest.mark.parametrize("text", HOSTILE)
    def test_is_inert_line_by_line(self, text):
        assert harmless(render_plain(text))

    @pytest.mark.parametrize("text", HOSTILE)
    def test_is_inert_in_frontmatter_and_in_a_finding(self, text):
        note = f"---\ntitle: {text}\n---\nx\n"
        mark = FindingMark(4, FIRST, "warn", text, "/findings/x/")

        assert harmless(render_markdown(note, quotes=[mark]))
        assert harmless(render_plain(note, quotes=[mark]))

    def test_stays_readable(self):
        shown = Elements(render_markdown("a <script>alert(1)</script> [x](javascript:alert(2)) b"))

        assert "a <script>alert(1)</script>" in shown.text
        assert "javascript:alert(2)" in shown.text
        assert not shown.of("a")

    def test_controls_that_reorder_text_are_shown(self):
        assert "⟦U+202E⟧" in render_markdown("user\u202etxt.exe")
        assert "⟦U+2066⟧" in render_plain("user\u2066x")

    def test_a_diagram_is_code(self):
        shown = Elements(render_markdown("```mermaid\ngraph TD; A[<script>]\n```\n"))

        assert shown.of("pre") == [{"tabindex": "0"}]
        assert "A[<script>]" in shown.text

    @given(st.text(max_size=300))
    def test_any_text_gives_an_inert_page(self, text):
        assert harmless(render_markdown(text, line_anchors=True, quotes=[FindingMark(1, FIRST)]))
        assert harmless(render_plain(text))


class TestLinks:
    def test_lead_to_our_pages_or_nowhere(self):
        shown = Elements(
            render_markdown("[[other|Other]] [o](other.md) [gone](gone.md)", look=Look(to_notes))
        )

        assert [link["href"] for link in shown.of("a")] == ["/notes/kb/notes/other.md"] * 2
        assert "gone.md" in str(shown.of("span")[0]["title"])
        assert "Other o gone" in shown.text

    def test_outside_addresses_carry_no_trust(self):
        link = Elements(render_markdown("https://example.org/x")).of("a")[0]

        assert link["href"] == "https://example.org/x"
        assert link["rel"] == "noopener noreferrer nofollow"

    def test_a_file_name_is_no_site(self):
        assert not Elements(render_markdown("see README.md and notes.sh")).of("a")

    def test_within_a_text_stay_within_it(self):
        shown = Elements(render_markdown("# A Head\n\n[x](#A-Head)\n", look=Look(prefix="note-")))

        assert shown.of("h2") == [{"id": "note-a-head"}]
        assert shown.of("a")[0]["href"] == "#note-a-head"

    def test_one_without_words_is_named_by_its_target(self):
        assert Elements(render_markdown("[](https://example.org)")).text.strip() == (
            "https://example.org"
        )

    def test_brackets_in_a_link_are_no_wikilink(self):
        shown = Elements(render_markdown("[[1]](other.md)", look=Look(to_notes)))

        assert shown.text.strip() == "[1]"

    @pytest.mark.parametrize(
        "text", ["![a chart](https://x.example/y.png)", "![a chart](y.png)", "![[chart.png]]"]
    )
    def test_images_are_told_and_never_loaded(self, text):
        shown = Elements(render_markdown(text))

        assert not shown.of("img")
        assert "chart" in shown.text

    def test_an_image_in_a_link_is_no_second_link(self):
        shown = Elements(render_markdown("[![alt](https://x.example/i.png)](https://y.example)"))

        assert [link["href"] for link in shown.of("a")] == ["https://y.example"]


class TestMarkdown:
    def test_headings_go_below_the_pages_own(self):
        shown = render_markdown("# One\n\n###### Six\n")

        assert '<h2 id="text-one">' in shown
        assert '<h6 id="text-six">' in shown

    def test_a_text_without_a_first_heading_skips_no_level(self):
        html = render_markdown("## Failure mode\n\n### More\n", look=Look(headings=(2, 3)))

        assert "<h3" in html
        assert "<h4" in html
        assert "<h5" not in html

    def test_headings_alike_have_ids_of_their_own(self):
        assert Elements(render_markdown("# A\n\n# A\n\n# A\n")).ids == [
            "text-a", "text-a-1", "text-a-2",
        ]  # fmt: skip

    def test_tasks_are_labelled(self):
        assert '<label><input checked="checked"' in render_markdown("- [x] done\n")

    def test_tables_and_code_are_reached_by_keyboard(self):
        shown = Elements(render_markdown("| a |\n|---|\n| b |\n\n    code\n"))

        assert shown.of("div")[0]["tabindex"] == "0"
        assert shown.of("pre")[0]["tabindex"] == "0"

    def test_footnotes_of_two_texts_do_not_meet(self):
        one = Elements(render_markdown("a[^1]\n\n[^1]: b\n", look=Look(prefix="note-")))
        two = Elements(render_markdown("a[^1]\n\n[^1]: b\n", look=Look(prefix="gate-")))

        assert one.ids
        assert not set(one.ids) & set(two.ids)

    def test_frontmatter_is_shown_as_written(self):
        shown = render_markdown("\ufeff---\non: yes\n---\n# T\n")

        assert '<pre class="frontmatter" tabindex="0">---\non: yes\n---</pre>' in shown
        assert '<h2 id="text-t">T</h2>' in shown

    @pytest.mark.parametrize(
        ("text", "formula"),
        [
            ("The area $x^2\\,dx$ of it.\n", "$x^2\\,dx$"),
            ("$$\nx^2\\,dx\n\n_y_\n$$\n", "$$\nx^2\\,dx\n\n_y_\n$$"),
            ("As \\(a_1 * b_1\\, * c\\) says.\n", "\\(a_1 * b_1\\, * c\\)"),
            ("\\[\nE = mc^2 \\\\ x\n\\]\n", "\\[\nE = mc^2 \\\\ x\n\\]"),
            ("\\begin{align}\na &= b \\\\\nc\n\\end{align}\n", "a &= b \\\\\nc\n\\end{align}"),
        ],
    )
    def test_formulas_stand_as_they_are_written(self, text, formula):
        assert formula in Elements(render_markdown(text)).text

    def test_prices_are_no_formula(self):
        shown = Elements(render_markdown("From $5 [x](other.md) to 6$.", look=Look(to_notes)))

        assert shown.of("a")

    def test_columns_are_aligned(self):
        shown = Elements(render_markdown("| a | b |\n| --: | :-: |\n| 1 | 2 |\n"))

        assert [cell["class"] for cell in shown.of("td")] == ["right", "center"]

    def test_a_callout_has_its_title(self):
        shown = Elements(render_markdown("> [!WARNING] Mind the gap\n> It is wide.\n"))

        assert shown.of("blockquote") == [{"class": "callout"}]
        assert "Mind the gap" in shown.text
        assert "It is wide." in shown.text
        assert "WARNING" not in shown.text

    def test_an_admonition_of_mkdocs_is_a_callout(self):
        look = Look(to_notes, flavour=flavour_of("mkdocs"))

        shown = Elements(render_markdown('!!! note "Mind the gap"\n    It is wide.\n', look=look))

        assert shown.of("div") == [{"class": "callout"}]
        assert shown.of("p") == [{"class": "word"}, {}]

    def test_code_in_a_known_language_is_coloured(self):
        html = render_markdown("```python\nreturn 'x'  # why\n```\n\n```nolanguage\nreturn\n```\n")

        assert '<span class="code-keyword">return</span>' in html
        assert html.count("code-keyword") == 1

    def test_the_lines_of_a_difference_are_coloured(self):
        html = render_markdown("```diff\n-old\n+new\n```\n")

        assert '<span class="code-removed">-old' in html
        assert '<span class="code-added">+new' in html

    def test_html_and_comments_are_shown_as_text(self):
        text = Elements(render_markdown("<div>\n\na <b>b</b> <!-- c -->\n\n<!--\nd\n-->\n")).text

        assert all(part in text for part in ("<div>", "<b>b</b>", "<!-- c -->", "<!--\nd\n-->"))

    def test_footnotes_are_found_in_any_case(self):
        text = "A claim[^Note]. Another[^Note].\n\n[^note]: The text of it.\n"

        shown = Elements(render_markdown(text))

        assert len(shown.of("sup")) == 2
        assert "[^Note]" not in shown.text
        assert shown.text.count("The text of it.") == 1


class TestFindings:
    NOTE = "---\ntitle: T\n---\n# Head\n\nFirst\nsecond line\n\n- item one\n- item two\n\n```\ncode\n```\n"

    @pytest.mark.parametrize(
        ("line", "before"),
        [
            pytest.param(2, '<pre class="frontmatter"', id="frontmatter"),
            pytest.param(4, '<h2 id="text-head" class="quoted">', id="heading"),
            pytest.param(7, '<p class="quoted">First', id="inside-a-paragraph"),
            pytest.param(8, '<p class="quoted">First', id="blank-line"),
            pytest.param(10, "item two", id="list-item"),
            pytest.param(13, '<pre tabindex="0" class="quoted">', id="code"),
            pytest.param(99, '<pre tabindex="0" class="quoted">', id="past-the-end"),
        ],
    )
    def test_stand_at_the_line_they_quote(self, line, before):
        html = render_markdown(self.NOTE, quotes=[FindingMark(line, FIRST, "warn", "why", "/f/")])

        _head, _mark, rest = html.partition(f'id="f-{FIRST}"')
        after_note = rest.partition("</div>\n")[2]
        assert after_note.lstrip().startswith(before)

    def test_lines_are_those_of_the_file_after_a_lone_carriage_return(self):
        html = render_markdown("one\rstill one\n\ntwo\n", quotes=[FindingMark(3, FIRST)])

        assert html.index("still one") < html.index(FIRST) < html.index("two")

    def test_lines_count_with_crlf(self):
        html = render_markdown("one\r\n\r\ntwo\r\n", quotes=[FindingMark(3, FIRST)])

        assert html.index("one") < html.index(FIRST) < html.index("two")

    def test_several_at_a_line_stand_in_order(self):
        html = render_markdown("x\n", quotes=[FindingMark(1, FIRST), FindingMark(1, SECOND)])

        assert html.index(FIRST) < html.index(SECOND) < html.index("<p")

    def test_lines_have_anchors_each_once(self):
        ids = Elements(render_markdown(self.NOTE, line_anchors=True)).ids

        assert {"text-L6", "text-L9", "text-L10", "text-L12"} <= set(ids)
        assert len(ids) == len(set(ids))

    def test_every_line_of_the_plain_text_has_an_anchor(self):
        shown = Elements(render_plain("a\n\nb", quotes=[FindingMark(3, FIRST, "fail", "why")]))

        assert shown.ids == ["text-L1", "text-L2", f"f-{FIRST}", "text-L3"]


class TestBounds:
    def test_a_long_text_is_cut_and_says_so(self):
        html = render_markdown("a line of words\n" * 40_000)

        assert len(html) < MAX_HTML + 1000
        assert "Cut here" in html

    def test_what_grows_when_rendered_is_shown_as_it_is_written(self):
        html = render_markdown("|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "|b\n" * 5000)

        assert len(html) < MAX_HTML + 1000

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# a\n" * 30_000, id="headings"),
            pytest.param("[" * 100_000, id="brackets"),
            pytest.param("![[" * 40_000, id="open-wikilinks"),
            pytest.param("[^a]: x\n\n" + "[^a] " * 20_000, id="footnotes"),
            pytest.param("a**a" * 30_000, id="stars"),
            pytest.param(">" * 100_000, id="quotes"),
        ],
    )
    def test_no_text_takes_the_server_with_it(self, text):
        begun = time.process_time()

        render_markdown(text, line_anchors=True, quotes=[FindingMark(n, FIRST) for n in range(300)])

        assert time.process_time() - begun < 30  # a quadratic one takes minutes
