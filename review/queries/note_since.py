"""What changed in a note since each of the texts that were accepted of it, for one page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.domain.word_diff import WordDiff, word_diff
from review.models import FileSnapshot
from review.queries.note_rows import PairRow
from review.vocabulary import Staleness

# Texts that one page compares word by word, and how long they may be in all; the others have links.
MAX_COMPARED = 3
_MAX_BYTES = 400_000


@dataclass(frozen=True)
class Since:
    """One accepted text that is not today's, and the pairs that are stale for it.

    :param accepted_at: the latest moment at which it was accepted.
    :param diff: None where the page has no room for it.
    """

    accepted_at: datetime
    rows: tuple[PairRow, ...]
    diff: WordDiff | None


def read_since(rows: Iterable[PairRow], now_text: str | None) -> tuple[Since, ...]:
    """Accepted texts that differ from today's, those that make most pairs stale first."""
    if now_text is None:
        return ()
    groups: dict[int, list[PairRow]] = {}
    for row in rows:
        if row.note_snapshot_id is not None and _is_stale_for_the_note(row):
            groups.setdefault(row.note_snapshot_id, []).append(row)
    ordered = sorted(groups, key=lambda key: (-len(groups[key]), -key))
    texts = _texts(ordered)
    return tuple(
        Since(
            accepted_at=max(row.accepted_at for row in groups[key] if row.accepted_at),
            rows=tuple(groups[key]),
            diff=word_diff(texts[key], now_text) if key in texts else None,
        )
        for key in ordered
    )


def _is_stale_for_the_note(row: PairRow) -> bool:
    return Staleness.NOTE_CHANGED in row.reasons and not row.gone


def _texts(keys: Sequence[int]) -> dict[int, str]:
    """The first few texts, as long as there is room; the first in any case."""
    first = keys[:MAX_COMPARED]
    sizes = dict(FileSnapshot.objects.filter(pk__in=first).values_list("pk", "byte_size"))
    chosen: list[int] = []
    left = _MAX_BYTES
    for key in first:
        left -= sizes[key]
        if left < 0 and chosen:
            break
        chosen.append(key)
    return dict(FileSnapshot.objects.filter(pk__in=chosen).values_list("pk", "text"))
