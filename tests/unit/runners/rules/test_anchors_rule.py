"""The rule on anchors: which headings answer to a link."""

from __future__ import annotations

import pytest

from review.vocabulary import Severity
from tests.unit.runners.rules.judged import lines_of, review_of


class TestBrokenAnchors:
    def test_warns_where_no_heading_answers(self):
        text = "# A\n\nSee [limits](#limits) and [[#Costs of e.g.that]].\n\n## What is refused\n"

        assert lines_of("broken-anchors", text) == [3, 3]

    @pytest.mark.parametrize(
        ("anchor", "below"),
        [
            ("what-is-refused", "## What is refused?"),
            ("what-is-refused-1", "## What is refused\n\n## What is refused"),
            ("1-setup", "## 1. Setup"),
            ("setup", "## 1. Setup"),
            ("the-code-span", "## The `code` span"),
            ("see-it", "## See [it](b.md)"),
            ("part", "Part\n----"),
            ("spot", '<a id="spot"></a>'),
            ("custom", "## Title {#custom}"),
            ("custom", "<section>\n### Title {#custom}\n</section>"),
            ("id-2.-set-up", "## 2. Set up"),
            ("a-lt-b-gt-amp-c", "## A `<b>` & c"),
            ("^block-1", "A paragraph. ^block-1"),
            ("^table", "## A table^table"),
            ("easy-cla", "## `Easy CLA` {.notranslate lang=en}"),
            ("Set-up-Fonts", "## Set up\n\n### Fonts"),
            ("%C3%BCber-uns", "## Über uns"),
            ("概要", "## 概要"),
            ("top", "text"),
            ("any", "{!parts/any.md!}"),
            ("comments", "text"),
            ("L12", "text"),
            ("php-8.2%3A-add-%23[x]", "## PHP 8.2: Add #[X]"),
        ],
    )
    def test_finds_what_answers(self, anchor, below):
        assert lines_of("broken-anchors", f"See [x](#{anchor}).\n\n{below}\n") == []

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("See [x](#y).\n", id="no-title"),
            pytest.param("# A\n\n[a](#b), [c](#d), [e](#f), [A](#a).\n", id="most-are-broken"),
            pytest.param("# A\n\nSee [x](#opt-home.packages).\n", id="an-option"),
            pytest.param("# A\n\nSee [exercise 34](#34).\n", id="a-number"),
        ],
    )
    def test_only_remarks_where_a_build_may_bring_it(self, text):
        review = review_of("broken-anchors", text)

        assert {found.severity for found in review.findings} == {Severity.INFO}

    def test_passes_where_a_site_shows_a_list_of_the_frontmatter(self):
        text = "---\nfurther_reading: [b]\n---\n# A\n\nSee [more](#further-reading).\n"

        assert lines_of("broken-anchors", text) == []

    def test_passes_over_labels_of_other_notes(self):
        assert lines_of("broken-anchors", "# A\n\nSee [](#gone) and [it](#Class.name).\n") == []

    def test_a_short_code_that_closes_itself_hides_no_heading(self):
        text = "# A\n\n[x](#more)\n\n{{< code-toggle file=a />}}\n\n{{< code >}}\nx\n{{</ code >}}\n\n## More\n"

        assert lines_of("broken-anchors", text, flavour="hugo") == []

    def test_leaves_code_and_other_files_alone(self):
        assert lines_of("broken-anchors", "`[x](#y)` and [x](b.md#y)\n") == []
