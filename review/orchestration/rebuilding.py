"""Makes current acceptances again from the events, which are the truth."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from review.models import Acceptance, CurrentAcceptance, ReviewStore
from review.queries.store_checks import AcceptanceKey, portions_of_wrong_acceptances

_AT_ONCE = 500


def rebuild_acceptances() -> int:
    """Point every key that is off at its last event; answers how many there were.

    Each transaction takes its turn among those who move acceptances, so that an ingest at the
    same moment is not undone.
    """
    rebuilt = 0
    for keys in portions_of_wrong_acceptances(_AT_ONCE):
        with transaction.atomic():
            ReviewStore.objects.move_acceptances()
            _rebuild(keys)
        rebuilt += len(keys)
    return rebuilt


def _rebuild(keys: Sequence[AcceptanceKey]) -> None:
    events = []
    for key in keys:
        last = Acceptance.objects.filter(**vars(key)).order_by("-pk").first()
        if last is None:
            CurrentAcceptance.objects.filter(**vars(key)).delete()
        else:
            events.append(last)
    CurrentAcceptance.objects.point_at(events)
