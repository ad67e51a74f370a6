"""Decisions, flips and agreement as the database counts them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.calibration.labels import read_decisions
from review.domain.statistics import Agreement, Proportion
from review.models import KbPath
from tests.builders import NOW, PASS, make_gate, make_root
from tests.helpers.reviewed import FAIL, WARN, review_pairs

pytestmark = pytest.mark.django_db


def test_are_counted_by_gate_text_and_partition(tmp_path):
    gates = {gate: make_gate(gate) for gate in ("prose/x", "prose/y")}
    root = make_root(
        tmp_path, notes={name: f"# {name}\n" for name in ("a.md", "b.md", "c.md")}, gates=gates
    )
    for number, reviews in enumerate(((WARN, PASS, PASS), (PASS, FAIL, PASS), (WARN, WARN, FAIL))):
        for name, review in zip(("a.md", "b.md", "c.md"), reviews, strict=True):
            partition = ("first", "second", "first")[number]
            now = NOW + number * timedelta(hours=1)
            review_pairs(root, (name, "prose/x"), review=review, now=now, model_partition=partition)
    review_pairs(root, ("a.md", "prose/y"), model_partition="second")

    found = read_decisions(KbPath.objects.ids(["kb/instructions/review-gates/prose/x.md"]).values())
    first, second = sorted(found.counts)

    assert found.counts[first] == {"pass": 2, "warn": 3, "fail": 1}
    assert found.counts[second] == {"pass": 2, "warn": 0, "fail": 1}
    assert found.flips == {first: Proportion(2, 3), second: Proportion(0, 0)}
    assert list(found.tables.values()) == [Agreement(both=1, first=2, second=0, neither=0)]
