"""Repairs of what can be derived from the store: current acceptances, the queue, prompts of jobs."""

from __future__ import annotations

from django.db import transaction

from review.acceptance.finding_states import notes_off_the_queue, refresh_finding_states
from review.job_files import ArtifactNotWritten, ArtifactStore
from review.jobs.prompts import render_job_prompt
from review.knowledge_base import Corpus
from review.models import CurrentAcceptance, ReviewJob, ReviewStore, batched
from review.settings.config import Config
from review.upkeep.checks import CheckResult, CheckState, check_faults
from review.upkeep.invariants import UNAPPLIED_EVENTS, UNFOUNDED_ACCEPTANCES


def rebuild_acceptances() -> int:
    """Point every key that is off at its last event; return how many there were."""
    with transaction.atomic():
        ReviewStore.objects.move_acceptances()
        notes = set(UNFOUNDED_ACCEPTANCES.values_list("note_id", flat=True))
        removed, _by_model = UNFOUNDED_ACCEPTANCES.delete()
        events = list(UNAPPLIED_EVENTS.order_by("pk"))
        CurrentAcceptance.objects.point_at(events)
        notes |= {event.note_id for event in events}
        for some in batched(sorted(notes), 500):
            refresh_finding_states(some)
    return removed + len(events)


def check_queue(*, repair: bool) -> CheckResult:
    """Compare the queue's projection with what it derives from; `repair` makes what differs again."""
    faults = []
    for notes in notes_off_the_queue():
        for note_id in notes:
            faults.append(
                f"note {note_id}: its rows in the queue differ from its current acceptances"
            )
        if notes and repair:
            with transaction.atomic():
                ReviewStore.objects.move_acceptances()
                refresh_finding_states(notes)
    return check_faults(
        "queue",
        faults,
        fine="its rows are what acceptances, findings and dispositions say",
        wrong="notes whose rows were made again"
        if repair
        else "notes are off; --repair makes their rows again",
        state=CheckState.REPAIRED if repair else CheckState.PROBLEM,
    )


def restore_prompt(job: ReviewJob, *, corpus: Corpus, config: Config, write: bool) -> bool:
    """Render the job's prompt again, and write it; return False if it cannot be made or written."""
    data = render_job_prompt(job, linker=corpus.linker, config=config)
    if data is None:
        return False
    if write:
        try:
            ArtifactStore(config).write_bytes(job.prompt_path, data)
        except ArtifactNotWritten:
            return False
    return True
