"""Compares the pairs a job asked for with the ones that came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def missing_ordinals(requested: Iterable[int], received: Iterable[int]) -> tuple[int, ...]:
    """Give the requested ordinals nothing came back for, in growing order; others are ignored."""
    return tuple(sorted(set(requested).difference(received)))
