"""What an output says that comes close to a block: the parser names the line, and takes nothing."""

from __future__ import annotations

import pytest

from review.protocol.output import parse_output
from review.protocol.sentinels import ExpectedPair, end_line, start_line

TOKEN = "0a1b2c3d"
DASHED = "kb/notes/-dash_x.md"
PAIRS = (ExpectedPair(1, DASHED, "prose/x"), ExpectedPair(2, "b.md", "prose/y"))
START, END = start_line(TOKEN, 1, DASHED, "prose/x"), end_line(TOKEN, 1, DASHED, "prose/x")
BODY = "Fine.\n\n## Result: PASS"
BLOCK = f"{START}\n{BODY}\n{END}\n"


def parse(text: str):
    return parse_output(text.encode(), token=TOKEN, expected=PAIRS)


class TestOutputsWithoutABlock:
    @pytest.mark.parametrize(
        ("output", "why"),
        [
            pytest.param(
                f"Hello.\n\n{START}\n{BODY}\n",
                "the START of pair 1 on line 3 is never closed",
                id="cut-off",
            ),
            pytest.param(
                f"{START}\n{BODY}\n> {END}\n",
                "line 5 looks like the END of pair 1, but '>' stands ahead of ===; the START of pair 1"
                " on line 1 is never closed",
                id="end-in-a-quotation",
            ),
            pytest.param(
                f"> {BLOCK}",
                "line 1 looks like the START of pair 1, but '>' stands ahead of ===",
                id="quotation",
            ),
            pytest.param(f"{'x' * 90} {BLOCK}", f"'{'x' * 20}…' stands ahead", id="long-words"),
            pytest.param(
                BLOCK.replace(" ===\n", "\n"), "but it does not end with ===", id="no-end-mark"
            ),
            pytest.param(
                BLOCK.replace("=== PAIR", "PAIR"), "but it does not begin with ===", id="no-mark"
            ),
            pytest.param(
                BLOCK.replace("\n", "\r"),
                "the lines end with a carriage return alone",
                id="carriage-returns",
            ),
            pytest.param(
                '{"answer": "' + BLOCK.replace("\n", "\\n") + '"}',
                "the ends of lines are escaped as in JSON",
                id="json",
            ),
            pytest.param(
                start_line(TOKEN, "<n>", "<note>", "<gate>"),
                "line 1 looks like the START, but it is the template of the prompt",
                id="template",
            ),
        ],
    )
    def test_name_the_line_and_what_is_wrong_with_it(self, output, why):
        parsed = parse(output)

        assert not parsed.has_own_blocks
        assert why in "; ".join(parsed.misfits)

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param("", id="nothing"),
            pytest.param("I cannot help with that.\n", id="apology"),
            pytest.param(f"PAIR REVIEW: {TOKEN}/1\n", id="token-alone"),
            pytest.param(f"> {BLOCK}".replace(TOKEN, "ffffffff"), id="another-token"),
        ],
    )
    def test_that_come_close_to_nothing_name_none(self, output):
        assert parse(output).misfits == ()

    def test_name_a_few_lines_only(self):
        assert len(parse(f"x {START}\n" * 400).misfits) == 4


class TestPairsThatAreMissing:
    def test_say_which_line_looks_like_theirs(self):
        parsed = parse(f"{BLOCK}\n> {start_line(TOKEN, 2, 'b.md', 'prose/y')}\n")

        assert parsed.missing == {
            2: "no block for this pair; line 7 looks like the START of pair 2,"
            " but '>' stands ahead of ==="
        }

    def test_say_where_the_block_began_that_has_no_end(self):
        second = start_line(TOKEN, 2, "b.md", "prose/y")

        parsed = parse(f"{START}\n{BODY}\n{second}\n{BODY}\n")

        assert parsed.missing == {
            1: "unclosed: its START on line 1 has no END before the START of pair 2 on line 5",
            2: "unclosed: its START on line 5 has no END",
        }


class TestEscapedNames:
    @pytest.mark.parametrize(
        "names",
        [
            pytest.param(r"kb/notes/\-dash\_x.md :: prose/x", id="some"),
            pytest.param(r"kb\/notes\/\-dash\_x\.md \:\: prose\/x", id="all"),
        ],
    )
    def test_are_those_of_the_pair(self, names):
        output = BLOCK.replace(f"{DASHED} :: prose/x", names)

        assert set(parse(output).blocks) == {1}

    def test_of_another_pair_are_not(self):
        parsed = parse(BLOCK.replace(f"{DASHED} :: prose/x", r"b\.md :: prose\/y"))

        assert "its sentinel names" in parsed.missing[1]

    def test_that_another_pair_bears_to_the_letter_are_that_pairs(self):
        pairs = (ExpectedPair(1, "a_b.md", "x/y"), ExpectedPair(2, r"a\_b.md", "x/y"))
        output = start_line(TOKEN, 1, r"a\_b.md", "x/y") + "\nText\n" + END

        parsed = parse_output(output.encode(), token=TOKEN, expected=pairs)

        assert not parsed.blocks
