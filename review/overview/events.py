"""Who did what: moves of jobs, dispositions, decisions of people, acks and overrides, newest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

from django.db.models import F, Max, Q, QuerySet

from review.documents.base import timestamp
from review.jobs.board import show_event
from review.jobs.pages_documents import (
    AcceptanceEventJson,
    DecisionEventJson,
    DispositionEventJson,
    JobEventJson,
)
from review.models import Acceptance, DecisionEvent, Disposition, Finding, JobEvent
from review.selection.path_filters import gate_label
from review.vocabulary import AcceptanceKind, DispositionState, JobStatus

ActJson: TypeAlias = JobEventJson | DispositionEventJson | DecisionEventJson | AcceptanceEventJson


class ActKind(StrEnum):
    JOB = "job"
    FINDING = "finding"
    REVIEW = "review"
    ACCEPTANCE = "acceptance"


# Below which key each kind continues; a kind that is not in it starts with its newest.
Place: TypeAlias = Mapping[ActKind, int]


@dataclass(frozen=True)
class ActFilter:
    """Which acts to give; an empty filter keeps all.

    Statuses and a job ask for moves of jobs only, and states for dispositions only.

    :param actors: whole names; one that ends in `:` stands for all of its kind, such as `human:`.
    """

    kinds: tuple[ActKind, ...] = ()
    to_statuses: tuple[JobStatus, ...] = ()
    states: tuple[DispositionState, ...] = ()
    actors: tuple[str, ...] = ()
    job_id: int | None = None

    def asked(self) -> tuple[ActKind, ...]:
        implied = set()
        if self.to_statuses or self.job_id is not None:
            implied.add(ActKind.JOB)
        if self.states:
            implied.add(ActKind.FINDING)
        wanted = self.kinds or tuple(ActKind)
        return tuple(kind for kind in wanted if not implied or kind in implied)


@dataclass(frozen=True)
class Act:
    """One act, and its key among those of its kind."""

    kind: ActKind
    key: int
    at: datetime
    event: ActJson


@dataclass(frozen=True)
class ActPage:
    """Acts, newest first, and where the list continues; None at its end."""

    acts: tuple[Act, ...]
    next_place: Place | None


def newest_acts(wanted: ActFilter, *, place: Place, limit: int, gates_folder: str) -> ActPage:
    """The acts that match, newest first, each kind below its key in `place`.

    Keys are given in the order of time, so every kind is read by its key alone.
    """
    streams = []
    for kind in wanted.asked():
        rows = _rows(kind, wanted)
        if kind in place:
            rows = rows.filter(pk__lt=place[kind])
        streams.append(list(rows[: limit + 1]))
    merged = [*islice(heapq.merge(*streams, key=attrgetter("at"), reverse=True), limit + 1)]
    acts = tuple(_shown(merged[:limit], gates_folder))
    has_more = len(merged) > limit
    return ActPage(acts, {**place, **{act.kind: act.key for act in acts}} if has_more else None)


def _rows(kind: ActKind, wanted: ActFilter) -> QuerySet[Any]:
    rows: QuerySet[Any]
    if kind is ActKind.JOB:
        rows = JobEvent.objects.all()
        if wanted.job_id is not None:
            rows = rows.filter(job_id=wanted.job_id)
        if wanted.to_statuses:
            rows = rows.filter(to_status__in=wanted.to_statuses)
    elif kind is ActKind.FINDING:
        rows = Disposition.objects.all()
        if wanted.states:
            rows = rows.filter(state__in=wanted.states)
    elif kind is ActKind.REVIEW:
        rows = DecisionEvent.objects.select_related("pair__note", "pair__gate")
    else:
        # A review's own acceptance is told by the move of its job.
        rows = Acceptance.objects.exclude(kind=AcceptanceKind.FULL_REVIEW)
        rows = rows.select_related("note", "gate", "model_partition").annotate(at=F("accepted_at"))
    if wanted.actors:
        rows = rows.filter(_by_actors(wanted.actors))
    return rows.order_by("-pk")


def _by_actors(actors: Iterable[str]) -> Q:
    found = Q()
    for actor in actors:
        found |= Q(actor__startswith=actor) if actor.endswith(":") else Q(actor=actor)
    return found


def _shown(rows: Sequence[Any], gates_folder: str) -> Iterator[Act]:
    named = _findings([row.fingerprint for row in rows if isinstance(row, Disposition)])
    for row in rows:
        if isinstance(row, JobEvent):
            yield Act(ActKind.JOB, row.pk, row.at, show_event(row))
        elif isinstance(row, Disposition):
            event = _disposition(row, named.get(row.fingerprint), gates_folder)
            yield Act(ActKind.FINDING, row.pk, row.at, event)
        elif isinstance(row, DecisionEvent):
            yield Act(ActKind.REVIEW, row.pk, row.at, _decision(row, gates_folder))
        else:
            yield Act(ActKind.ACCEPTANCE, row.pk, row.at, _acceptance(row, gates_folder))


def _findings(marks: Sequence[str]) -> dict[str, Finding]:
    """The latest report of each finding, by fingerprint."""
    latest = (
        Finding.objects.filter(fingerprint__in=set(marks))
        .values("fingerprint")
        .annotate(last=Max("pk"))
        .values("last")
    )
    rows = Finding.objects.filter(pk__in=latest).select_related("pair__note", "pair__gate")
    return {row.fingerprint: row for row in rows}


def _disposition(
    row: Disposition, finding: Finding | None, gates_folder: str
) -> DispositionEventJson:
    return DispositionEventJson(
        fingerprint=row.fingerprint,
        state=row.state,
        actor=row.actor,
        reason=row.reason,
        at=timestamp(row.at),
        text=finding.text if finding else None,
        note_path=finding.pair.note.path if finding else None,
        gate_id=gate_label(finding.pair.gate.path, gates_folder) if finding else None,
    )


def _decision(row: DecisionEvent, gates_folder: str) -> DecisionEventJson:
    return DecisionEventJson(
        review_pair_id=row.pair_id,
        decision=row.decision,
        actor=row.actor,
        reason=row.reason,
        at=timestamp(row.at),
        note_path=row.pair.note.path,
        gate_id=gate_label(row.pair.gate.path, gates_folder),
    )


def _acceptance(row: Acceptance, gates_folder: str) -> AcceptanceEventJson:
    return AcceptanceEventJson(
        kind=row.kind,
        note_path=row.note.path,
        gate_id=gate_label(row.gate.path, gates_folder),
        model_partition=row.model_partition.name,
        review_pair_id=row.review_pair_id,
        actor=row.actor,
        reason=row.reason,
        at=timestamp(row.accepted_at),
    )
