"""Makes what is derived again: current acceptances from the events, the queue from both."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max

from review.models import Acceptance, CurrentAcceptance, ReviewStore
from review.orchestration.finding_states import notes_off_the_queue, refresh_finding_states
from review.queries.checks import Check, CheckState, Faults
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


def check_queue(*, repair: bool) -> Check:
    """Compare the queue's projection with what it derives from, and make again what differs.

    :param repair: else it is only named.
    """
    faults = Faults()
    for notes in notes_off_the_queue():
        for note_id in notes:
            faults.add(f"note {note_id}: its rows in the queue differ from its current acceptances")
        if notes and repair:
            with transaction.atomic():
                ReviewStore.objects.move_acceptances()
                refresh_finding_states(notes)
    return faults.check(
        "queue",
        fine="its rows are what acceptances, findings and dispositions say",
        wrong="notes whose rows were made again"
        if repair
        else "notes are off; --repair makes their rows again",
        state=CheckState.REPAIRED if repair else CheckState.PROBLEM,
    )


def _rebuild(keys: Sequence[AcceptanceKey]) -> None:
    last = _last_events(keys)
    for key in keys:
        if key not in last:
            CurrentAcceptance.objects.filter(**vars(key)).delete()
    CurrentAcceptance.objects.point_at([last[key] for key in keys if key in last])
    refresh_finding_states({key.note_id for key in keys}, {key.gate_id for key in keys})


def _last_events(keys: Sequence[AcceptanceKey]) -> dict[AcceptanceKey, Acceptance]:
    """The last event of each key that has one."""
    wanted, found = set(keys), {}
    events = Acceptance.objects.filter(
        note_id__in={key.note_id for key in keys}, gate_id__in={key.gate_id for key in keys}
    )
    named = events.values_list("model_partition_id", "note_id", "gate_id")
    for *names, last in named.annotate(last=Max("pk")).order_by():
        if (key := AcceptanceKey(*names)) in wanted:
            found[last] = key
    return {found[pk]: event for pk, event in Acceptance.objects.in_bulk(list(found)).items()}
