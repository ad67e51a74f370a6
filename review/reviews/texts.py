"""Texts from the store: of notes and gates when they were read, and of the reviews themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from review.errors import InputRejected
from review.models import FileSnapshot, NamedKeys, ReviewPair, ReviewText, batched

_AT_ONCE = 5000


class NoSuchText(InputRejected):
    """The store keeps no such text."""


class ReviewPart(StrEnum):
    """The texts of one review."""

    REVIEW = "review"
    NOTE = "note"
    GATE = "gate"


@dataclass(frozen=True)
class StoredText:
    """A text, byte for byte; `path` is the file it was read from, "" for a review's."""

    text: str
    path: str = ""
    sha256: str = ""
    snapshot_id: int | None = None
    captured_at: datetime | None = None


def text_of_review(pair_id: int, part: ReviewPart) -> StoredText:
    """Return the text of a review, or the exact note or gate that it judged.

    :raises NoSuchText: there is no such review, or it is not completed.
    """
    pairs = ReviewPair.objects.filter(pk=pair_id)
    if part is ReviewPart.REVIEW:
        text = pairs.values_list("review_text__text", flat=True).first()
        if text is None:
            raise NoSuchText(f"review pair {pair_id} has no review")
        return StoredText(text)
    key = pairs.values_list(f"{part.value}_snapshot_id", flat=True).first()
    if key is None:
        raise NoSuchText(f"no review pair {pair_id} in this store")
    return snapshot_text(key)


def snapshot_text(snapshot_id: int) -> StoredText:
    """The text of a note or gate at one moment.

    :raises NoSuchText: there is none of this id.
    """
    row = FileSnapshot.objects.select_related("path").filter(pk=snapshot_id).first()
    if row is None:
        raise NoSuchText(f"no text {snapshot_id} in this store")
    return StoredText(row.text, row.path.path, row.content_sha256, row.pk, row.captured_at)


def rationales(pair_ids: Iterable[int]) -> dict[int, str]:
    """The texts of reviews, by pair."""
    found: dict[int, str] = {}
    for chunk in batched(pair_ids, _AT_ONCE):
        rows = ReviewText.objects.filter(pair_id__in=NamedKeys(chunk))
        found.update(rows.values_list("pair_id", "text"))
    return found
