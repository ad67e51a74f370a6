"""The cases of the starter set: each can be read, and a gate that has some has both kinds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from review.knowledge_base import Corpus
from review.vocabulary import Expectation
from tests.builders import make_config

ROOT = Path(__file__).resolve().parents[3]
CORPUS = Corpus(make_config(ROOT), use_cache=False)
GATES = [gate for gate in CORPUS.gates.gates if (ROOT / gate.path).with_suffix(".cases").exists()]


@pytest.mark.parametrize("gate", [pytest.param(gate, id=gate.gate_id) for gate in GATES])
class TestShipped:
    def test_are_readable_of_both_kinds_and_all_kept_or_all_drafts(self, gate):
        read = CORPUS.cases(gate)

        counts = Counter(case.expect for case in read.cases)
        assert read.problems == ()
        assert min(counts[kind] for kind in Expectation) >= 2
        assert len({case.is_draft for case in read.cases}) == 1

    def test_do_not_name_what_they_expect(self, gate):
        _lens, name = gate.gate_id.split("/")

        told = [case.name for case in CORPUS.cases(gate).cases if name in case.text]

        assert told == []


def test_each_gate_of_models_has_cases():
    without = [gate for gate in CORPUS.gates.gates if not gate.rule and gate not in GATES]

    assert [gate.gate_id for gate in without] == []


def test_ten_gates_of_models_have_four_of_each_kind():
    full = [
        gate.gate_id
        for gate in GATES
        if not gate.rule
        and min(Counter(case.expect for case in CORPUS.cases(gate).cases).values()) >= 4
    ]

    assert len(full) >= 10
