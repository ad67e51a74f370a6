"""Rules on headings, sections, fences and tables."""

from __future__ import annotations

import pytest

from review.vocabulary import Decision, Severity
from tests.unit.runners.rules.judged import lines_of, quotes_of, review_of


class TestMultipleH1:
    def test_warns_of_each_further_one(self):
        review = review_of("multiple-h1", "# A\n\n## A.1\n\n# B\n\nC\n===\n")

        assert review.decision is Decision.WARN
        assert [found.line for found in review.findings] == [5, 7]

    @pytest.mark.parametrize(
        ("text", "flavour"),
        [
            pytest.param("# A\n\n## A.1\n\n# B\n", "obsidian", id="titled-by-its-file"),
            pytest.param("# By a loop\n\na\n\n# By recursion\n\nb\n", "commonmark", id="a-piece"),
        ],
    )
    def test_only_remarks_where_sections_may_be_of_level_1(self, text, flavour):
        review = review_of("multiple-h1", text, flavour=flavour)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    def test_warns_where_the_title_is_in_the_frontmatter(self):
        review = review_of("multiple-h1", "---\ntitle: T\n---\n# A\n\na\n\n# B\n")

        assert review.decision is Decision.WARN

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# A\n\n```sh\n# B\n```\n", id="comment-in-a-fence"),
            pytest.param("# A\n\n    # B\n", id="indented-code"),
            pytest.param("# A\n\n> # B\n", id="quotation"),
            pytest.param("# A\n\n#B\n", id="tag"),
            pytest.param("---\ntitle: T\n# yaml comment\n---\n# A\n", id="frontmatter"),
            pytest.param("# A\n\n<!--\n# B\n-->\n", id="comment"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("multiple-h1", text) == []

    @pytest.mark.parametrize("path", ["src/SUMMARY.md", "CHANGELOG.md"])
    def test_passes_parts_of_a_book_and_versions(self, path):
        text = "# 2.0\n\n### Fixed\n\n# 1.0\n"

        assert lines_of("multiple-h1", text, path=path) == []
        assert path == "src/SUMMARY.md" or lines_of("heading-level-skips", text, path=path) == []


class TestHeadingLevelSkips:
    def test_warns_where_a_level_is_left_out(self):
        assert lines_of("heading-level-skips", "# A\n\n### B\n\n#### C\n\n## D\n\n#### E\n") == [
            3,
            9,
        ]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("## A\n\n### B\n\n## C\n", id="title-is-in-the-frontmatter"),
            pytest.param("# A\n\n## B\n\n### C\n\n# D\n", id="going-up-any-way"),
            pytest.param("Title\n=====\n\nPart\n----\n\n### C\n", id="underlined"),
            pytest.param("# A\n\ntext\n\n---\n\n## B\n", id="horizontal-rule"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("heading-level-skips", text) == []


class TestEmptySections:
    def test_remarks_on_a_heading_with_nothing_under_it(self):
        text = "# A\n\nText.\n\n## Limits\n\n<!-- later -->\n\n---\n\n## Costs\n\nFour.\n\n## End\n"

        assert quotes_of("empty-sections", text) == ["Limits", "End"]
        assert review_of("empty-sections", text).decision is Decision.PASS

    def test_leaves_journals_and_clippings(self):
        assert lines_of("empty-sections", "# A\n\n## B\n", path="kb/daily.journal.2024.md") == []
        clipping = "---\nlink: https://a.org/b\n---\n# A\n\n### B\n\n**C**\n\nText.\n"
        for rule in ("empty-sections", "heading-level-skips", "bold-as-heading"):
            assert lines_of(rule, clipping) == []

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param("Text.", id="text"),
            pytest.param("### Sub\n\nText.", id="subsection"),
            pytest.param("```\ncode\n```", id="code"),
            pytest.param("| a | b |\n| - | - |\n| 1 | 2 |", id="table"),
            pytest.param("![[embed]]", id="embed"),
            pytest.param("> quoted", id="quotation"),
            pytest.param("<div>x</div>", id="html"),
            pytest.param("$$\nx\n$$", id="math"),
            pytest.param("1. ##### C\n   text", id="list-of-headings"),
        ],
    )
    def test_accepts_content_of_any_kind(self, content):
        assert lines_of("empty-sections", f"# A\n\n## B\n\n{content}\n") == []

    @pytest.mark.parametrize(
        "heading",
        [
            "Status: Accepted",
            "_Proof:_ $a < b$",
            "[Limits](limits.md)",
            "GET /api/queues/{name}",
            "loadMany(executor)",
            "A lock needs no key.",
        ],
    )
    def test_accepts_a_heading_that_is_the_content(self, heading):
        assert lines_of("empty-sections", f"# A\n\n## {heading}\n\n## B\n\nText.\n") == []


class TestMath:
    def test_in_a_shortcode_of_zola_has_no_headings(self):
        text = "# A\n\nText.\n\n{% katex(block=true) %}\nI\n=\nJ\n{% end %}\n"

        assert lines_of("multiple-h1", text, flavour="zola") == []


