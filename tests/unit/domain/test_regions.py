"""Regions hold every byte of a note, and know a title when they see one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.staleness import Regions, regions_of

MARKDOWN = st.text(alphabet="#=->`~ \t\r\n\ufeffab:!<", max_size=120) | st.text(max_size=80)


def joined(regions: Regions) -> str:
    at = regions.title_offset
    if at is None:
        return regions.frontmatter + regions.body
    return regions.frontmatter + regions.body[:at] + regions.title + regions.body[at:]


class TestTitle:
    @pytest.mark.parametrize(
        ("text", "title"),
        [
            pytest.param("# T\n\nText", "T", id="first-line"),
            pytest.param("---\ntitle: F\n---\n\n# T\n", "T", id="heading-outranks-frontmatter"),
            pytest.param("---\ntitle: F\n---\n\n## Two\n", "F", id="frontmatter-without-a-heading"),
            pytest.param("+++\ntitle = 'F'\n+++\n\n## Two\n", "F", id="title-of-toml"),
            pytest.param('{\n"title": "F"\n}\n\n## Two\n', "F", id="title-of-json"),
            pytest.param("Intro.\n\n# T\n\n# Other\n", "T", id="text-before-the-title"),
            pytest.param("#   T  ##  \n", "T", id="closing-marks"),
            pytest.param("   # T\n", "T", id="three-blanks"),
            pytest.param("# C# and F#\n", "C# and F#", id="hash-in-the-title"),
            pytest.param("T\n===\n\nText", "T", id="underlined"),
            pytest.param("Two\nlines\n=\n", "Two lines", id="underlined-paragraph"),
            pytest.param("Sub\n---\n\nT\n===\n", "T", id="second-level-first"),
            pytest.param("# T\r\n\r\nText\r\n", "T", id="crlf"),
            pytest.param("---\rtitle: F\r---\r\r# T\rText", "T", id="lone-carriage-returns"),
            pytest.param("\ufeff# T\nText", "T", id="bom"),
            pytest.param("<!-- c --> \n# T", "T", id="comment-that-closes"),
        ],
    )
    def test_is_the_first_heading_of_level_one(self, text, title):
        assert regions_of(text).title_text == title

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("```sh\n# comment\n```\n", id="in-a-fence"),
            pytest.param("~~~\n# comment\n", id="in-a-fence-that-never-closes"),
            pytest.param("> # quoted\n", id="in-a-quotation"),
            pytest.param("<!--\n# hidden\n-->\n", id="in-a-comment"),
            pytest.param("    # code\n", id="indented-code"),
            pytest.param("#hashtag\n", id="tag"),
            pytest.param("#\n\n# \n", id="empty-heading"),
            pytest.param("## Two\n===\n", id="underline-below-a-heading"),
            pytest.param("- item\nlazy\n===\n", id="underline-below-a-list"),
            pytest.param("=== Title ===\n\nText", id="marks-on-both-sides"),
            pytest.param("Text\n\n===\n", id="underline-below-nothing"),
            pytest.param("a = b\n", id="equals-sign"),
            pytest.param("", id="empty"),
        ],
    )
    def test_is_not_taken_from_what_is_no_heading(self, text):
        regions = regions_of(text)

        assert (regions.title, regions.title_offset, regions.body) == ("", None, text)

    def test_the_heading_is_kept_as_written_and_its_line_end_stays_in_the_body(self):
        regions = regions_of("---\na: b\n---\nIntro\n#  T ##\r\nText")

        assert regions.title == "#  T ##"
        assert regions.body == "Intro\n\r\nText"
        assert regions.frontmatter == "---\na: b\n---\n"


class TestDescription:
    @pytest.mark.parametrize(
        ("yaml", "description"),
        [
            pytest.param("description: What it says.", "What it says.", id="text"),
            pytest.param("title: x", "", id="absent"),
            pytest.param("description: [a, b]", "['a', 'b']", id="no-text"),
            pytest.param("description: a: b", "", id="unreadable"),
        ],
    )
    def test_is_the_value_of_the_frontmatter(self, yaml, description):
        assert regions_of(f"---\n{yaml}\n---\nBody").description == description


class TestWholeness:
    @settings(deadline=None, max_examples=400)
    @given(
        st.sampled_from(["", "---\ntitle: x\n---\n", "\ufeff---\r\na: [\r\n...\r\n", "---\n"]),
        MARKDOWN,
    )
    def test_the_parts_are_the_text_again(self, head, text):
        regions = regions_of(head + text)

        assert joined(regions) == head + text
        assert regions.title_text.strip() == regions.title_text

    def test_an_unclosed_fence_hides_what_follows_and_loses_nothing(self):
        text = "Text\n\n```\n# no\n" * 99

        assert joined(regions_of(text)) == text
