"""The lines that say what became of findings: all are read, or none."""

from __future__ import annotations

import pytest

from review.protocol.fix_answers import FixAnswer, NotAnAnswer, read_fix_answers

ONE, TWO = "3f2a9c1b7d5e8046", "52d07c9e1fa4b38c"


def test_reads_what_the_prompt_asks_for_and_its_usual_variants():
    text = f"{ONE}: fixed: the phrase: gone\n\n- `{TWO.upper()}`: **Rejected**\n"

    assert read_fix_answers(text, source="it") == [
        FixAnswer(ONE, "fixed", "the phrase: gone"),
        FixAnswer(TWO, "rejected", ""),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(f"{ONE}: fixed: ok\nDone!", "it, line 2: 'Done!'", id="chatter"),
        pytest.param(f"{ONE}: mended: ok", "it, line 1", id="another state"),
        pytest.param(f"{ONE[:-1]}: fixed: ok", "it, line 1", id="short fingerprint"),
        pytest.param(f"{ONE}: fixed: a\n{ONE}: rejected: b", "line 2: 3f2a", id="twice"),
        pytest.param(" \n", "it: empty", id="nothing"),
    ],
)
def test_names_the_line_that_is_none(text, said):
    with pytest.raises(NotAnAnswer, match=said):
        read_fix_answers(text, source="it")
