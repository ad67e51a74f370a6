"""Rules on paragraphs, placeholders and words that age or point."""

from __future__ import annotations

import pytest

from review.vocabulary import Decision, Severity
from tests.unit.runners.rules.judged import lines_of, review_of

SAME = "Take a copy of the store first, because the command cannot be undone once it has started."


class TestRepeatedParagraphs:
    def test_warns_of_the_second_and_names_the_first(self):
        review = review_of("repeated-paragraphs", f"{SAME}\n\nOther.\n\n{SAME.upper()}\n")

        assert [found.line for found in review.findings] == [5]
        assert "line 1" in review.findings[0].text

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("Short one.\n\nShort one.\n", id="short"),
            pytest.param(f"> {SAME}\n\n> {SAME}\n", id="quotations"),
            pytest.param(f"# Release notes\n\n{SAME}\n\n{SAME}\n", id="changes"),
            pytest.param(f"# Template\n\n{SAME}\n\n{SAME}\n", id="template"),
            pytest.param(f"{SAME} [your name]\n\n{SAME} [your name]\n", id="slots"),
            pytest.param(f"![{SAME}](a.png)\n\n![{SAME}](a.png)\n", id="pictures"),
            pytest.param(f"<Tab a>\n\n{SAME}\n\n<Tab b>\n\n{SAME}\n", id="tabs"),
            pytest.param(f"```\n{SAME}\n```\n\n```\n{SAME}\n```\n", id="code"),
            pytest.param(
                "- returns the same value as before, in every case that matters to us\n" * 2,
                id="items",
            ),
        ],
    )
    def test_passes(self, text):
        assert lines_of("repeated-paragraphs", text) == []

    def test_only_remarks_on_one_of_another_section(self):
        review = review_of("repeated-paragraphs", f"{SAME}\n\n## Other\n\n{SAME}\n")

        assert [found.severity for found in review.findings] == [Severity.INFO]


class TestLongParagraphs:
    def test_warns_over_the_limit(self):
        text = "# A\n\n" + "Seven words make up this one sentence. " * 36

        review = review_of("long-paragraphs", text)
        assert [(found.line, found.severity) for found in review.findings] == [(3, Severity.WARN)]
        assert review_of("long-paragraphs", text, flavour="logseq").decision is Decision.PASS

    def test_only_remarks_just_over_the_limit(self):
        review = review_of("long-paragraphs", "Seven words make up this one sentence. " * 29)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    def test_accepts_many_short_ones(self):
        assert lines_of("long-paragraphs", "Seven words make up this one sentence.\n\n" * 50) == []

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("[How the parts of it fit](a.md) and\n" * 40, id="contents"),
            pytest.param("A part.\nAnother part that has many more words.\n" * 30, id="ragged"),
            pytest.param("12:00:01 [main] worker seven takes job four\n" * 40, id="log"),
        ],
    )
    def test_accepts_what_is_no_prose(self, text):
        assert lines_of("long-paragraphs", text) == []


