"""Every kept input, and some that resemble it, through the readers of what others write."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest

from review.protocol.decision import read_decision
from review.protocol.findings import read_findings
from review.protocol.output import parse_output
from tests.fuzz import rules
from tests.fuzz.mutating import mutants
from tests.fuzz.targets import TARGETS, seeds

KEPT = [pytest.param(name, seed, id=f"{name}-{seed.name}") for name in TARGETS for seed in seeds(name)]  # fmt: skip
MUTANTS = 15


class TestKeptInputs:
    @pytest.mark.parametrize(("name", "seed"), KEPT)
    def test_and_their_like_break_no_rule(self, name, seed):
        data = seed.read_bytes()
        others = [other.read_bytes() for other in seeds(name)]
        chance = random.Random(f"{name}/{seed.name}")  # noqa: S311 - the same inputs each time

        TARGETS[name](data)
        for changed in mutants(data, count=MUTANTS, chance=chance, others=others):
            try:
                TARGETS[name](changed)
            except Exception as error:
                error.add_note(f"input: {changed!r}")
                raise


UNITS = [
    "a word ", "PASS ", "PASS\n", "## Result: PASS\n", "- WARN: x\n  > quote\n", "> ", "```\n",
    "<!-- ", "<!-- -->\n", "Verdict: ", "not a fail, ", "no warn or fail, ", "~~PASS~~ ", "*_", "|",
    "\t", "1. ", "(", "5/6 ", "not ", "none of the ", "\u0410", "- \n", "#", "Example:\n\n",
    "-->\n", "<!--\n-->\n", "x <!-- y\n", "here is a ", "If it would, ", "> === PAIR REVIEW START 0a1b2c3d/2: x\n",
    "pair review start 0a1b2c3d/2 ", "pair ", f"{rules.block(rules.PAIRS[1], 'y')}These are examples.\n",
]  # fmt: skip
READERS: dict[str, Callable[[str], object]] = {
    "decision": read_decision,
    "findings": read_findings,
    "output": lambda text: parse_output(
        rules.block(rules.PAIRS[0], text).encode(), token=rules.TOKEN, expected=rules.PAIRS
    ),
    "around": lambda text: parse_output(
        (text + rules.block(rules.PAIRS[0], "x")).encode(),
        token=rules.TOKEN,
        expected=rules.PAIRS,
    ),
}


def steps_of(reader: Callable[[str], object], text: str) -> int:
    """How many calls a reader makes: what a busy machine cannot stretch."""
    count = 0

    def counting(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        reader(text)
    finally:
        sys.setprofile(None)
    return count


class TestSteps:
    @pytest.mark.parametrize("reader", READERS)
    @pytest.mark.parametrize("unit", UNITS)
    def test_grow_with_the_text_and_no_faster(self, reader, unit):
        """Four times the text may take four times the calls, and a few more to begin with."""
        small = steps_of(READERS[reader], unit * 400)
        large = steps_of(READERS[reader], unit * 1_600)

        assert large <= 5 * small + 200
