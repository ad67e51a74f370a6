"""Filters of the selector by what the store knows of other reviews of the same pairs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from django.db.models import Count

from review.models import CurrentAcceptance, ReviewPair
from review.selection.freshness import NoteStaleness


def only_flagged(
    items: Iterable[NoteStaleness], *, by: str, left_out: Counter[str]
) -> Iterator[NoteStaleness]:
    """Keep the gates that a partition's current acceptance of the note decides warn or fail.

    :param left_out: gets the number of other stale pairs as `not-flagged`.
    """
    rows = CurrentAcceptance.objects.queued().of_partition(by)
    flagged = set(rows.values_list("note__path", "gate__path"))
    for item in items:
        path = item.note.path
        stale = tuple(found for found in item.stale if (path, found.gate.path) in flagged)
        fresh = tuple(gate for gate in item.fresh if (path, gate.path) in flagged)
        if number := len(item.stale) - len(stale):
            left_out["not-flagged"] += number
        yield replace(item, stale=stale, fresh=fresh)


def to_repeat(
    items: Iterable[NoteStaleness], *, partition: str | None, limit: int | None
) -> Iterator[NoteStaleness]:
    """Keep the fresh pairs that were reviewed once on the texts as they are.

    :param limit: a sample of so many: always the same, and spread over notes and gates.
    """
    once, listed = _reviewed_once(partition), list(items)
    pairs = [
        (item.note.path, gate.path)
        for item in listed
        for gate in item.fresh
        if (item.note.path, item.note.sha256, gate.path, gate.sha256) in once
    ]
    chosen = set(sorted(pairs, key=_scattered)[:limit])
    for item in listed:
        gates = tuple(gate for gate in item.fresh if (item.note.path, gate.path) in chosen)
        if gates:
            yield replace(item, stale=(), fresh=gates)


def _scattered(pair: tuple[str, str]) -> bytes:
    return hashlib.sha256("\n".join(pair).encode()).digest()


def _reviewed_once(partition: str | None) -> set[tuple[str, ...]]:
    rows = ReviewPair.objects.completed().filter(job__model_partition__name=partition)
    texts = rows.values_list(
        "note__path",
        "note_snapshot__content_sha256",
        "gate__path",
        "gate_snapshot__content_sha256",
    )
    return {row[:4] for row in texts.annotate(n=Count("pk")).filter(n=1).order_by()}
