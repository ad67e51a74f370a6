"""Who did what: moves of jobs, dispositions, decisions of people, acks and overrides, newest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from operator import attrgetter
from typing import Any, TypeAlias

from django.db.models import Max

from review.contracts.base import timestamp
from review.contracts.job_pages import (
    AcceptanceEventJson,
    DecisionEventJson,
    DispositionEventJson,
    JobEventJson,
)
from review.models import Acceptance, DecisionEvent, Disposition, Finding, JobEvent
from review.queries.act_streams import ActFilter, ActKind, Place, Stream, read_stream
from review.queries.job_board import show_event
from review.queries.review_details import gate_label

ActJson: TypeAlias = JobEventJson | DispositionEventJson | DecisionEventJson | AcceptanceEventJson


@dataclass(frozen=True)
class Act:
    """One act, and its key among those of its kind."""

    kind: ActKind
    key: int
    at: datetime
    event: ActJson


@dataclass(frozen=True)
class ActPage:
    """Acts, newest first, and where the list goes on; None at its end.

    :param looked_back_to: before this moment nothing was looked at yet, though the page has room.
    """

    acts: tuple[Act, ...]
    next_place: Place | None
    looked_back_to: datetime | None = None


def newest_acts(wanted: ActFilter, *, place: Place, limit: int, gates_folder: str) -> ActPage:
    """The acts that match, newest first, each kind below its key in `place`.

    Keys are given in the order of time, so that every kind is read by its key alone. Where a kind was
    not looked through to its end, the page ends at the moment it was looked back to.
    """
    streams = [
        read_stream(kind, wanted, before=place.get(kind), limit=limit + 1)
        for kind in wanted.asked()
    ]
    edges = [(one.since, one.kind, one.low) for one in streams if one.since is not None]
    since, last, low = max(edges, default=(None, None, 0))
    known = [one.rows if one.kind is last else _known(one, since) for one in streams]
    rows = [*islice(heapq.merge(*known, key=attrgetter("at"), reverse=True), limit + 1)]
    acts = tuple(_shown(rows[:limit], gates_folder))
    then = {**place, **{act.kind: act.key for act in acts}}
    if len(rows) > limit:
        return ActPage(acts, then)
    if last is not None:
        return ActPage(acts, {**then, last: low}, since)
    return ActPage(acts, None)


def _known(stream: Stream, since: datetime | None) -> Sequence[Any]:
    """The rows among which no other kind's can be missing."""
    if since is None:
        return stream.rows
    return [*takewhile(lambda row: row.at >= since, stream.rows)]


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
