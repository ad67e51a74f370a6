"""Texts from the store: of notes and gates when they were read, and of the reviews themselves."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from review.errors import InputRejected
from review.models import FileSnapshot, NamedKeys, ReviewPair, ReviewText, batched


class NoSuchText(InputRejected):
    """The store keeps no such text."""


class ReviewPart(StrEnum):
    REVIEW = "review"
    NOTE = "note"
    GATE = "gate"


def text_of_review(pair_id: int, part: ReviewPart) -> str:
    """Return the text of a review, or the exact note or gate that it judged."""
    column = "review_text" if part is ReviewPart.REVIEW else f"{part.value}_snapshot"
    pairs = ReviewPair.objects.filter(pk=pair_id).values_list(f"{column}__text", flat=True)
    text: str | None = pairs.first()
    if text is None:
        lacks = "no review pair {} in this store" if not pairs else "review pair {} has no review"
        raise NoSuchText(lacks.format(pair_id))
    return text


def snapshot_text(snapshot_id: int) -> str:
    text = FileSnapshot.objects.filter(pk=snapshot_id).values_list("text", flat=True).first()
    if text is None:
        raise NoSuchText(f"no text {snapshot_id} in this store")
    return text


def rationales(pair_ids: Iterable[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in batched(pair_ids, 5000):
        rows = ReviewText.objects.filter(pair_id__in=NamedKeys(chunk))
        found.update(rows.values_list("pair_id", "text"))
    return found
