"""Puts notes and a runner together for `review_sweep --fix`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.utils import timezone

from review.knowledge_base.opening import open_corpus
from review.management.kit.interrupt import stop_on_signals
from review.management.kit.sweep_options import sweep_limits, worker_request
from review.queue.fix import FAILED, PLANNED, REFUSED, FixSweep, fix_notes
from review.settings.config import Config
from review.sweeps.documents import SweepJson
from review.sweeps.report import Tally
from review.sweeps.workers import resolve_editor
from review.vocabulary import Grouping


def run_fixes(options: dict[str, Any], *, config: Config) -> SweepJson:
    """Have the notes of the scope mended that have open findings."""
    began = timezone.now()
    wanted = worker_request(options, config=config)
    resolved = resolve_editor(wanted, config=config)
    request = FixSweep(
        resolved=resolved,
        limits=sweep_limits(options, config),
        timeout=wanted.timeout,
        notes=tuple(options["note"] or ()),
        gates=tuple(options["gates"]),
        slots=wanted.slots,
        apply=options["apply"],
        dry_run=options["dry_run"],
        clock=timezone.now,
    )
    with stop_on_signals() as stop, open_corpus(config) as corpus:
        fixed = fix_notes(request, corpus=corpus, config=config, stop=stop)
    outcomes = Counter(note.outcome for note in fixed.notes)
    failed, refused = outcomes.pop(FAILED, 0), outcomes.pop(REFUSED, 0)
    planned = outcomes.pop(PLANNED, 0)
    reason, tally = fixed.policy.reason, Tally()
    for usage in fixed.usages:
        tally.count_cost(usage)
    return SweepJson(
        dry_run=bool(planned),
        model_partition=options["model"] or "",
        runner=resolved.spec.name,
        runner_model=resolved.provenance.runner_model,
        runner_effort=resolved.provenance.runner_effort,
        grouping=Grouping.NOTE.value,
        targets=len(fixed.notes),
        stopped=None if reason is None else reason.value,
        stopped_because=None if reason is None else fixed.policy.because,
        jobs={"completed": outcomes.total(), "failed": failed, "refused": refused},
        cost=tally.cost(),
        seconds=round((timezone.now() - began).total_seconds(), 3),
        fixes=list(fixed.notes),
        fix_record=fixed.record,
    )
