"""Frontmatter as people write it, and as nobody should."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.markdown.frontmatter import parse_frontmatter
from review.domain.markdown.yaml_mapping import MAX_CHARACTERS, MAX_DEPTH
from review.vocabulary import ProblemCode

BODY = "\n# Title\n\nText.\n"
YAMLISH = st.text(
    alphabet="---...+\"':[]{}&*!|>%@`#?,~ \t\r\n\ufeff\x00\ud800abc\u2028", max_size=120
)


def note(yaml: str, *, body: str = BODY) -> str:
    return f"---\n{yaml}\n---\n{body}"


def alias_bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for name, above in zip("bcdefghij", "abcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{above}'] * 9)}]")
    return "\n".join(lines)


class TestSplitting:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("---\ntitle: x\n---\nBody", id="plain"),
            pytest.param("\ufeff---\ntitle: x\n---\nBody", id="bom"),
            pytest.param("---\r\ntitle: x\r\n---\r\nBody", id="crlf"),
            pytest.param("\ufeff---\r\ntitle: x\r\n---\r\nBody", id="bom-and-crlf"),
            pytest.param("---\rtitle: x\r---\rBody", id="lone-carriage-returns"),
            pytest.param("---\ntitle: x\n...\nBody", id="closed-by-dots"),
            pytest.param("--- \t\ntitle: x\n---  \nBody", id="blanks-behind-the-markers"),
        ],
    )
    def test_reads_the_block_and_says_where_the_body_starts(self, text):
        frontmatter = parse_frontmatter(text)

        assert frontmatter.problem is None
        assert frontmatter.text("title") == "x"
        assert text[frontmatter.body_offset :] == "Body"

    def test_gives_the_yaml_as_written(self):
        assert parse_frontmatter("---\r\na:   1 # c\r\n---\r\nB").raw == "a:   1 # c\r\n"

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("# Title\n\nText", id="no-frontmatter"),
            pytest.param("++++\ntitle = 'x'\n++++\nBody", id="four-pluses"),
            pytest.param('{"a": 1} is an object.', id="json-in-a-sentence"),
            pytest.param("{{< figure >}}\n", id="a-shortcode"),
            pytest.param("{% raw %}\n", id="a-tag"),
            pytest.param('{"a": ' * 100_000, id="json-without-end"),
            pytest.param("\n---\ntitle: x\n---\n", id="not-on-the-first-line"),
            pytest.param(" ---\ntitle: x\n---\n", id="indented"),
            pytest.param("----\ntitle: x\n----\n", id="four-dashes"),
            pytest.param("--- # c\ntitle: x\n---\n", id="words-behind-the-dashes"),
            pytest.param("\ufeff", id="only-a-bom"),
            pytest.param("=== Title ===\n---\n", id="underlined-heading"),
        ],
    )
    def test_takes_any_other_start_as_body(self, text):
        frontmatter = parse_frontmatter(text)

        assert (frontmatter.fields, frontmatter.body_offset, frontmatter.problem) == ({}, 0, None)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("---\ntitle: x\n\n# Title\n", id="never-closed"),
            pytest.param("---", id="nothing-else"),
            pytest.param("+++\ntitle = 'x'\n\nBody", id="toml-never-closed"),
            pytest.param("---\ntitle: x\n --- \n ---\n", id="only-indented-closers"),
            pytest.param("---\ntitle: x\n---- \n--- no\n", id="no-line-is-a-closer"),
        ],
    )
    def test_names_an_opening_that_never_closes_and_keeps_all_as_body(self, text):
        frontmatter = parse_frontmatter(text)

        assert frontmatter.problem.code is ProblemCode.UNCLOSED_FRONTMATTER
        assert (frontmatter.fields, frontmatter.raw, frontmatter.body_offset) == ({}, "", 0)

    def test_takes_only_the_first_block(self):
        text = "---\nstatus: draft\n---\nBody\n\n---\nstatus: done\n---\nMore\n"

        frontmatter = parse_frontmatter(text)

        assert frontmatter.fields == {"status": "draft"}
        assert text[frontmatter.body_offset :] == "Body\n\n---\nstatus: done\n---\nMore\n"

    @pytest.mark.parametrize(
        "block", ["---\n---\n", "---\n\n---\n", "---\n# only a comment\n---\n"]
    )
    def test_an_empty_block_is_no_problem(self, block):
        frontmatter = parse_frontmatter(block + "Body")

        assert (frontmatter.fields, frontmatter.problem) == ({}, None)
        assert frontmatter.body_offset == len(block)


class TestValues:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            pytest.param("2026-05-24", "2026-05-24", id="date"),
            pytest.param("2024-12-19 10:00:00", "2024-12-19 10:00:00", id="time"),
            pytest.param("on", "on", id="on"),
            pytest.param("yes", "yes", id="yes"),
            pytest.param("0012", "0012", id="leading-zeros"),
            pytest.param("1.10", "1.10", id="version"),
            pytest.param("null", "null", id="null"),
            pytest.param("~", "~", id="tilde"),
            pytest.param("", "", id="nothing"),
            pytest.param("'it''s'", "it's", id="quoted"),
            pytest.param("!!int 3", "3", id="tagged"),
            pytest.param("!!python/object:os.system x", "x", id="hostile-tag"),
            pytest.param("|\n  a\n  b", "a\nb\n", id="block"),
            pytest.param("a\n  b", "a b", id="folded"),
            pytest.param("\U0001f600::caf\u00e9", "\U0001f600::caf\u00e9", id="emoji"),
        ],
    )
    def test_a_scalar_is_the_text_as_written(self, written, value):
        assert parse_frontmatter(note(f"key: {written}")).text("key") == value

    def test_reads_lists_and_mappings(self):
        frontmatter = parse_frontmatter(note("tags: [a, 1]\nmore:\n- b\n- {c: d}\nnested:\n  e: f"))

        assert frontmatter.fields == {
            "tags": ["a", "1"],
            "more": ["b", {"c": "d"}],
            "nested": {"e": "f"},
        }

    def test_an_alias_stands_for_its_anchor(self):
        frontmatter = parse_frontmatter(note("a: &x [1, 2]\nb: *x\nc: &y t\nd: *y"))

        assert frontmatter.fields == {"a": ["1", "2"], "b": ["1", "2"], "c": "t", "d": "t"}

    @pytest.mark.parametrize(
        ("yaml", "strings"),
        [
            pytest.param("traits: [a, b]", ("a", "b"), id="list"),
            pytest.param("traits: a", ("a",), id="single"),
            pytest.param("traits:", (), id="blank"),
            pytest.param("traits: []", (), id="empty-list"),
            pytest.param("traits: [{a: b}]", None, id="mapping-in-the-list"),
            pytest.param("traits: {a: b}", None, id="mapping"),
            pytest.param("other: x", None, id="absent"),
        ],
    )
    def test_gives_lists_of_text_and_nothing_else(self, yaml, strings):
        assert parse_frontmatter(note(yaml)).strings("traits") == strings

    def test_text_is_none_for_what_is_no_scalar(self):
        frontmatter = parse_frontmatter(note("a: [x]\nb: {c: d}"))

        assert (frontmatter.text("a"), frontmatter.text("b"), frontmatter.text("z")) == (
            None,
            None,
            None,
        )

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_knows_the_line_of_a_key(self, end):
        frontmatter = parse_frontmatter(end.join(["---", "a: 1", "b:", "- x", "c: 2", "---", ""]))

        assert [frontmatter.line_of(key) for key in ("a", "b", "c", "gone")] == [2, 3, 5, 1]


class TestProblems:
    @pytest.mark.parametrize(
        ("yaml", "line", "words"),
        [
            pytest.param("a: 1\ntitle: x: y", 3, "in quotes", id="unquoted-colon"),
            pytest.param("a: 1\n\ttitle: x", 3, "tab", id="tab-as-indent"),
            pytest.param(
                "title: {{ title }}", 2, "expected text as a key", id="template-placeholder"
            ),
            pytest.param("title: {% title %}", 2, "'%'; expected quotes", id="template-tag"),
            pytest.param("title: @x", 2, "'@'; expected quotes", id="at-sign"),
            pytest.param("a: 1\nb: 2\na: 3", 4, "'a' stands twice", id="key-twice"),
            pytest.param("a:\n  b: 1\n  b: 2", 4, "'b' stands twice", id="nested-key-twice"),
            pytest.param("- a\n- b", 2, "found a list", id="list"),
            pytest.param("[]", 2, "found a list", id="empty-list"),
            pytest.param("just words", 2, "found plain text", id="words"),
            pytest.param("? [a]\n: b", 2, "expected text as a key", id="list-as-key"),
            pytest.param("a: b\n--- c", 3, "another document", id="two-documents"),
            pytest.param("a: [b", 3, "closing", id="open-bracket"),
            pytest.param('a: "b', 3, "closing quote", id="open-quote"),
            pytest.param("a: 'it's'", 2, "expected `key: value`", id="quote-in-quotes"),
            pytest.param('a: "\\q"', 2, "known escape", id="unknown-escape"),
            pytest.param("a: *b", 2, "undefined alias", id="alias-of-nothing"),
            pytest.param("a: &x [*x]", 2, "nested deeper", id="alias-of-itself"),
            pytest.param("a: 1\nb: \x07", 3, "printable", id="control-character"),
            pytest.param("a: 1\nb: \udcff", 3, "printable", id="lone-surrogate"),
            pytest.param("%YAML 9.0", 2, "expected", id="directive"),
        ],
    )
    def test_names_the_line_and_what_was_expected(self, yaml, line, words):
        text = note(yaml)

        frontmatter = parse_frontmatter(text)

        assert frontmatter.problem.code is ProblemCode.INVALID_FRONTMATTER
        assert frontmatter.problem.line == line
        assert words in frontmatter.problem.message
        assert frontmatter.problem.message.isprintable()
        assert frontmatter.fields == {}
        assert text[frontmatter.body_offset :] == BODY

    def test_counts_lines_of_any_ending(self):
        assert parse_frontmatter("---\ra: 1\r\nb: 2\nc: [\r---\r").problem.line == 5

    @pytest.mark.parametrize(
        "yaml",
        [
            pytest.param(alias_bomb(), id="alias-bomb"),
            pytest.param(f"a: &a {'x' * 200_000}\nb: [{'*a, ' * 20}]", id="long-text-by-alias"),
            pytest.param("a: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), id="deep-lists"),
            pytest.param("a: " + "[" * 100_000, id="very-deep-lists"),
            pytest.param("a: " + "{b: " * 60 + "}" * 60, id="deep-mappings"),
            pytest.param("- " * 100_000, id="deep-block-lists"),
            pytest.param("a: [" + "x, " * 50_000 + "]", id="many-values"),
            pytest.param("a: " + "x" * MAX_CHARACTERS, id="large"),
        ],
    )
    def test_refuses_what_would_grow_without_bound(self, yaml):
        started = time.process_time()

        frontmatter = parse_frontmatter(note(yaml))

        assert frontmatter.problem.code is ProblemCode.INVALID_FRONTMATTER
        assert time.process_time() - started < 10

    def test_makes_a_problem_of_a_file(self):
        problem = parse_frontmatter(note("a: 1\na: 2")).problem.of("kb/notes/a.md")

        assert (problem.path, problem.line, problem.skipped) == ("kb/notes/a.md", 3, False)
        assert problem.message.startswith("line 3: the key 'a'")


class TestTomlAndJson:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("+++\ntitle = 'x'\nyear = 1.50\non = true\n+++\nBody", id="toml"),
            pytest.param(
                "\ufeff+++ \r\ntitle = 'x'\r\nyear = 1.50\r\non = true\r\n+++\r\nBody",
                id="toml-of-windows",
            ),
            pytest.param('{\n"title": "x", "year": 1.50,\n"on": true\n}\nBody', id="json"),
            pytest.param('{"title": "x", "year": 1.50, "on": true}\r\nBody', id="json-in-a-line"),
        ],
    )
    def test_are_read_with_their_values_as_text(self, text):
        frontmatter = parse_frontmatter(text)

        assert frontmatter.fields == {"title": "x", "year": "1.50", "on": "true"}
        assert frontmatter.problem is None
        assert text[frontmatter.body_offset :] == "Body"

    def test_nested_values_and_dates_are_text_too(self):
        text = "+++\ndate = 2024-01-02\ntags = ['a', 1]\n[extra]\ntitle = 'inner'\n+++\n"

        assert parse_frontmatter(text).fields == {
            "date": "2024-01-02",
            "tags": ["a", "1"],
            "extra": {"title": "inner"},
        }

    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            pytest.param("+++\na = 1\n[c]\nd = 2\n[[e.f]]\n+++\n", {"a": 2, "c": 3, "e": 5}, id="toml"),
            pytest.param(
                '{\n  "x": {\n    "a": 1\n  },\n  "a": 2\n}\n', {"x": 2, "a": 5, "gone": 1}, id="json"
            ),
        ],
    )  # fmt: skip
    def test_know_the_lines_of_their_keys(self, text, lines):
        frontmatter = parse_frontmatter(text)

        assert {key: frontmatter.line_of(key) for key in lines} == lines

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            pytest.param("+++\na = 1\nb = x\n+++\nBody", 3, "TOML: Invalid value", id="toml-value"),
            pytest.param("+++\na = [1\n+++\nBody", 2, "TOML: Unclosed", id="toml-open-bracket"),
            pytest.param("+++\na = " + "9" * 5_000 + "\n+++\nBody", 2, "TOML", id="endless-number"),
            pytest.param('{\n"a": 1,\n}\nBody', 3, "JSON: Expecting", id="json-comma"),
            pytest.param('{\n"a": "\\ud800"\n}\nBody', 3, "JSON", id="json-half-a-pair"),
            pytest.param('{"a": ' + "[" * 60 + "]" * 60 + "}\nBody", 1, "deeply", id="deep-json"),
        ],
    )  # fmt: skip
    def test_that_are_broken_are_named_with_their_line_and_are_no_body(self, text, line, words):
        frontmatter = parse_frontmatter(text)

        assert (frontmatter.problem.line, frontmatter.fields) == (line, {})
        assert words in frontmatter.problem.message
        assert text[frontmatter.body_offset :] == "Body"

    def test_take_no_longer_than_people_wait(self):
        started = time.process_time()

        parse_frontmatter("+++\n[" + ".".join(["a"] * (MAX_CHARACTERS // 2 - 9)) + "]\n+++\n")

        assert time.process_time() - started < 10


class TestTotality:
    @settings(deadline=None, max_examples=300)
    @given(YAMLISH, YAMLISH, st.sampled_from(["", "\ufeff"]), st.sampled_from(["---", "...", ""]))
    def test_any_text_gives_a_value(self, yaml, body, bom, closer):
        text = f"{bom}---\n{yaml}\n{closer}\n{body}"

        frontmatter = parse_frontmatter(text)

        assert 0 <= frontmatter.body_offset <= len(text)
        assert frontmatter.raw in text[: frontmatter.body_offset]
        assert frontmatter.problem is None or (
            frontmatter.fields == {}
            and 1 <= frontmatter.problem.line <= text.count("\n") + text.count("\r") + 1
        )

    @settings(deadline=None)
    @given(
        st.dictionaries(st.text("abcdef", min_size=1), st.text("xyz 019.", max_size=9), max_size=5)
    )
    def test_quoted_text_comes_back(self, fields):
        yaml = "\n".join(f"{key}: '{value}'" for key, value in fields.items())

        assert parse_frontmatter(note(yaml)).fields == fields
