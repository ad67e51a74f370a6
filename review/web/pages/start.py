"""The start page: what needs a person, how much is covered; the pages of events and costs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from django.db.models import Count, F, Min, Q, QuerySet, TextChoices
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from msgspec import structs

from review import models, settings
from review.documents.base import Document, from_row
from review.jobs.board import show_event
from review.jobs.costs import read_costs
from review.jobs.job_documents import (
    AcceptanceEventJson,
    DecisionEventJson,
    DispositionEventJson,
    EventListJson,
)
from review.knowledge_base import Corpus
from review.overview.status import (
    GateStatusJson,
    PartitionStatusJson,
    StatusJson,
    find_orphans,
    read_coverage,
    read_status,
)
from review.queue.entries import read_facets
from review.queue.queue import QueueFilter, queue_now
from review.recovery.recover import RecoveryAction
from review.vocabulary import AcceptanceKind, DispositionState, JobStatus
from review.web import core
from review.web.pages.jobs import needing_jobs, preview_url

# More, since what was done at once is shown as one.
READ_EVENTS = 30
_WIDTH, _HEIGHT = 100, 40  # of a chart
_LINES = 5  # as many as there are kinds of line


def start(request: HttpRequest) -> HttpResponse:
    filters = core.parse_filters(request, {})
    return core.page(
        request, "review/start.html", lambda: _context(filters), document=read_whole_status
    )


def read_whole_status(partition: str | None = None) -> StatusJson:
    """The answer of `review_status`."""
    with Corpus(settings.current()) as corpus:
        return read_status(corpus, model_partition=partition, fail_on=(), now=timezone.now())


def _context(filters: core.Filters) -> dict[str, Any]:
    config = settings.current()
    answer = core.pair_states()
    states, looks = answer.value, core.needs_a_look().value.needs_a_look
    facets = read_facets(queue_now(config, QueueFilter(), now=timezone.now()))
    trend, lenses = core.trends()
    with Corpus(config) as corpus:
        orphans = find_orphans(corpus, states)
    events, _following = newest_events(filters, limit=READ_EVENTS, gate_label=config.gate_label)
    return {
        "notes": len(states.notes),
        "gates": len(states.gates),
        "note_roots": config.note_roots,
        "is_new": not (
            states.notes and states.gates and (states.decisions or any(states.gone.values()))
        ),
        "counted_at": answer.at,
        "findings": dict(facets.counts["severities"]),
        "finding_gates": list(islice(facets.counts["gates"].items(), 8)),
        "looks": looks[:5],
        "look_count": len(looks),
        "covers": [_cover(read_coverage(states, name)) for name in states.partitions],
        # Processes with running jobs, the longest at work first.
        "sweeps": list(
            models.ReviewJob.objects.filter(status=JobStatus.RUNNING, parent_pid__isnull=False)
            .values("claimed_by", "parent_host", "parent_pid")
            .annotate(jobs=Count("pk"), since=Min("started_at"))
            .order_by("since")
        ),
        "events": together(events)[:6],
        "trend": make_chart(trend.ends, trend.findings),
        "cost_trend": make_chart(trend.ends, trend.costs, digits=2),
        "lens_bars": [lens for lens in lenses if lens.people.n],
        "problems": states.problems,
        "orphans": orphans,
    } | _recovery()


def _recovery() -> dict[str, Any]:
    abandoned, ready, missing = needing_jobs().values()
    # What is abandoned and ready is listed twice, and not to be replaced with all others.
    replaceable = [job_id for job_id in abandoned if job_id not in ready]
    return {
        "recover": core.recoverable(),
        "ready": ready,
        "replace_url": replaceable and preview_url(RecoveryAction.REPLACE, replaceable),
        "ingest_url": preview_url(RecoveryAction.INGEST, ready),
        "to_recover": len({*abandoned, *ready, *missing}),
    }


def _cover(partition: PartitionStatusJson) -> dict[str, Any]:
    """Return the share of a partition, and of each lens with those of its gates behind it."""
    gates = [gate for gate in partition.gates if gate.applicable]
    by_lens = groupby(gates, key=lambda gate: gate.gate_id.partition("/")[0])
    lenses = [
        [_share(lens, members), *(_share(gate.gate_id, [gate]) for gate in members)]
        for lens, members in [(lens, list(found)) for lens, found in by_lens]
    ]
    whole = _share(partition.model_partition, gates)
    return {"share": whole, "in_flight": partition.in_flight, "lenses": lenses}


def _share(name: str, gates: Sequence[GateStatusJson]) -> dict[str, Any]:
    """The fresh share of pairs; `percent` and the widths are 0..100."""
    total = sum(gate.applicable for gate in gates)
    fresh = sum(gate.fresh for gate in gates)
    missing = sum(gate.missing_review for gate in gates)
    stale = total - fresh - missing
    return {
        "name": name,
        "fresh": fresh,
        "stale": stale,
        "missing": missing,
        "total": total,
        "percent": 100 * fresh // max(1, total),  # rounded down, so that 100 means all
        "fresh_width": f"{100 * fresh / max(1, total):.2f}",
        "stale_width": f"{100 * stale / max(1, total):.2f}",
    }


def costs(request: HttpRequest) -> HttpResponse:
    filters = core.parse_filters(request, {"partition": None})
    partition = filters.one("partition") or None
    found = core.keep_answer(
        f"costs {partition}",
        lambda corpus: read_costs(model_partition=partition, config=corpus.config),
    ).value
    trend, _lenses = core.trends()
    costs = {name: spent for name, spent in trend.costs.items() if filters.accepts(partition=name)}
    chart = make_chart(trend.ends, costs, digits=2)
    return core.page(
        request,
        "review/costs.html",
        {"filters": filters, "partition": partition, "costs": found, "chart": chart},
        document=lambda: structs.replace(read_whole_status(partition), costs=found),
    )


def make_chart(
    ends: Sequence[datetime], series: Mapping[str, Sequence[float]], *, digits: int = 0
) -> dict[str, Any] | None:
    """Make lines and rows over the same weeks, up to `top`; None where every value is 0."""
    top = max((value for values in series.values() for value in values), default=0)
    if not top:
        return None
    lines = [
        {"name": name, "last": values[-1], "points": _points(values, top), "kind": n % _LINES}
        for n, (name, values) in enumerate(series.items())
    ]
    rows = [(end, [values[n] for values in series.values()]) for n, end in enumerate(ends)]
    return {"ends": ends, "lines": lines, "top": top, "digits": digits, "rows": rows}


def _points(values: Sequence[float], top: float) -> str:
    step = _WIDTH / max(1, len(values) - 1)
    places = ((n * step, _HEIGHT * (1 - value / top)) for n, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


EVENTS_A_PAGE = 100
_NEWEST = (1 << 63) - 1


class EventKind(TextChoices):
    JOB = "job", "jobs"
    FINDING = "finding", "findings"
    REVIEW = "review", "decisions"
    ACCEPTANCE = "acceptance", "acks and overrides"


_EVENT_FILTERS = {
    "what": EventKind.values,
    "to": JobStatus.values,
    "as": DispositionState.values,
    "actor": None,
    "job": None,
}
_WHAT = dict(EventKind.choices)
_ACTORS = {"human:": "people", "agent:": "agents", "sweep:": "sweeps"}


# What is alike, besides who and why, in all events that one action made of many findings or pairs.
_SHARED = {EventKind.FINDING: "state", EventKind.ACCEPTANCE: "kind"}


class EventRow(NamedTuple):
    """One event, and its key among those of its kind."""

    kind: EventKind
    key: int
    at: datetime
    event: Any

    @property
    def action(self) -> tuple[object, ...]:
        """The same for all events that one action made of many findings or pairs."""
        event, shared = self.event, _SHARED.get(self.kind)
        if shared is None:
            return (self.kind, self.key)
        return (self.kind, self.at, event.actor, getattr(event, shared), event.reason)


def events(request: HttpRequest) -> HttpResponse:
    filters = core.parse_filters(request, _EVENT_FILTERS)
    found, following = newest_events(
        filters, limit=EVENTS_A_PAGE, gate_label=settings.current().gate_label
    )
    paged = filters.page(found, following=following)
    by = {who: _ACTORS.get(who, who) for who in (*_ACTORS, *filters.all("actor"))}
    context = {
        "filters": filters,
        "facets": [
            filters.facet("what", "What", dict.fromkeys(_WHAT), labels=_WHAT.__getitem__),
            filters.facet("actor", "By", dict.fromkeys(_ACTORS), labels=by.__getitem__),
            filters.facet("to", "Job became", dict.fromkeys(JobStatus.values)),
            filters.facet("as", "Finding became", dict.fromkeys(DispositionState.values)),
        ],
        "paged": paged,
        "events": together(found),
    }
    document = partial(_events_document, found, paged.next_document)
    return core.page(request, "review/events.html", context, document=document)


def together(events: Iterable[EventRow]) -> list[list[EventRow]]:
    """Group events that one action made of many findings or pairs."""
    return [list(group) for _action, group in groupby(events, key=attrgetter("action"))]


def _events_document(found: Iterable[EventRow], following: str | None) -> EventListJson:
    of: dict[EventKind, list[Any]] = {kind: [] for kind in EventKind}
    for row in found:
        of[row.kind].append(row.event)
    jobs, said, decisions, acceptances = of.values()
    return EventListJson(
        events=jobs, dispositions=said, decisions=decisions, acceptances=acceptances, next=following
    )


def newest_events(
    filters: core.Filters, *, limit: int, gate_label: Callable[[str], str]
) -> tuple[list[EventRow], core.Key | None]:
    """Return the events that match, newest first (by key), and where the list continues."""
    keys = filters.place(*[int] * len(EventKind)) or (0,) * len(EventKind)
    # A key of each kind; 0 means its newest.
    cursor = dict(zip(EventKind, keys, strict=True))
    streams = [
        [(row.at, kind, row) for row in rows.filter(pk__lt=cursor[kind] or _NEWEST)[: limit + 1]]
        for kind, rows in _streams(filters).items()
    ]
    merged = list(islice(heapq.merge(*streams, key=itemgetter(0), reverse=True), limit + 1))
    found = merged[:limit]
    marks = {row.fingerprint for _at, kind, row in found if kind is EventKind.FINDING}
    # The latest report of each finding.
    findings = models.Finding.objects.select_related("pair__note", "pair__gate")
    reported = models.latest_of(marks, findings)
    events = [
        EventRow(kind, row.pk, at, _event(kind, row, reported, gate_label))
        for at, kind, row in found
    ]
    cursor |= {row.kind: row.key for row in events}
    return events, tuple(cursor.values()) if len(merged) > limit else None


def _streams(filters: core.Filters) -> dict[EventKind, QuerySet[Any]]:
    """Statuses and a job select events of jobs only, and states dispositions only."""
    asked: dict[EventKind, dict[str, Any]] = {
        EventKind.JOB: {"to_status__in": filters.all("to"), "job_id": filters.key("job")},
        EventKind.FINDING: {"state__in": filters.all("as")},
    }
    given = {
        kind: {column: value for column, value in columns.items() if value not in ((), None)}
        for kind, columns in asked.items()
    }
    selected = [kind for kind, columns in given.items() if columns] or list(EventKind)
    streams: dict[EventKind, QuerySet[Any]] = {
        EventKind.JOB: models.JobEvent.objects.all(),
        EventKind.FINDING: models.Disposition.objects.all(),
        EventKind.REVIEW: models.DecisionEvent.objects.select_related("pair__note", "pair__gate"),
        # The acceptance of a review itself is shown by the event of its job.
        EventKind.ACCEPTANCE: models.Acceptance.objects.exclude(kind=AcceptanceKind.FULL_REVIEW)
        .select_related("note", "gate", "model_partition")
        .annotate(at=F("accepted_at")),
    }
    by_actor = Q()
    for actor in filters.all("actor"):
        # One that ends in `:` matches all of its kind.
        by_actor |= Q(actor__startswith=actor) if actor.endswith(":") else Q(actor=actor)
    return {
        kind: rows.filter(by_actor, **given.get(kind, {})).order_by("-pk")
        for kind, rows in streams.items()
        if filters.accepts(what=kind) and kind in selected
    }


def _event(
    kind: EventKind, row: Any, reported: dict[str, models.Finding], gate_label: Callable[[str], str]
) -> Document:
    if kind is EventKind.JOB:
        return show_event(row)
    finding = reported.get(row.fingerprint) if kind is EventKind.FINDING else None
    pair = row if kind is EventKind.ACCEPTANCE else getattr(finding or row, "pair", None)
    named = {"note_path": pair and pair.note.path, "gate_id": pair and gate_label(pair.gate.path)}
    if kind is EventKind.FINDING:
        return from_row(DispositionEventJson, row, text=finding and finding.text, **named)
    if kind is EventKind.REVIEW:
        return from_row(DecisionEventJson, row, review_pair_id=row.pair_id, **named)
    return from_row(AcceptanceEventJson, row, model_partition=row.model_partition.name, **named)
