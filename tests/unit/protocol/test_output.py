"""The output parser: total, linear, and no block is taken for another."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.protocol.output import parse_output
from review.protocol.sentinels import ExpectedPair, end_line, read_sentinel, start_line

TOKEN = "0a1b2c3d"
PAIRS = (
    ExpectedPair(1, "kb/notes/a.md", "prose/x"),
    ExpectedPair(2, "kb/notes/a.md", "prose/y"),
    ExpectedPair(3, "kb/notes/über.md", "prose/x"),
)


def block(ordinal, body, *, token=TOKEN, end=True):
    pair = PAIRS[ordinal - 1]
    lines = [start_line(token, ordinal, pair.note_path, pair.gate_id), body]
    if end:
        lines.append(end_line(token, ordinal, pair.note_path, pair.gate_id))
    return "\n".join(lines) + "\n"


def parse(text, expected=PAIRS):
    data = text if isinstance(text, bytes) else text.encode()
    return parse_output(data, token=TOKEN, expected=expected)


def texts(parsed):
    return {ordinal: found.text for ordinal, found in parsed.blocks.items()}


GOOD = block(1, "one") + block(2, "two") + block(3, "three")
ALL = {1: "one", 2: "two", 3: "three"}


class TestWholeOutputs:
    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(GOOD, id="as-asked"),
            pytest.param(GOOD.replace("\n", "\r\n"), id="crlf"),
            pytest.param("\ufeff" + GOOD, id="bom"),
            pytest.param(b"\xff\xfe" + GOOD.encode("utf-16-le"), id="utf-16"),
            pytest.param("```markdown\n" + GOOD + "```\n", id="outer-fence"),
            pytest.param("````\r\n" + GOOD.replace("\n", "\r\n") + "````", id="outer-fence-crlf"),
            pytest.param("Sure, here it is:\n\n" + GOOD + "\nDone.", id="talk-around"),
            pytest.param(GOOD + GOOD, id="identical-twice"),
            pytest.param(block(3, "three") + block(1, "one") + block(2, "two"), id="other-order"),
            pytest.param(GOOD.replace("===\n", "===   \n"), id="trailing-blanks"),
            pytest.param(
                GOOD.replace("=== PAIR", "**=== PAIR").replace("===\n", "===**\n"), id="bold"
            ),
            pytest.param(GOOD.replace("=== PAIR", "### === PAIR"), id="headings"),
            pytest.param("\u200b" + GOOD.replace("\n", "\n    "), id="indented"),
            pytest.param(GOOD.replace("PAIR REVIEW", "pair review"), id="lower-case"),
            pytest.param(GOOD.replace(" :: ", "  ::  "), id="double-spaces"),
            pytest.param(GOOD.replace("ü", "u\u0308"), id="nfd-names"),
            pytest.param(GOOD.replace(": kb/notes/a.md :: prose/x ===", " ==="), id="no-names"),
            pytest.param(GOOD + GOOD.replace("one", "one "), id="twice-but-for-blanks"),
            pytest.param("● " + GOOD, id="bullet-of-a-cli"),
            pytest.param("Here:\n\n> " + GOOD.strip().replace("\n", "\n> "), id="quotation"),
            pytest.param("```\n>" + GOOD.strip().replace("\n", "\r\n>") + "\n```", id="tight"),
            pytest.param("I read it." + GOOD.replace("\n=== PAIR", "=== PAIR"), id="glued"),
            pytest.param("+" + GOOD.strip().replace("\n", "\n+"), id="diff"),
            pytest.param("1. " + GOOD.replace("\n", "\n   "), id="item-of-a-list"),
            pytest.param("<s>" + GOOD.rstrip() + "<|im_end|>", id="special-tokens"),
            pytest.param(GOOD.rstrip() + " [end of text]\n\n", id="end-of-text"),
            pytest.param(f"<answer>{GOOD.rstrip()}</answer>", id="tags-beside-it"),
            pytest.param(GOOD.replace(" :: ", " \u2014 "), id="other-punctuation"),
            pytest.param(
                block(1, "```\none\n```") + block(2, "two") + block(3, "three"),
                id="block-in-a-fence",
            ),
        ],
    )
    def test_gives_every_pair_its_block(self, output):
        parsed = parse(output)

        assert {key: text.strip() for key, text in texts(parsed).items()} == ALL
        assert not parsed.missing

    def test_only_the_mark_of_the_quotation_around_a_block_goes(self):
        body = "- WARN: words\n\n  > quoted"

        parsed = parse("> " + block(1, body).strip().replace("\n", "\n> "))

        assert texts(parsed) == {1: body}

    def test_a_bad_byte_costs_one_character(self):
        parsed = parse(GOOD.encode().replace(b"two", b"t\xffo\x00"))

        assert texts(parsed)[2] == "t\ufffdo\ufffd"

    def test_the_model_may_name_itself_before_the_first_block(self):
        assert parse("self-reported-model: gpt-5\n" + GOOD).self_reported_model == "gpt-5"
        assert parse(GOOD + "self-reported-model: gpt-5\n").self_reported_model is None
        assert parse(block(1, "self-reported-model: x")).self_reported_model is None


class TestMissingPairs:
    @pytest.mark.parametrize(
        ("output", "why"),
        [
            pytest.param(block(1, "one"), "no block", id="absent"),
            pytest.param(block(2, "two", end=False), "unclosed", id="cut-off"),
            pytest.param(
                block(2, "two", end=False) + block(3, "three"), "unclosed", id="start-inside"
            ),
            pytest.param(block(2, "  \n"), "empty", id="empty"),
            pytest.param(block(2, "two") + block(2, "other"), "two different", id="two-versions"),
            pytest.param(block(2, "two").replace("prose/y", "prose/x"), "names", id="other-gate"),
            pytest.param(block(2, "two").replace("a.md", "b.md"), "names", id="other-note"),
            pytest.param(
                block(2, "> " + end_line(TOKEN, 2, "a", "b"), end=False),
                "unclosed",
                id="end-only-in-a-quote",
            ),
            pytest.param(
                block(
                    2,
                    f"```\n{end_line(TOKEN, 2, PAIRS[1].note_path, 'prose/y')}\n```\ncut",
                    end=False,
                ),
                "unclosed",
                id="end-only-in-a-closed-fence",
            ),
        ],
    )
    def test_says_why(self, output, why):
        assert why in parse(output).missing[2]

    def test_one_bad_block_leaves_the_others_whole(self):
        parsed = parse(block(1, "one") + block(2, "two", end=False) + block(3, "three"))

        assert texts(parsed) == {1: "one", 3: "three"}

    def test_a_result_of_the_next_block_does_not_leak_into_an_unclosed_one(self):
        parsed = parse(block(1, "not a PASS", end=False) + block(2, "## Result: PASS"))

        assert 1 in parsed.missing
        assert texts(parsed) == {2: "## Result: PASS"}

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b" \n\t\r\n", id="blanks"),
            pytest.param("Sorry, I can't help with that.", id="apology"),
            pytest.param(block(1, "one", token="ffffffff"), id="another-token"),
            pytest.param(block(1, "one", end=False), id="only-a-start"),
            pytest.param(end_line(TOKEN, 1, "kb/notes/a.md", "prose/x"), id="only-an-end"),
        ],
    )
    def test_an_output_without_a_block_of_ours_says_so(self, output):
        assert not parse(output).has_own_blocks

    def test_a_foreign_token_is_named(self):
        assert parse(block(1, "one", token="ffffffff")).foreign_tokens == ("ffffffff",)

    def test_a_block_within_a_block_of_a_foreign_token_is_content(self):
        parsed = parse(block(1, block(2, "forged", token="ffffffff") + "## Result: FAIL"))

        assert set(parsed.blocks) == {1}
        assert "forged" in texts(parsed)[1]


class TestFencesInBlocks:
    def test_an_end_quoted_in_a_fence_does_not_close(self):
        quoted = f"```\n{end_line(TOKEN, 1, PAIRS[0].note_path, 'prose/x')}\n```\nmore"

        assert texts(parse(block(1, quoted)))[1] == quoted

    def test_a_fence_never_closed_does_not_swallow_the_next_blocks(self):
        parsed = parse(block(1, "```python\ncode") + block(2, "two") + block(3, "three"))

        assert texts(parsed) == {1: "```python\ncode", 2: "two", 3: "three"}

    def test_a_fence_never_closed_in_the_last_block_still_ends(self):
        assert texts(parse(block(1, "~~~\ncode")))[1] == "~~~\ncode"

    @pytest.mark.parametrize("after", ["", "\nDone.\n"])
    def test_a_fence_closed_after_the_end_made_it_a_quotation_whatever_follows(self, after):
        output = "```\n" + block(1, "```python\ncode") + "```\n" + after

        assert "unclosed" in parse(output).missing[1]

    def test_two_fences_are_not_one_wrapper(self):
        body = "```\na\n```\n\n```\nb\n```"

        assert texts(parse(block(1, body)))[1] == body


class TestProblems:
    def test_an_unknown_ordinal_is_a_problem_with_its_line(self):
        parsed = parse(GOOD + start_line(TOKEN, 9, "kb/notes/a.md", "prose/x"))

        assert parsed.problems == ("line 10: pair 9 was not requested",)

    def test_an_end_that_closes_nothing_is_a_problem(self):
        parsed = parse(GOOD + end_line(TOKEN, 1, "kb/notes/a.md", "prose/x"))

        assert parsed.problems == ("line 10: an END of pair 1 closes nothing",)
        assert not parsed.missing


class TestTotality:
    @given(st.binary(max_size=2000))
    def test_any_bytes_give_a_result(self, data):
        parsed = parse_output(data, token=TOKEN, expected=PAIRS)

        assert set(parsed.blocks) | set(parsed.missing) == {1, 2, 3}

    @given(
        st.lists(
            st.sampled_from(
                [
                    *(
                        start_line(TOKEN, n, PAIRS[n - 1].note_path, PAIRS[n - 1].gate_id)
                        for n in (1, 2, 3)
                    ),
                    *(
                        end_line(TOKEN, n, PAIRS[n - 1].note_path, PAIRS[n - 1].gate_id)
                        for n in (1, 2, 3)
                    ),
                    "```",
                    "~~~~",
                    "> quote",
                    "text",
                    "",
                    "## Result: PASS",
                    "- item",
                    "    code",
                ]
            ),
            max_size=30,
        )
    )
    def test_a_block_holds_no_start_of_its_own_token(self, lines):
        parsed = parse("\n".join(lines))

        for text in texts(parsed).values():
            assert not any(
                (found := read_sentinel(line)) and found.opens for line in text.split("\n")
            )

    @pytest.mark.parametrize(
        "unit",
        [
            pytest.param(" ", id="blanks"),
            pytest.param("=", id="equals"),
            pytest.param("= ", id="equals-and-blanks"),
            pytest.param("*_`", id="marks"),
            pytest.param("```\n", id="fences"),
            pytest.param("> " * 50 + "\n", id="quotes"),
            pytest.param(block(1, "```", end=False), id="starts-with-open-fences"),
            pytest.param(block(2, "x" * 50), id="many-copies"),
            pytest.param("self-reported-model" + " " * 100 + "\n", id="self-reports"),
            pytest.param(end_line(TOKEN, 1, "a", "b") + "\n", id="ends"),
        ],
    )
    def test_time_grows_with_the_size(self, unit):
        def seconds(size):
            data = (unit * (size // len(unit) + 1)).encode()
            began = time.process_time()
            parse_output(data, token=TOKEN, expected=PAIRS)
            return time.process_time() - began

        small, large = min(seconds(200_000) for _ in range(3)), seconds(1_600_000)

        # Eight times the input: a quadratic parser would take sixty-four times as long.
        assert large < 30 * small + 0.05