class TestDuplicateHeadings:
    def test_warns_of_twins_under_one_parent_and_names_the_first(self):
        review = review_of("duplicate-headings", "# A\n\n## In use\n\na\n\n## in use:\n\nb\n")

        assert [found.line for found in review.findings] == [7]
        assert "line 3" in review.findings[0].text
        assert review.decision is Decision.WARN

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("## Note\n\na\n\n## Note\n\nb", id="a-word"),
            pytest.param("# Next slide\n\na\n\n# Next slide\n\nb", id="level-1"),
            pytest.param("## As code\n\n## As text\n\n## As code\n\n## As text", id="several"),
        ],
    )
    def test_only_remarks_on_what_may_be_a_label(self, text):
        review = review_of("duplicate-headings", text)

        assert review.findings
        assert review.decision is Decision.PASS

    def test_accepts_the_same_words_under_different_parents(self):
        text = "## 1.1\n\n### Fixed\n\na\n\n## 1.0\n\n### Fixed\n\nb\n"

        assert lines_of("duplicate-headings", text) == []

    def test_accepts_headings_that_differ_in_a_formula(self):
        text = "## The case $d=5$\n\na\n\n## The case $d=6$\n\nb\n"

        assert lines_of("duplicate-headings", text, flavour="obsidian") == []


class TestUnclosedFences:
    def test_fails_a_fence_that_runs_to_the_end(self):
        review = review_of("unclosed-fences", "# A\n\n```python\nx = 1\n\nText.\n")

        assert review.decision is Decision.FAIL
        assert (review.findings[0].line, review.findings[0].quote) == (3, "python")

    @pytest.mark.parametrize("opening", ["```js\n*/", "```js*/"])
    def test_leaves_a_script_that_is_to_end_in_code(self, opening):
        assert lines_of("unclosed-fences", f"/*\nIt connects.\n\n{opening}\nx = 1\n") == []

    def test_names_both_of_two_openings(self):
        assert lines_of("unclosed-fences", "```sh\na\n```sh\nb\n```\n\n```\nc\n") == [1, 7]
        assert lines_of("unclosed-fences", "````md\n```sh\nb\n```\n````\n") == []

    def test_warns_of_one_with_nothing_behind_it(self):
        review = review_of("unclosed-fences", "# A\n\nText.\n\n```\n")

        assert review.decision is Decision.WARN

    @pytest.mark.parametrize(
        "text", ["```note x=`a`\nText.\n```\n\nMore.\n", "<div>\n```sh\n\nx\n```\n\nMore.\n"]
    )
    def test_only_remarks_where_another_dialect_may_open_a_fence(self, text):
        review = review_of("unclosed-fences", text)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    def test_only_remarks_in_logseq_which_looks_at_no_indent(self):
        text = "- ```sh\n  x\n        ```\n- More.\n"

        (found,) = review_of("unclosed-fences", text, flavour="logseq").findings
        assert found.severity is Severity.INFO

    def test_warns_of_one_that_ends_with_its_list_item(self):
        review = review_of("unclosed-fences", "- a\n\n  ```sh\n  x\n\ntext\n")

        assert review.decision is Decision.WARN
        assert review.findings[0].line == 3

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("```\na\n```\n```\nb\n```\n", id="two-in-a-row"),
            pytest.param("````md\n```\n````\n", id="fence-shown-in-a-longer-one"),
            pytest.param("~~~\n```\n~~~\n", id="tildes-around-backticks"),
            pytest.param("a ``` b\n", id="backticks-in-a-line"),
            pytest.param("- a\n\n  ```\n  x\n  ```\n\ntext\n", id="in-an-item"),
            pytest.param("> ```\n> x\n> ```\n\ntext\n", id="in-a-quotation"),
            pytest.param("```\r\na\r\n```\r\n", id="crlf"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("unclosed-fences", text) == []

    def test_reads_fences_behind_tags_and_code_in_braces_in_mdx(self):
        code = "```sh\n\n# B\n```"
        text = f"# A\n\n<Tabs>\n{code}\n</Tabs>\n<div>\n{code}\n</div>\n\n<Code>\n{{`x\n\n# C`}}\n</Code>\n"

        assert lines_of("unclosed-fences", text, flavour="docusaurus") == []
        assert lines_of("multiple-h1", text, flavour="docusaurus") == []


class TestTableColumnMismatch:
    def test_warns_of_a_row_with_a_cell_too_many(self):
        text = "| a | b |\n| --- | --- |\n| 1 | 2 |\n| `x|y` | 2 |\n"

        assert lines_of("table-column-mismatch", text) == [4]

    def test_warns_of_a_header_that_differs_from_its_dashes(self):
        assert lines_of("table-column-mismatch", "| a | b | c |\n| - | - |\n| 1 | 2 |\n") == [1]

    def test_only_remarks_on_a_row_with_too_few(self):
        review = review_of("table-column-mismatch", "| a | b | c |\n|-|-|-|\n| 1 | 2 |\n")

        assert review.decision is Decision.PASS
        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("| a | b |\n| - | - |\n| x \\| y | 2 |\n", id="escaped-pipe"),
            pytest.param("a | b\n- | -\n1 | 2\n", id="without-outer-pipes"),
            pytest.param("| a |\n| :-: |\n| 1 |\n", id="one-column"),
            pytest.param("```\n| a | b |\n| - | - |\n| 1 | 2 | 3 |\n```\n", id="in-code"),
            pytest.param("x || y is no table\n\nnor | this\n", id="pipes-in-prose"),
            pytest.param("| a | b |\n| - | - |\n| section |\n", id="row-that-spans"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("table-column-mismatch", text) == []

    def test_ends_a_table_at_a_tag_in_mdx(self):
        table = "| a |\n| - |\n| 1 |\n  </Tab>\n  <Tab>\n| a | b |\n| - | - |\n| 1 | 2 |\n"

        assert lines_of("table-column-mismatch", table, flavour="docusaurus") == []


class TestFencesWithoutLanguage:
    def test_only_remarks(self):
        review = review_of("fences-without-language", "```\nplain\n```\n\n```sh\nx\n```\n")

        assert review.decision is Decision.PASS
        assert [(found.severity, found.line) for found in review.findings] == [(Severity.INFO, 1)]
