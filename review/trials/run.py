"""Tries gates on their cases: makes the jobs of the runs that are wanting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from review.domain.grouping import group_targets
from review.jobs.factory import JobFactory
from review.knowledge_base import Corpus, DraftPair, Gate, NoteText
from review.models import batched
from review.settings.config import Config
from review.trials.results import read_gate_results
from review.vocabulary import Grouping, JobPurpose

_JOBS_PER_TRANSACTION = 50


@dataclass(frozen=True)
class TrialRequest:
    """A request to try gates on their cases.

    :param repeat: how often a partition is to have answered each case.
    :param batch_size: cases of a gate in one prompt; with 1, no case can be guessed from the others.
    """

    gates: Sequence[Gate]
    model_partition: str
    actor: str
    repeat: int = 1
    batch_size: int = 1


def create_trials(
    request: TrialRequest, *, corpus: Corpus, config: Config, now: datetime
) -> list[int]:
    """Return the open jobs that will answer the cases, those made here included; oldest first."""
    factory = JobFactory(
        request.model_partition, corpus=corpus, config=config, actor=request.actor, now=now
    )
    results = read_gate_results(corpus, request.gates, partitions=[request.model_partition])
    job_ids = {job for gate in results for case in gate.cases for job in case.open_job_ids}
    gates = {gate.path: gate for gate in request.gates}
    rounds: list[list[DraftPair]] = [[] for _ in range(request.repeat)]
    for result in results:
        gate = gates[result.gate_path]
        for case, of_case in zip(corpus.cases(gate).cases, result.cases, strict=True):
            pair = DraftPair(NoteText.of(case.note_path, case.text.encode()), gate)
            for number in range(len(of_case.decisions + of_case.open_job_ids), request.repeat):
                rounds[number].append(pair)
    groups = chain.from_iterable(
        group_targets(pairs, grouping=Grouping.GATE, batch_size=request.batch_size)
        for pairs in rounds
    )
    for some in batched(groups, _JOBS_PER_TRANSACTION):
        made, _skipped = factory.create(some, purpose=JobPurpose.TRIAL)
        job_ids.update(made)
    return sorted(job_ids)
