"""Reads one kind of act after another by its key, newest first, and never more than a window of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from django.db.models import F, Model, Q, QuerySet

from review.models import Acceptance, DecisionEvent, Disposition, JobEvent
from review.vocabulary import AcceptanceKind, DispositionState, JobStatus

# Rows of a kind that one page looks through for those it wants: alone, or among other kinds, which
# fill the page long before.
SEARCHED = 20_000
GLANCED = 2_000


class ActKind(StrEnum):
    """What was acted on."""

    JOB = "job"
    FINDING = "finding"
    REVIEW = "review"
    ACCEPTANCE = "acceptance"


# Below which key each kind goes on; a kind that is not in it starts with its newest.
Place: TypeAlias = Mapping[ActKind, int]

_TABLES: Mapping[ActKind, type[Model]] = {
    ActKind.JOB: JobEvent,
    ActKind.FINDING: Disposition,
    ActKind.REVIEW: DecisionEvent,
    ActKind.ACCEPTANCE: Acceptance,
}


@dataclass(frozen=True)
class ActFilter:
    """Which acts to give; an empty filter keeps all.

    Who names statuses or a job asks for moves of jobs, and who names states for dispositions.

    :param actors: whole names; one that ends in `:` stands for all of its kind, such as `human:`.
    """

    kinds: tuple[ActKind, ...] = ()
    to_statuses: tuple[JobStatus, ...] = ()
    states: tuple[DispositionState, ...] = ()
    actors: tuple[str, ...] = ()
    job_id: int | None = None

    def asked(self) -> tuple[ActKind, ...]:
        """The kinds that are left."""
        implied = set()
        if self.to_statuses or self.job_id is not None:
            implied.add(ActKind.JOB)
        if self.states:
            implied.add(ActKind.FINDING)
        wanted = self.kinds or tuple(ActKind)
        return tuple(kind for kind in wanted if not implied or kind in implied)


@dataclass(frozen=True)
class Stream:
    """Acts of one kind, newest first.

    :param low: no row below this key was looked at; 0 where nothing below is missing.
    :param since: the moment of the first row below; acts before it may be missing.
    """

    kind: ActKind
    rows: Sequence[Any]
    low: int = 0
    since: datetime | None = None


def read_stream(kind: ActKind, wanted: ActFilter, *, before: int | None, limit: int) -> Stream:
    """At most `limit` acts below a key.

    What an index gives is taken as it comes. Where rows are picked out of a table by something else,
    a window of keys is looked through, so that the cost does not grow with the table.
    """
    rows = _rows(kind, wanted)
    if _is_dense(kind, wanted):
        below = rows if before is None else rows.filter(pk__lt=before)
        return Stream(kind, list(below[:limit]))
    table = _TABLES[kind]._default_manager.order_by("-pk")
    top = before or (table.values_list("pk", flat=True).first() or 0) + 1
    low = top - (GLANCED if _is_among_others(wanted) else SEARCHED)
    found = list(rows.filter(pk__lt=top, pk__gte=low)[:limit])
    if len(found) == limit or low <= 1:
        return Stream(kind, found)
    moment = "accepted_at" if kind is ActKind.ACCEPTANCE else "at"
    since = table.filter(pk__lt=low).values_list(moment, flat=True).first()
    return Stream(kind, found, low, since) if since else Stream(kind, found)


def _is_dense(kind: ActKind, wanted: ActFilter) -> bool:
    """Whether every row by its key is wanted, or the job's own index finds the rows."""
    if kind is ActKind.JOB and wanted.job_id is not None:
        return True
    narrowed = wanted.actors or wanted.to_statuses or wanted.states
    return kind is not ActKind.ACCEPTANCE and not narrowed


def _is_among_others(wanted: ActFilter) -> bool:
    return ActKind.JOB in wanted.asked() and not wanted.actors and not wanted.to_statuses


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
    """Rows of these actors; a name that ends in `:` stands for all of its kind."""
    found = Q()
    for actor in actors:
        found |= Q(actor__startswith=actor) if actor.endswith(":") else Q(actor=actor)
    return found
