"""Pairs are packed into jobs the same way whatever order they come in."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.domain.grouping import group_targets, split_by_cost
from review.domain.paths import lens_of
from review.vocabulary import Grouping


@dataclass(frozen=True)
class Item:
    note_path: str
    gate_path: str

    @property
    def gate_id(self) -> str:
        return self.gate_path


ITEMS = [
    Item(note, gate) for note in ("n1", "n2", "n3") for gate in ("prose/a", "prose/b", "semantic/c")
]


def grouped(items, grouping, batch_size=8):
    return group_targets(items, grouping=grouping, batch_size=batch_size)


class TestGroupTargets:
    def test_by_note_makes_one_group_per_note_and_lens(self):
        groups = grouped(ITEMS, Grouping.NOTE, batch_size=None)

        assert [(group.items[0].note_path, group.lens, len(group.items)) for group in groups] == [
            ("n1", "prose", 2),
            ("n1", "semantic", 1),
            ("n2", "prose", 2),
            ("n2", "semantic", 1),
            ("n3", "prose", 2),
            ("n3", "semantic", 1),
        ]

    def test_by_gate_makes_batches_of_notes(self):
        groups = grouped(ITEMS, Grouping.GATE, batch_size=2)

        assert [
            (group.items[0].gate_path, [item.note_path for item in group.items]) for group in groups
        ] == [
            ("prose/a", ["n1", "n2"]),
            ("prose/a", ["n3"]),
            ("prose/b", ["n1", "n2"]),
            ("prose/b", ["n3"]),
            ("semantic/c", ["n1", "n2"]),
            ("semantic/c", ["n3"]),
        ]

    @pytest.mark.parametrize("grouping", Grouping)
    def test_the_order_of_the_input_does_not_matter(self, grouping):
        shuffled = ITEMS[1::2] + ITEMS[::-2]

        assert grouped(shuffled, grouping, 2) == grouped(ITEMS, grouping, 2)

    def test_nothing_makes_no_group(self):
        assert grouped([], Grouping.GATE) == []

    @given(
        st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from(["p/x", "p/y", "q/z"]))),
        st.integers(1, 4),
    )
    def test_every_item_is_in_exactly_one_group(self, keys, batch_size):
        items = [Item(*key) for key in keys]

        for grouping in Grouping:
            groups = grouped(items, grouping, batch_size)
            packed = [item for group in groups for item in group.items]
            assert sorted(packed, key=repr) == sorted(items, key=repr)
            assert all(
                len({lens_of(item.gate_id) for item in group.items}) == 1 for group in groups
            )


class TestSplitByCost:
    @pytest.mark.parametrize(
        ("items", "parts"),
        [
            pytest.param([], [], id="nothing"),
            pytest.param([3, 3, 3], [[3, 3], [3]], id="as-many-as-fit"),
            pytest.param([6], [[6]], id="exactly"),
            pytest.param([1, 9, 1], [[1], [9], [1]], id="too-large-stands-alone"),
        ],
    )
    def test_cuts_before_the_limit(self, items, parts):
        assert split_by_cost(items, cost=sum, limit=6) == parts
