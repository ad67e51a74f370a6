"""Rules on title and description."""

from __future__ import annotations

import pytest

from review.vocabulary import Decision, Severity
from tests.unit.runners.rules.judged import lines_of, review_of


def matter(yaml: str, body: str = "# Retry policy of the mail worker\n") -> str:
    return f"---\n{yaml}\n---\n{body}"


class TestReadableFrontmatter:
    def test_fails_a_block_that_is_never_closed(self):
        review = review_of("readable-frontmatter", "---\ntitle: x\n\nBody.\n")

        assert review.decision is Decision.FAIL
        assert review.findings[0].line == 1

    def test_fails_yaml_that_cannot_be_read_and_quotes_its_line(self):
        review = review_of("readable-frontmatter", "---\ntitle: a\ndescription: b: c\n---\nBody.\n")

        assert review.decision is Decision.FAIL
        assert (review.findings[0].line, review.findings[0].quote) == (3, "description: b: c")

    def test_fails_toml_that_cannot_be_read(self):
        review = review_of("readable-frontmatter", "+++\ntitle = 'x\n+++\nBody\n")

        assert review.decision is Decision.FAIL
        assert review.findings[0].line == 2

    def test_only_remarks_where_a_template_is_to_be_filled_in(self):
        review = review_of("readable-frontmatter", matter('week: "[[<% date("W") %>]]"'))

        assert [found.severity for found in review.findings] == [Severity.INFO]

    def test_only_remarks_in_logseq_which_reads_no_yaml(self):
        review = review_of("readable-frontmatter", matter("title: C++: pair"), flavour="logseq")

        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("Body only.\n", id="no-frontmatter"),
            pytest.param("---\ntitle: x\n...\nBody\n", id="closed-by-dots"),
            pytest.param("+++\ntitle = 'x'\n+++\nBody\n", id="toml"),
            pytest.param("\ufeff---\r\ntitle: x\r\n---\r\nBody\r\n", id="bom-and-crlf"),
            pytest.param("Text.\n\n---\n\nstatus: done\n\n---\n\nMore.\n", id="rules-in-the-body"),
        ],
    )
    def test_passes(self, text):
        assert review_of("readable-frontmatter", text).decision is Decision.PASS


class TestMissingTitle:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("```\n# comment\n```\n\n## B\n", id="only-a-comment-in-code"),
            pytest.param("#tag is no heading\n", id="tag"),
            pytest.param("# ---\n", id="no-word-in-it"),
        ],
    )
    def test_remarks(self, text):
        review = review_of("missing-title", text)

        assert [found.severity for found in review.findings] == [Severity.INFO]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# Title\n", id="heading"),
            pytest.param("Title\n=====\n", id="underlined"),
            pytest.param("---\ntitle: 2024-12-19\n---\n", id="frontmatter-date"),
            pytest.param("<!--\n---\ntitle: A\n---\n-->\nText.\n\n## B\n", id="in-a-comment"),
            pytest.param("# 索引の再構築\n", id="japanese"),
            pytest.param("+++\ntitle = 'A'\n+++\nText.\n\n## B\n", id="toml"),
            pytest.param("---\ntitle: A: b: c\n---\nText.\n\n## B\n", id="unreadable"),
            pytest.param("---\nTitle: A\n---\nText.\n\n## B\n", id="in-capitals"),
            pytest.param("% A\n\nText.\n\n## B\n", id="of-pandoc"),
        ],
    )
    def test_passes(self, text):
        assert lines_of("missing-title", text) == []


class TestTitleMatchesH1:
    def test_warns_where_they_differ_and_gives_the_heading_line(self):
        text = matter("title: Choosing a queue", "\n# Why we wrote our own\n")

        assert lines_of("title-matches-h1", text) == [5]

    @pytest.mark.parametrize(
        ("title", "heading"),
        [
            pytest.param("Use SQLite", "Use SQLite", id="same"),
            pytest.param("use sqlite", "Use `SQLite`!", id="case-and-markup"),
            pytest.param("Use SQLite", "ADR 12: Use SQLite", id="heading-adds-a-number"),
            pytest.param("Use SQLite: one file", "Use SQLite", id="title-adds-a-subtitle"),
            pytest.param("Cafe\u0301 rules", "Caf\u00e9 rules", id="normalisation"),
            pytest.param("Store-format", "Store format", id="hyphen"),
            pytest.param("索引", "索引の再構築", id="part-without-blanks"),
            pytest.param("A queue", "Why\n\n# How", id="one-of-several"),
        ],
    )
    def test_passes_where_they_say_the_same(self, title, heading):
        text = matter(f"title: '{title}'", f"# {heading}\n")

        assert review_of("title-matches-h1", text).decision is Decision.PASS

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# Only a heading\n", id="no-frontmatter-title"),
            pytest.param("---\ntitle: Only a title\n---\nText.\n", id="no-heading"),
            pytest.param("---\ntitle: [a, b]\n---\n# Heading\n", id="title-is-a-list"),
        ],
    )
    def test_has_nothing_to_say_where_one_is_missing(self, text):
        assert review_of("title-matches-h1", text).decision is Decision.PASS


