"""What reviewers wrote, in bulk."""

from __future__ import annotations

from collections.abc import Iterable

from review.models import NamedKeys, ReviewText, batched

_AT_ONCE = 5000


def rationales(pair_ids: Iterable[int]) -> dict[int, str]:
    """The texts of reviews, by pair."""
    found: dict[int, str] = {}
    for chunk in batched(pair_ids, _AT_ONCE):
        rows = ReviewText.objects.filter(pair_id__in=NamedKeys(chunk))
        found.update(rows.values_list("pair_id", "text"))
    return found
