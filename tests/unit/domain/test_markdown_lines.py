"""The line walker: fences, quotations and offsets, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.domain.markdown.lines import iter_lines

MARKDOWN = st.text(alphabet="`~>-1. \t\r\nab", max_size=200) | st.text(max_size=200)


def marks(text: str) -> str:
    """One letter a line: m fence marker, f in a fence, q quoted, b both, and - for none."""
    letters = []
    for line in iter_lines(text):
        kind = "m" if line.is_fence_marker else "f" if line.in_fence else "-"
        if line.in_quote:
            kind = "q" if kind == "-" else "b"
        letters.append(kind)
    return "".join(letters)


class TestIterLines:
    def test_numbers_from_one_and_gives_character_offsets(self):
        lines = list(iter_lines("é\n\nb\r\nc"))

        assert [(line.number, line.text, line.start) for line in lines] == [
            (1, "é", 0),
            (2, "", 2),
            (3, "b", 3),
            (4, "c", 6),
        ]

    def test_ends_lines_at_line_feeds_only(self):
        texts = [line.text for line in iter_lines("a\rb\u2028c\x0bd\x85e\r\r\nf")]

        assert texts == ["a\rb\u2028c\x0bd\x85e\r", "f"]

    @pytest.mark.parametrize(("text", "count"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1)])
    def test_yields_no_line_after_the_last_line_feed(self, text, count):
        assert len(list(iter_lines(text))) == count

    @given(MARKDOWN)
    def test_loses_no_line_and_no_offset(self, text):
        lines = list(iter_lines(text))

        whole = text.split("\n")
        assert [line.text for line in lines] == [
            part.removesuffix("\r") for part in (whole if whole[-1] else whole[:-1])
        ]
        assert all(text.startswith(line.text, line.start) for line in lines)

    @given(MARKDOWN)
    def test_counts_every_fence_marker_as_part_of_its_fence(self, text):
        assert all(line.in_fence for line in iter_lines(text) if line.is_fence_marker)


class TestFences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("a\n```\nb\n```\nc", "-mfm-", id="backticks"),
            pytest.param("~~~\nb\n~~~\nc", "mfm-", id="tildes"),
            pytest.param("```python title=x\nb\n```", "mfm", id="info-string"),
            pytest.param("```a`b\nc", "--", id="backtick-in-info-is-inline-code"),
            pytest.param("~~~a`b\nc", "mf", id="tilde-info-may-hold-a-backtick"),
            pytest.param("``\nb", "--", id="two-are-too-few"),
            pytest.param("````\n```\nb\n````\nc", "mffm-", id="shorter-does-not-close"),
            pytest.param("```\nb\n`````\nc", "mfm-", id="longer-closes"),
            pytest.param("```\n~~~\n```\nc", "mfm-", id="other-char-does-not-close"),
            pytest.param("```\n``` x\nb", "mff", id="closer-takes-no-info"),
            pytest.param("```\n``` \t\nb", "mm-", id="closer-takes-trailing-blanks"),
            pytest.param("   ```\nb\n   ```\nc", "mfm-", id="three-spaces-of-indent"),
            pytest.param("    ```\nb", "--", id="four-spaces-are-indented-code"),
            pytest.param("\t```\nb", "--", id="a-tab-is-indented-code"),
            pytest.param("```\n    ```\nb", "mff", id="indented-closer-does-not-close"),
            pytest.param("```\n\n> a\n- b", "mfff", id="unclosed-runs-to-the-end"),
            pytest.param("```\r\nb\r\n```\r\nc", "mfm-", id="crlf"),
            pytest.param("- a\n  ```\n  b\n  ```\nc", "-mfm-", id="in-a-list-item"),
            pytest.param("1. a\n\n    ```\n    b\n    ```\nc", "--mfm-", id="in-an-ordered-item"),
            pytest.param("- ```\n  b\n  ```\nc", "mfm-", id="on-the-line-of-the-bullet"),
            pytest.param("- ```\n  b\nc", "mf-", id="unclosed-ends-with-its-list-item"),
            pytest.param("- a\n  - b\n    ```\n    c\n    ```\n  d", "--mfm-", id="nested-item"),
            pytest.param("1. a\n  ```\nb\n  ```\nc", "-mfm-", id="underindented-leaves-the-item"),
            pytest.param("* * *\n    ```", "--", id="thematic-break-opens-nothing-lasting"),
            pytest.param("-\n  ```\n  a\n  ```", "-mfm", id="empty-bullet"),
            pytest.param("-      ```\na", "--", id="bullet-with-indented-code"),
        ],
    )
    def test_follow_commonmark(self, text, expected):
        assert marks(text) == expected


class TestQuotations:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("> a\nb", "q-", id="plain"),
            pytest.param("   > a", "q", id="three-spaces"),
            pytest.param("    > a", "-", id="four-spaces"),
            pytest.param("- a\n  > b\nc", "-q-", id="in-a-list-item"),
            pytest.param("1. > b", "q", id="on-the-line-of-the-number"),
            pytest.param("> ```\n> b\n> ```\n> c", "bbbq", id="fence-inside"),
            pytest.param("> ```\n> b\nc", "bb-", id="fence-ends-with-its-quotation"),
            pytest.param("> > ```\n>> b\nc", "bb-", id="nested"),
            pytest.param("```\n> b\n```", "mfm", id="inside-a-fence-is-code"),
            pytest.param("a > b\n\\> c", "--", id="not-at-the-start"),
        ],
    )
    def test_are_lines_after_an_angle_bracket(self, text, expected):
        assert marks(text) == expected


class TestCost:
    @pytest.mark.parametrize(
        "unit", ["\n", ">", "> ", "- ", "`", "~~~\n", "- a\n", "1. ", " ", "\t", "- ```\n", "\r"]
    )
    def test_survives_a_long_run_of_anything(self, unit):
        text = unit * 100_000

        assert sum(1 for _ in iter_lines(text)) == max(1, text.count("\n"))
