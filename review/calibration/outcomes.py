"""Addressed findings: their lines were changed, and the next review does not repeat them."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import OuterRef, Subquery

from review.calibration.labels import NONE, Cell
from review.domain.statistics import Proportion
from review.models import FileSnapshot, Finding, NamedKeys, ReviewPair, batched
from review.vocabulary import QUEUED_DECISIONS, NotAccepted, PairStatus

_AT_ONCE = 200


def read_addressed() -> dict[Cell, Proportion]:
    """Count the addressed ones of the findings with a next review of a later text of the note.

    The next review is by the same text of the gate in the same partition. Findings of reviews that
    passed the note, and those whose quote was not found in it, are not counted.
    """
    after = ReviewPair.objects.filter(
        note_id=OuterRef("pair__note_id"),
        gate_id=OuterRef("pair__gate_id"),
        gate_snapshot_id=OuterRef("pair__gate_snapshot_id"),
        job__model_partition_id=OuterRef("pair__job__model_partition_id"),
        status=PairStatus.COMPLETED,
        pk__gt=OuterRef("pair_id"),
    ).exclude(note_snapshot_id=OuterRef("pair__note_snapshot_id"))
    rows = Finding.objects.filter(pair__decision__in=QUEUED_DECISIONS, note_line__isnull=False)
    rows = rows.exclude(pair__not_accepted=NotAccepted.TRIAL).annotate(
        next=Subquery(after.order_by("pk").values("pk")[:1])
    )
    columns = (
        "pair__note_snapshot_id", "next", "fingerprint", "quote", "note_line",
        "pair__gate_id", "pair__gate_snapshot_id", "pair__job__model_partition_id",
    )  # fmt: skip
    found: defaultdict[Cell, Proportion] = defaultdict(lambda: NONE)
    followed = rows.filter(next__isnull=False).order_by("pk").values_list(*columns)
    for chunk in batched(list(followed), _AT_ONCE):
        following = NamedKeys({row[1] for row in chunk})
        listed = Finding.objects.filter(pair_id__in=following)
        repeated = set(listed.values_list("pair_id", "fingerprint"))
        later = ReviewPair.objects.filter(pk__in=following)
        text_after = dict(later.values_list("pk", "note_snapshot_id"))
        keys = NamedKeys({row[0] for row in chunk} | set(text_after.values()))
        texts = dict(FileSnapshot.objects.filter(pk__in=keys).values_list("pk", "text"))
        for before, pair_id, name, quote, line, *cell in chunk:
            changed = _is_changed(texts[before], texts[text_after[pair_id]], quote, line)
            addressed = changed and (pair_id, name) not in repeated
            found[Cell(*cell)] += Proportion(int(addressed), 1)
    return found


def _is_changed(before: str, after: str, quote: str, line: int) -> bool:
    """Return True if a line that the quote covers is not in the later text."""
    lines = before.split("\n")
    last = line + quote.strip().count("\n")
    kept = set(after.split("\n"))
    return any(text not in kept for text in lines[line - 1 : last])
