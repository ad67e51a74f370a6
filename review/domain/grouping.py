"""Packs pairs into jobs: one job per note and lens, or per gate and batch of notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from review.vocabulary import Grouping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group(Generic[T]):
    """The items of one job, sorted by (note_path, gate_path)."""

    grouping: Grouping
    lens: str
    items: tuple[T, ...]


def group_targets(
    items: Iterable[T],
    *,
    grouping: Grouping,
    batch_size: int | None,
    note_of: Callable[[T], str],
    gate_of: Callable[[T], str],
    lens_of: Callable[[T], str],
) -> list[Group[T]]:
    """Pack items; the same set in any order gives the same groups.

    Groups are sorted by note and lens, or by gate and first note.

    :param batch_size: items of a group; None is all.
    """
    by_note = grouping is Grouping.NOTE
    packed: dict[tuple[str, str], list[T]] = {}
    ordered = sorted(items, key=lambda item: (note_of(item), gate_of(item)))
    for item in ordered:
        name = note_of(item) if by_note else gate_of(item)
        packed.setdefault((name, lens_of(item)), []).append(item)
    size = batch_size or len(ordered)
    return [
        Group(grouping, key[1], tuple(packed[key][start : start + size]))
        for key in sorted(packed)
        for start in range(0, len(packed[key]), size)
    ]


def split_by_cost(
    items: Sequence[T], *, cost: Callable[[Sequence[T]], int], limit: int
) -> list[list[T]]:
    """Cut a sequence into runs that each cost at most `limit`, as few as going in order allows.

    An item that costs more than `limit` gets a run of its own, for the caller to refuse. `cost` never
    falls when an item is added.
    """
    parts: list[list[T]] = []
    for item in items:
        if parts and cost([*parts[-1], item]) <= limit:
            parts[-1].append(item)
        else:
            parts.append([item])
    return parts
