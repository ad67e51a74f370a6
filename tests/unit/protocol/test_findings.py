"""Findings are read in every shape in which models write them, once and whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.protocol.findings import ReviewFinding, read_findings
from review.vocabulary import Severity

WORDS = "- * 1. > ``` ~~~ ### ** [ ] ( ) : \u2014 INFO WARN fail Findings None \u017f \u0130"
LINES = ("- WARN: x", "\n- INFO: y", "\n  > q", "  ", "\n", "\n\n", "\t", "\r", "\0", "\ud800")
PIECES = st.sampled_from([*WORDS.split(" "), *LINES])


def brief(text: str) -> list[tuple[str, str, str]]:
    return [(found.severity.value, found.text, found.quote) for found in read_findings(text)]


class TestBullets:
    @pytest.mark.parametrize(
        "bullet",
        [
            "- WARN: the term is late",
            "- WARN:the term is late",
            "* warn: the term is late",
            "+ Warn: the term is late",
            "- **WARN**: the term is late",
            "- **WARN:** the term is late",
            "- __WARN__: the term is late",
            "- *warn*: the term is late",
            "- `WARN`: the term is late",
            "- **WARN** the term is late",
            "- WARN - the term is late",
            "- WARN -- the term is late",
            "- WARN — the term is late",
            "- WARN – the term is late",
            "- **WARN** — the term is late",
            "1. warn: the term is late",
            "12) WARN: the term is late",
            "- warning: the term is late",
            "- Warning - the term is late",
            "- [WARN] the term is late",
            "- [WARN]: the term is late",
            "- (WARN) the term is late",
            "- [ ] WARN: the term is late",
            "- [x] **WARN**: the term is late",
            "- ⚠️ WARN: the term is late",
            "- WARN 2: the term is late",
            "- WARN #2: the term is late",
            "-   WARN:   the term is late  ",
            "   - WARN: the term is late",
            "-\tWARN: the term is late",
            "• WARN: the term is late",
            "- WARN\n  the term is late",
            "- WARN:\n  the term is late",
            "- WARN: the term\n  is late",
            "- WARN: the term\nis late",
            "- WARN: the term\r\n  is late\r",
        ],
    )
    def test_are_findings(self, bullet):
        assert brief(f"Text.\n\n{bullet}\n") == [("warn", "the term is late", "")]

    @pytest.mark.parametrize(
        ("word", "severity"),
        [
            ("INFO", Severity.INFO),
            ("info", Severity.INFO),
            ("WARN", Severity.WARN),
            ("WARNING", Severity.WARN),
            ("FAIL", Severity.FAIL),
            ("Failure", Severity.FAIL),
        ],
    )
    def test_name_their_severity(self, word, severity):
        assert read_findings(f"- {word}: a") == (ReviewFinding(severity, "a", ""),)

    def test_are_given_in_order(self):
        found = read_findings("- WARN: a\n- INFO: b\n\n- FAIL: c\n")

        assert [one.text for one in found] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        ("bullet", "text"),
        [
            pytest.param("- WARN (minor): a", "(minor) a", id="parenthesis"),
            pytest.param("- WARN (\u0130\u0130): a", "(\u0130\u0130) a", id="letters-that-grow"),
            pytest.param("- WARN [line 3]: a", "[line 3] a", id="bracket"),
            pytest.param("- **WARN: Head.** a", "Head. a", id="emphasis-over-the-head"),
            pytest.param("- **WARN — Head.** **b** a", "Head. **b** a", id="emphasis-twice"),
            pytest.param("- WARN: `a` ** b", "`a`  b", id="lone-marks"),
        ],
    )
    def test_keep_what_else_they_say(self, bullet, text):
        assert brief(bullet) == [("warn", text, "")]

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param("WARN: a", id="no-bullet"),
            pytest.param("- PASS: a", id="pass"),
            pytest.param("- ERROR: a", id="error"),
            pytest.param("- Fail-safe defaults are named", id="fail-safe"),
            pytest.param("- Warn about the term", id="warn-about"),
            pytest.param("- Warning signs are missing", id="warning-signs"),
            pytest.param("- Information: a", id="information"),
            pytest.param("- info-box is empty", id="info-box"),
            pytest.param("- [info](a.md) is linked", id="link"),
            pytest.param("- no WARN: a", id="not-first"),
            pytest.param("- WARN: none", id="none"),
            pytest.param("- FAIL: None found.", id="none-found"),
            pytest.param("- INFO: n/a", id="n-a"),
            pytest.param("- WARN:", id="empty"),
            pytest.param("- WARN: <finding>", id="template"),
            pytest.param("- WARN|FAIL: a", id="two-words"),
            pytest.param("- WARN\u0131NG: a", id="letter-that-lowers-alike"),
            pytest.param("-WARN: a", id="no-space"),
            pytest.param("Text.\n\n    - WARN: a", id="indented-code"),
            pytest.param("```\n- WARN: a\n```", id="fence"),
            pytest.param("> - WARN: a", id="quotation"),
            pytest.param("| - WARN: a |", id="table"),
        ],
    )
    def test_of_other_kinds_are_none(self, line):
        assert brief(f"{line}\n") == []

    def test_under_another_bullet_are_findings(self):
        text = "- The table\n  - WARN: a\n    > q\n  - INFO: b\n- The list\n    * FAIL: c\n"

        assert brief(text) == [("warn", "a", "q"), ("info", "b", ""), ("fail", "c", "")]


class TestWhatBelongsToAFinding:
    def test_continuation_lines_are_joined(self):
        text = "- WARN: the term\n  is late\n\n  and twice\n- INFO: b"

        assert brief(text) == [("warn", "the term is late\nand twice", ""), ("info", "b", "")]

    def test_nested_bullets_stay_in_it(self):
        text = "- WARN: a\n  - b\n  - FAIL: c\n    - d\n- INFO: e"

        assert brief(text) == [("warn", "a\n- b\n- FAIL: c\n  - d", ""), ("info", "e", "")]

    def test_a_heading_within_it_does_not_cut_it(self):
        assert brief("- WARN: a\n\n  ### b\n  c\n") == [("warn", "a\n### b c", "")]

    def test_a_heading_in_a_fence_does_not_cut_it(self):
        text = "- WARN: a\n  ```md\n  ### Findings\n  - FAIL: b\n  ```\n  c\n- INFO: d"

        assert brief(text) == [
            ("warn", "a\n```md\n### Findings\n- FAIL: b\n```\nc", ""),
            ("info", "d", ""),
        ]

    @pytest.mark.parametrize(
        "after",
        [
            pytest.param("\n\nA paragraph.", id="paragraph"),
            pytest.param("\n- another bullet\n  of two lines", id="bullet"),
            pytest.param("\n### Suggested revision\nShorten.", id="heading"),
            pytest.param("\n\n## Result: WARN", id="result-line"),
            pytest.param("\n  > q\nA line.", id="line-after-the-quote"),
        ],
    )
    def test_it_ends_before(self, after):
        assert [text for _, text, _ in brief(f"- WARN: a{after}")] == ["a"]


class TestQuotes:
    @pytest.mark.parametrize(
        ("lines", "quote"),
        [
            pytest.param("  > the quote", "the quote", id="one-line"),
            pytest.param("  > the\n  > quote", "the\nquote", id="two-lines"),
            pytest.param("  >the   quote ", "the quote", id="no-space"),
            pytest.param("> the quote", "the quote", id="not-indented"),
            pytest.param("\n  > the quote", "the quote", id="after-a-blank-line"),
            pytest.param("\n> the quote", "the quote", id="apart"),
            pytest.param("    > the quote", "the quote", id="deeper"),
            pytest.param("  > > the quote", "the quote", id="nested"),
            pytest.param("  - > the quote", "the quote", id="in-a-nested-bullet"),
            pytest.param("  > - the quote", "- the quote", id="quoted-bullet"),
            pytest.param("  > the\n  >\n  > quote", "the\nquote", id="quoted-blank-line"),
            pytest.param("  > ```\n  > the quote\n  > ```", "the quote", id="quoted-fence"),
            pytest.param("  > the\n\n  > quote", "the\nquote", id="two-quotations"),
            pytest.param("  > the quote\n\n  more", "the quote", id="text-below"),
        ],
    )
    def test_stand_below_the_bullet(self, lines, quote):
        (found,) = read_findings(f"- WARN: a\n{lines}\n\n## Result: WARN\n")

        assert found.quote == quote
        assert found.text.startswith("a")

    def test_go_to_their_own_finding(self):
        text = "- WARN: a\n  > q\n- INFO: b\n- FAIL: c\n  > r\n"

        assert brief(text) == [("warn", "a", "q"), ("info", "b", ""), ("fail", "c", "r")]

    def test_stand_for_the_text_where_there_is_none(self):
        assert brief("- WARN:\n  > q") == [("warn", "q", "q")]

    def test_of_nothing_belong_to_nothing(self):
        assert brief("> q\n\n- WARN: a\n\nText.\n\n> r\n") == [("warn", "a", "")]


class TestSections:
    @pytest.mark.parametrize(
        "heading",
        [
            "### Findings",
            "## FINDINGS",
            "### Findings:",
            "### Findings (2)",
            "### **Findings**",
            "### Key findings",
            "**Findings**",
            "**Findings:**",
            "Findings:",
        ],
    )
    def test_count_alone_where_there_is_one(self, heading):
        text = f"- FAIL: before\n\n{heading}\n\n- WARN: a\n\n## Notes\n- INFO: after\n"

        assert brief(text) == [("warn", "a", "")]

    @pytest.mark.parametrize(
        "finding",
        [
            "WARN: late\n> the term",
            "**WARN: late**\n\n> the term",
            "#### WARN: late\n\n> the term",
            "| Severity | Text |\n| --- | --- |\n| WARN | late |\n\n> the term",
            "| 1 | **WARN** | late |\n\n> the term",
            "#### Warnings\n\n- late\n  > the term",
            "- WARN:\n  - late\n    > the term",
            "- WARN late\n  > the term",
            "- WARN\uff1alate\n  > the term",
            "- WARN ⚠️: late\n  > the term",
            "\u2013 WARN: late\n  > the term",
        ],
    )
    def test_hold_findings_of_other_shapes(self, finding):
        assert brief(f"### Findings\n\n{finding}\n\n### Suggested revision\n- late\n") == [
            ("warn", "late", "the term")
        ]

    def test_are_read_once_each(self):
        text = "### Findings\n- WARN: a\n### Revision\n- WARN: no\n### Findings\n- INFO: b\n"

        assert brief(text) == [("warn", "a", ""), ("info", "b", "")]

    def test_hold_what_deeper_headings_hold(self):
        text = "## Findings\n### Terms\n- WARN: a\n### Links\n- INFO: b\n## Notes\n- FAIL: c\n"

        assert brief(text) == [("warn", "a", ""), ("info", "b", "")]

    @pytest.mark.parametrize("heading", ["**Suggested revision**", "#### Suggested revision:"])
    def test_end_at_the_parts_of_a_review(self, heading):
        assert brief(f"### Findings\n- WARN: a\n\n{heading}\n- FAIL: b\n") == [("warn", "a", "")]

    def test_in_a_fence_are_none(self):
        assert brief("```\n### Findings\n```\n- WARN: a\n") == [("warn", "a", "")]

    def test_without_findings_leave_none(self):
        assert brief("### Findings\nNone.\n\n### Notes\n- WARN: a\n") == []

    def test_are_not_needed(self):
        assert brief("PASS\n\n- INFO: a\n\nText\n\n- INFO: b\n") == [
            ("info", "a", ""),
            ("info", "b", ""),
        ]


class TestRepeated:
    def test_findings_of_the_same_words_are_all_read(self):
        assert brief("### Findings\n" + "- WARN: late\n  > the term\n" * 2) == [
            ("warn", "late", "the term"),
            ("warn", "late", "the term"),
        ]

    @pytest.mark.parametrize(
        "other",
        ["- FAIL: late\n  > the term", "- WARN: later\n  > the term", "- WARN: late\n  > it"],
    )
    def test_one_that_differs_in_anything_is_another(self, other):
        text = f"### Findings\n- WARN: late\n  > the term\n\n### Findings\n{other}\n"

        assert len(read_findings(text)) == 2


class TestAnyText:
    @given(st.text() | st.lists(PIECES, max_size=40).map("".join))
    def test_gives_findings_that_say_something(self, text):
        assert all(one.text for one in read_findings(text))

    @given(st.lists(st.sampled_from(["- WARN: a", "  > q", "Text.", "### Findings"]), max_size=9))
    def test_in_a_fence_gives_none(self, lines):
        assert read_findings("\n".join(["~~~", *lines, "~~~"])) == ()

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("- WARN: x\n  > q\n" * 30_000, id="findings"),
            pytest.param("- WARN: x\n" + "  > q\n" * 100_000, id="one-long-quotation"),
            pytest.param("- WARN: x\n" + "  y\n" * 100_000, id="one-long-finding"),
            pytest.param("### Findings\n" * 70_000, id="headings"),
            pytest.param("- INFO" + " " * 1_000_000 + "x", id="spaces"),
            pytest.param("- [" * 300_000, id="brackets"),
            pytest.param("- WARN: " + "**" * 500_000, id="stars"),
        ],
    )
    def test_is_read_in_linear_time(self, text):
        assert isinstance(read_findings(text), tuple)
