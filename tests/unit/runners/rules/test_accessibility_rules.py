"""Rules for readers who do not see the page."""

from __future__ import annotations

import pytest

from review.vocabulary import Severity
from tests.unit.runners.rules.judged import lines_of, review_of


class TestImagesWithoutAltText:
    @pytest.mark.parametrize(
        "image",
        [
            "![](a.png)",
            "![ ](a.png)",
            "![image](a.png)",
            "![IMG_1234](a.png)",
            "![states.svg](states.svg)",
            '<img src="a.png">',
            '<p align="center"><img src="a.png"></p>',
            "[![](a.png)](b.md)",
        ],
    )
    def test_warns(self, image):
        assert lines_of("images-without-alt-text", f"# A\n\n{image}\n") == [3]

    @pytest.mark.parametrize(
        "image",
        [
            "![A job is claimed, runs and ends](a.png)",
            '<img alt="" src="a.png">',
            "![[a.png]]",
            "`![](a.png)`",
            "```\n![](a.png)\n```",
            "<!-- ![](a.png) -->",
        ],
    )
    def test_passes(self, image):
        assert lines_of("images-without-alt-text", f"{image}\n") == []


class TestBoldAsHeading:
    @pytest.mark.parametrize("below", ["The job fails.", "- one\n- two"])
    @pytest.mark.parametrize("bold", ["When the disk is full", "Costs of a job"])
    def test_warns(self, bold, below):
        review = review_of("bold-as-heading", f"# A\n\nText.\n\n**{bold}**\n\n{below}\n")

        assert [(found.line, found.severity) for found in review.findings] == [(5, Severity.WARN)]

    def test_warns_of_two_in_a_section_that_begins_with_one(self):
        text = "# A\n\n**One**\n\nText.\n\n**Two**\n\nText.\n"
        review = review_of("bold-as-heading", text)

        assert [found.severity for found in review.findings] == [Severity.WARN] * 2

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# A\n\n**By A. Writer**\n\nText.", id="names-the-author"),
            pytest.param("Text.\n\n**or**\n\nText.", id="part-of-a-sentence"),
            pytest.param(f"Text.\n\n**{'Go on ' * 6}**\n\nText.", id="long"),
        ],
    )
    def test_only_remarks_on_what_may_be_no_heading(self, text):
        review = review_of("bold-as-heading", text)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("**Never do this.**\n\nText.", id="a-sentence"),
            pytest.param("**Label:**\n\n- a", id="a-label"),
            pytest.param("**All 3 are Git objects**\n\nText.", id="a-clause"),
            pytest.param("**Das geht nicht ohne Strom**\n\nText.", id="a-german-clause"),
            pytest.param("**向你的同事说清代码量**\n\n文字。", id="a-chinese-clause"),
            pytest.param("**左辺に数値を置かない**\n\n文。", id="a-japanese-clause"),
            pytest.param("**Program.cs**\n\nText.", id="name-of-a-file"),
            pytest.param("**States of a job**\n\n| a | b |\n| - | - |", id="caption-of-a-table"),
            pytest.param("**Listing 1**\n\n```\nx\n```", id="caption-of-code"),
            pytest.param("**Bold** and more\n\nText.", id="part-of-a-line"),
            pytest.param("- a\n\n  **b**\n\n  text", id="in-a-list"),
            pytest.param("**Last words**", id="at-the-end"),
            pytest.param("**a**\ntext right below", id="same-paragraph"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("bold-as-heading", f"{text}\n") == []