class TestNonDescriptiveTitle:
    @pytest.mark.parametrize(
        "title", ["Untitled", "notes", "New Note", "2024-12-19", "draft.md", "Misc."]
    )
    def test_warns(self, title):
        assert lines_of("non-descriptive-title", f"# {title}\n") == [1]

    def test_accepts_a_date_in_a_journal(self):
        text = "# 2024-12-19\n"

        assert lines_of("non-descriptive-title", text, path="kb/journal/2024-12-19.md") == []

    def test_accepts_a_name_that_ends_as_files_do(self):
        assert (
            lines_of("non-descriptive-title", "# Relay.md\n", path="kb/plugins/relay-md.md") == []
        )
        assert lines_of("non-descriptive-title", "# README.md\n", path="kb/README.md") == [1]

    @pytest.mark.parametrize(
        "title", ["Notes on locking", "Summary of the March review", "メモ", "{{title}}"]
    )
    def test_accepts_titles_that_say_something(self, title):
        assert lines_of("non-descriptive-title", f"# {title}\n") == []


class TestMissingDescription:
    @pytest.mark.parametrize(
        ("yaml", "line"),
        [
            pytest.param("title: x", 0, id="absent"),
            pytest.param("title: x\ndescription:", 3, id="empty"),
            pytest.param("description: '  '", 2, id="blank"),
            pytest.param("description: [a, b]", 2, id="list"),
        ],
    )
    def test_remarks(self, yaml, line):
        review = review_of("missing-description", matter(yaml))

        assert [(found.line, found.severity) for found in review.findings] == [
            (line, Severity.INFO)
        ]

    def test_passes(self):
        assert lines_of("missing-description", matter("description: Anything.")) == []
        assert lines_of("missing-description", matter("desc: Anything."), flavour="dendron") == []


class TestDescriptionLength:
    @pytest.mark.parametrize("description", ["A long story of many words. " * 20, "Index gaps"])
    def test_remarks_on_too_many_characters_and_too_few_words(self, description):
        review = review_of("description-length", matter(f"title: x\ndescription: {description}"))

        assert [(found.line, found.severity) for found in review.findings] == [(3, Severity.INFO)]

    @pytest.mark.parametrize(
        "yaml",
        [
            pytest.param("title: x", id="absent"),
            pytest.param("description: Why lookups slow down.", id="four-words"),
            pytest.param("description: 毎晩索引を作り直す理由を説明する", id="japanese"),
        ],
    )
    def test_passes(self, yaml):
        assert review_of("description-length", matter(yaml)).decision is Decision.PASS


class TestDescriptionRepeatsTitle:
    @pytest.mark.parametrize(
        "description",
        [
            "Retry policy of the mail worker",
            "This note describes the mail worker and its retry policy.",
            "An overview of our retry policy for the mail worker.",
        ],
    )
    def test_warns(self, description):
        assert lines_of("description-repeats-title", matter(f"description: {description}")) == [2]

    @pytest.mark.parametrize(
        "description",
        [
            "Waits double up to a minute; after six attempts the operator gets the letter.",
            "Why the mail worker doubles its waits.",
            "Exponential backoff",
        ],
    )
    def test_passes_what_adds_something(self, description):
        assert lines_of("description-repeats-title", matter(f"description: {description}")) == []

    def test_compares_whole_texts_in_other_scripts(self):
        same = matter("description: 再試行の方針", "# 再試行の方針\n")
        more = matter("description: 再試行の方針と待ち時間", "# 再試行の方針\n")

        assert lines_of("description-repeats-title", same) == [2]
        assert lines_of("description-repeats-title", more) == []


class TestUnreadableFrontmatter:
    @pytest.mark.parametrize(
        "rule",
        [
            "title-matches-h1",
            "missing-description",
            "description-length",
            "description-repeats-title",
        ],
    )
    def test_is_an_error_for_rules_that_need_it_and_never_a_pass(self, rule):
        review = review_of(rule, "---\ndescription: a: b\n---\n# Title\n")

        assert review.decision is Decision.ERROR
        assert review.findings == ()