class TestPlaceholderText:
    @pytest.mark.parametrize(
        "text",
        [
            "TODO: say what happens when both are down.",
            "It is fast (TBD).",
            "[TODO: number]",
            "TODO write this part",
            "Done soon. FIXME(ana): numbers",
            "TBD",
            "To be written.",
            "**Coming soon**",
            "- [ ] TODO: measure",
            "Dear [insert name here],",
            "Hello [your company name].",
        ],
    )
    def test_warns(self, text):
        assert lines_of("placeholder-text", f"# A\n\n{text}\n") == [3]

    def test_warns_of_a_cell_and_gives_its_line(self):
        assert lines_of("placeholder-text", "| a | b |\n| - | - |\n| 1 | TBD |\n") == [3]

    @pytest.mark.parametrize(
        ("text", "path", "severity"),
        [
            pytest.param("TODO.", "kb/a.md", Severity.WARN, id="in-place-of-the-text"),
            pytest.param("*To be written.*", "kb/a.md", Severity.WARN, id="says-so"),
            pytest.param("TODO: describe the limits.", "kb/a.md", Severity.WARN, id="of-writing"),
            pytest.param("TODO: mend the pump.", "kb/a.md", Severity.INFO, id="of-other-work"),
            pytest.param("Coming soon.", "kb/a.md", Severity.INFO, id="of-a-product"),
            pytest.param("Hash reports (TBD)", "kb/a.md", Severity.INFO, id="of-a-plan"),
            pytest.param("Dear [insert name here],", "kb/a.md", Severity.INFO, id="a-slot"),
            pytest.param("TODO.", "kb/templates/plan.md", Severity.INFO, id="template"),
            pytest.param("`x()` (TODO: document)", "CHANGELOG.md", Severity.INFO, id="changelog"),
            pytest.param("Lorem ipsum dolor.", "kb/a.md", Severity.INFO, id="filler"),
        ],
    )
    def test_warns_only_where_words_say_that_the_text_is_unfinished(self, text, path, severity):
        review = review_of("placeholder-text", text, path=path)

        assert [found.severity for found in review.findings] == [severity]

    def test_gives_the_line_of_each_of_three_equal_marks(self):
        assert lines_of("placeholder-text", "## A\n\nTODO.\n\n## B\n\nTODO.\n\nTODO.\n") == [
            3,
            7,
            9,
        ]

    def test_passes_a_task_of_logseq(self):
        assert lines_of("placeholder-text", "- TODO read it\n", flavour="logseq") == []

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("The TODO list of the team is long.", id="mentioned"),
            pytest.param("A note may say “TODO” or TBD somewhere.", id="named"),
            pytest.param("Grep for `TODO: x`.", id="code-span"),
            pytest.param("```\n# TODO: x\n```", id="fence"),
            pytest.param("> TODO: x", id="quotation"),
            pytest.param("<!-- TODO: x -->", id="comment"),
            pytest.param("## Placeholder text", id="heading-on-placeholders"),
            pytest.param("[your first note](first.md)", id="link"),
            pytest.param("https://e.org/TODO:x", id="address"),
            pytest.param("todo el mundo", id="spanish"),
            pytest.param("Go to C:\\Users\\<your-name>\\x.", id="slot-in-a-path"),
            pytest.param("Call f(x) // TODO: check it", id="comment-of-code"),
            pytest.param('It is "To Be Determined" (TBD) by them.', id="spelled-out"),
            pytest.param("| a |\n| - |\n| XXX |\n| Work in progress |", id="a-pattern-and-a-state"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("placeholder-text", f"{text}\n") == []


class TestRelativeDates:
    @pytest.mark.parametrize(
        "text",
        [
            "We recently moved.",
            "It went down last month.",
            "It will be ready next quarter.",
            "It was changed two weeks ago.",
            "This is currently slow.",
            "It broke yesterday.",
            "If you recently moved, sign in again.",
        ],
    )
    def test_only_remarks_on_them(self, text):
        review = review_of("relative-dates", text)

        assert review.decision is Decision.PASS
        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("We moved last month, in March 2026.", id="year-in-the-sentence"),
            pytest.param("## 2026-03-04\n\nWe moved last month.", id="dated-section"),
            pytest.param("The least recently used entry goes.", id="set-phrase"),
            pytest.param("The most-recently published one.", id="set-phrase-with-hyphen"),
            pytest.param("It lists recently opened files.", id="recently-opened"),
            pytest.param('Words such as "last month" age.', id="quoted"),
            pytest.param("`git log --since 'last month'`", id="code"),
            pytest.param("> We recently moved.", id="quotation"),
            pytest.param("At last, weeks passed.", id="other-sense"),
            pytest.param("It is lost at the moment the process ends.", id="moment-of-something"),
            pytest.param("---\npath: 2024/03/04/x\n---\nWe moved last month.", id="dated-address"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("relative-dates", text) == []


class TestPositionalReferences:
    def test_only_remarks(self):
        found = review_of(
            "positional-references", "# A\n\nX.\n\n## B\n\nAs said above, y."
        ).findings

        assert [one.severity for one in found] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            "The limit is the one mentioned above.",
            "See below for details.",
            "As described earlier, it fails.",
            "The aforementioned limit.",
            "Compare the above table.",
        ],
    )
    def test_warns(self, text):
        assert lines_of("positional-references", f"{text}\n") == [1]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("The limit ([Limits](#limits)), mentioned above.", id="link-beside"),
            pytest.param("The states are listed below:\n\n- a\n", id="colon"),
            pytest.param("The states are listed below.\n\n- a\n", id="list-follows"),
            pytest.param("```\nx\n```\n\nThe code is shown above in full.", id="code-precedes"),
            pytest.param("Words such as “see above” are refused.", id="quoted"),
            pytest.param("Above 90 %, it slows; below it does not.", id="other-sense"),
            pytest.param("He arrived earlier than I.", id="earlier"),
            pytest.param("`see above`", id="code"),
            pytest.param("It looks as shown below.\n\n![A plan](p.png)\n", id="picture-follows"),
            pytest.param('<img src="p.png">\n\nIt is shown above.\n', id="html-picture-precedes"),
            pytest.param("| a |\n| - |\n| b |\n\nCompare the above table.", id="table-precedes"),
            pytest.param("It works as described below in “Order of calls”.", id="named"),
            pytest.param("It ends as\npreviously announced.", id="as-previously"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("positional-references", text) == []
