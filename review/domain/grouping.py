"""Packs pairs into jobs: one job per note and lens, or per gate and batch of notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from review.domain.paths import lens_of
from review.vocabulary import Grouping

DEFAULT_BATCH_SIZE = 8


class Target(Protocol):
    @property
    def note_path(self) -> str: ...

    @property
    def gate_path(self) -> str: ...

    @property
    def gate_id(self) -> str: ...


T = TypeVar("T")
T_target = TypeVar("T_target", bound=Target)


@dataclass(frozen=True, slots=True)
class Group(Generic[T]):
    """The items of one job, sorted by (note_path, gate_path)."""

    grouping: Grouping
    lens: str
    items: tuple[T, ...]


def group_targets(
    items: Iterable[T_target],
    *,
    grouping: Grouping,
    batch_size: int | None = None,
    across_lenses: bool = False,
) -> list[Group[T_target]]:
    """Pack items: by note and lens, or by gate and first note; the order of `items` is no matter.

    :param batch_size: items of a group; None is `DEFAULT_BATCH_SIZE` by gate, and all by note.
    """
    by_note = grouping is Grouping.NOTE
    packed: dict[tuple[str, str], list[T_target]] = {}
    ordered = sorted(items, key=lambda item: (item.note_path, item.gate_path))
    for item in ordered:
        name = item.note_path if by_note else item.gate_path
        lens = "" if across_lenses else lens_of(item.gate_id)
        packed.setdefault((name, lens), []).append(item)
    size = batch_size or (len(ordered) if by_note else DEFAULT_BATCH_SIZE)
    return [
        Group(grouping, key[1], tuple(packed[key][start : start + size]))
        for key in sorted(packed)
        for start in range(0, len(packed[key]), size)
    ]


def split_by_cost(
    items: Sequence[T], *, cost: Callable[[Sequence[T]], int], limit: int
) -> list[list[T]]:
    """Cut a sequence into runs of at most `limit`, for an item that costs more one of its own."""
    parts: list[list[T]] = []
    for item in items:
        if parts and cost([*parts[-1], item]) <= limit:
            parts[-1].append(item)
        else:
            parts.append([item])
    return parts
