"""Rules on single sentences."""

from __future__ import annotations

import pytest

from review.vocabulary import Severity
from tests.unit.runners.rules.judged import lines_of, review_of

LONG = " ".join(["word"] * 46)


class TestOverlongSentences:
    def test_warns_where_the_sentence_begins(self):
        text = f"# A\n\nShort one.\nThen {LONG} ends.\n"

        assert lines_of("overlong-sentences", text) == [4]

    def test_counts_a_sentence_in_a_list_item(self):
        assert lines_of("overlong-sentences", f"- {LONG}\n") == [1]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(" ".join(["word"] * 45) + ".\n", id="at-the-limit"),
            pytest.param(f"```\n{LONG}\n```\n", id="fence"),
            pytest.param(f"    {LONG}\n", id="indented-code"),
            pytest.param(f"Run `{LONG}` now.\n", id="code-span"),
            pytest.param(f"| a | b |\n| - | - |\n| {LONG} | x |\n", id="table"),
            pytest.param(f"> {LONG}\n", id="quotation"),
            pytest.param(f"---\ndescription: {LONG}\n---\n", id="frontmatter"),
            pytest.param(f"<!-- {LONG} -->\n", id="comment"),
            pytest.param("See [it](https://e.org/" + "a%20" * 60 + ").\n", id="address"),
            pytest.param("one, two, three, four, five, six, " * 10 + "\n", id="enumeration"),
            pytest.param("- a b c d e f g h\n" * 10, id="items-without-full-stops"),
            pytest.param("**Status:** open and so on\n" * 12, id="labelled-lines"),
            pytest.param("Words in a line  \n" * 15, id="hard-breaks"),
            pytest.param("これは短い文です。" * 40, id="japanese"),
            pytest.param(f"$$\n{LONG}\n$$\n", id="formula"),
            pytest.param("Is it " + "so? Was it " * 20 + "so?\n", id="questions"),
            pytest.param("It takes about 350 ms. " * 12 + "\n", id="units"),
            pytest.param("It ended here.Then it went on. " * 12 + "\n", id="blank-is-missing"),
            pytest.param("They live in the U.S. " * 12 + "\n", id="abbreviations-that-end"),
            pytest.param("A Paper on the Names of Things\n" * 8, id="lines-of-their-own"),
            pytest.param("It ends.&nbsp;Then it goes on. " * 12 + "\n", id="entities"),
            pytest.param("It was a joy to all 👏 " + "We say thanks to them 👏 " * 12, id="emoji"),
            pytest.param("它很短(very short).接着说." * 30, id="stop-before-a-sign"),
            pytest.param("12:00:01 [main] worker seven takes job four\n" * 8, id="log"),
            pytest.param(f"*“I say that {LONG}”*, as she told us.\n", id="speech"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("overlong-sentences", text) == []

    def test_lines_are_apart_where_the_flavour_shows_them_so(self):
        text = " ".join(["word"] * 24) + "\n" + " ".join(["word"] * 24) + "\n"

        assert lines_of("overlong-sentences", text) == [1]
        assert lines_of("overlong-sentences", text, flavour="obsidian") == []

    @pytest.mark.parametrize(
        ("words", "flavour", "path"),
        [
            pytest.param(101, "commonmark", "kb/a.md", id="a-log"),
            pytest.param(46, "obsidian", "kb/a.md", id="a-vault"),
            pytest.param(46, "commonmark", "kb/meetings/2025-06-25.md", id="minutes"),
        ],
    )
    def test_only_remarks_on_what_may_be_pasted(self, words, flavour, path):
        text = " ".join(["word"] * words)
        review = review_of("overlong-sentences", text, flavour=flavour, path=path)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    def test_a_law_is_left_as_it_is(self):
        assert lines_of("overlong-sentences", f"{LONG}\n", path="kb/ley-27275-2016.md") == []

    def test_a_clipping_is_not_the_authors(self):
        text = f"---\nsource: https://e.org/x\n---\n{LONG}\n"

        assert lines_of("overlong-sentences", text) == []

    def test_is_not_ended_by_an_abbreviation(self):
        half = " ".join(["word"] * 24)

        assert lines_of("overlong-sentences", f"{half}, e.g. {half}.\n") == [1]

    def test_counts_three_characters_of_a_script_without_spaces_as_a_word(self):
        assert lines_of("overlong-sentences", "漢" * 135) == []
        assert lines_of("overlong-sentences", "漢" * 150) == [1]


class TestRepeatedWords:
    def test_finds_one_across_a_line_break_and_gives_the_line_it_quotes(self):
        review = review_of("repeated-words", "It is kept in the\nthe job's folder.\n")

        assert [found.line for found in review.findings] == [1]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("He had had enough, and that that is is clear.", id="good-english"),
            pytest.param("the `x` the y", id="code-between"),
            pytest.param("kept in the\n\nThe job", id="paragraphs"),
            pytest.param("- the\n- the\n", id="items"),
            pytest.param("in the, the end", id="comma"),
            pytest.param("New York, New York and Duran Duran", id="names"),
            pytest.param("support for for-await loops", id="hyphen"),
            pytest.param('the typo "the the" was mended', id="quoted"),
            pytest.param("[the](a.md) the", id="link"),
            pytest.param("nous nous trompons", id="french"),
            pytest.param("der Hund, der der Katze folgt", id="german"),
            pytest.param("I get by by writing.", id="phrasal-verb"),
            pytest.param("what we hope for for as long as we can", id="hope-for"),
            pytest.param("AND and OR lists are pipelines.", id="first-is-a-name"),
            pytest.param("The command Move To to a note.", id="last-of-a-name"),
            pytest.param("they\nthey'd\nwe\nwe'd\n", id="a-list-of-words"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("repeated-words", text) == []
