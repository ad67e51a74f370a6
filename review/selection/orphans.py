"""Paths that have acceptances and no file any more, less those that were carried over or retired."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from review.knowledge_base import Corpus, UnreadableFile
from review.models import Acceptance, CurrentAcceptance, ModelPartition, batched
from review.vocabulary import AcceptanceKind, ProblemCode

# A retired key pins an empty text in place of the file that is gone.
EMPTY_SHA256 = hashlib.sha256().hexdigest()


def is_there(corpus: Corpus, path: str) -> bool:
    """Return True if the file exists, readable or not."""
    try:
        corpus.read_note(path)
    except UnreadableFile as refused:
        return refused.problem.code is not ProblemCode.VANISHED
    return True


def live_acceptances(kind: str, paths: Mapping[str, int]) -> dict[str, int]:
    """Count the acceptances of each path that are still in effect; paths with none are omitted.

    :param kind: `note` or `gate`.
    :param paths: of files that are gone, with their keys.
    """
    found: Counter[str] = Counter()
    for chunk in batched(paths.items(), 200):
        names = {key: path for path, key in chunk}
        rows = CurrentAcceptance.objects.filter(
            model_partition_id__in=list(ModelPartition.objects.values_list("pk", flat=True)),
            **{f"{kind}_id__in": list(names)},
        ).exclude(
            **{
                f"{kind}_snapshot__content_sha256": EMPTY_SHA256,
                "event__kind": AcceptanceKind.OVERRIDE,
            }
        )
        keys = rows.values_list(f"{kind}_id", "event_id", "event__review_pair_id")
        live = carried_away((event_id, pair_id) for _key, event_id, pair_id in keys)
        found.update(names[key] for key, event_id, _pair_id in keys if event_id not in live)
    return dict(found)


def carried_away(events: Iterable[tuple[int, int | None]]) -> set[int]:
    """Those of the acceptances whose review was carried over to another key later.

    :param events: keys of the acceptance and of the review pair that it rests on.
    """
    found: set[int] = set()
    for chunk in batched(events, 500):
        carried = Acceptance.objects.filter(
            kind=AcceptanceKind.CARRY_OVER, review_pair_id__in={pair_id for _, pair_id in chunk}
        )
        latest: dict[int | None, int] = {}
        for pair_id, event_id in carried.order_by("pk").values_list("review_pair_id", "pk"):
            latest[pair_id] = event_id
        found |= {event_id for event_id, pair_id in chunk if latest.get(pair_id, 0) > event_id}
    return found
