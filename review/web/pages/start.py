"""The start page: what needs a person, and how much is covered; and the page of costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any

from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from review import settings
from review.jobs.costs import CostsJson, read_costs
from review.knowledge_base import Corpus
from review.models import ReviewJob
from review.overview.documents import GateStatusJson, PartitionStatusJson, StatusJson
from review.overview.status import find_orphans, read_coverage, read_status
from review.queue.facets import read_facets
from review.queue.queue import QueueFilter, queue_now
from review.recovery.recover import RecoveryAction
from review.vocabulary import JobStatus
from review.web.core.cached import cached, needs_a_look, pair_states, recoverable, trends
from review.web.core.filters import Filters, parse_filters
from review.web.core.responses import page
from review.web.pages.events import newest_events, together
from review.web.pages.jobs import preview_url

LAST_EVENTS = 6
# More, since what was done at once is shown as one.
READ_EVENTS = 30
SHOWN_JOBS = 4
SHOWN_LOOKS = 5
SHOWN_GATES = 8
_WIDTH, _HEIGHT = 100, 40  # of a chart
_LINES = 5  # as many as there are kinds of line


def start(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, {})
    return page(request, "review/start.html", lambda: _context(filters), document=read_whole_status)


def read_whole_status(partition: str | None = None) -> StatusJson:
    """The answer of `review_status`."""
    with Corpus(settings.current()) as corpus:
        return read_status(corpus, model_partition=partition, fail_on=(), now=timezone.now())


def _context(filters: Filters) -> dict[str, Any]:
    config = settings.current()
    answer = pair_states()
    states, looks = answer.value, needs_a_look().value.needs_a_look
    facets = read_facets(queue_now(config, QueueFilter(), now=timezone.now()))
    trend, lenses = trends()
    with Corpus(config) as corpus:
        orphans = find_orphans(corpus, states)
    events, _following = newest_events(filters, limit=READ_EVENTS, gates_folder=config.gates_folder)
    return {
        "notes": len(states.notes),
        "gates": len(states.gates),
        "note_roots": config.note_roots,
        "is_new": not (states.notes and states.gates and states.partitions),
        "counted_at": answer.at,
        "findings": dict(facets.counts["severities"]),
        "finding_gates": list(islice(facets.counts["gates"].items(), SHOWN_GATES)),
        "looks": looks[:SHOWN_LOOKS],
        "look_count": len(looks),
        "covers": [_cover(read_coverage(states, name)) for name in states.partitions],
        # Processes with running jobs, the longest at work first.
        "sweeps": list(
            ReviewJob.objects.filter(status=JobStatus.RUNNING, parent_pid__isnull=False)
            .values("claimed_by", "parent_host", "parent_pid")
            .annotate(jobs=Count("pk"), since=Min("started_at"))
            .order_by("since")
        ),
        "events": together(events)[:LAST_EVENTS],
        "trend": make_chart(trend.ends, trend.findings),
        "cost_trend": make_chart(trend.ends, trend.costs, digits=2),
        "lens_bars": [lens for lens in lenses if lens.people.n],
        "problems": states.problems,
        "orphans": orphans,
    } | _recovery()


def _recovery() -> dict[str, Any]:
    found = recoverable()
    ready = {entry.review_job_id for entry in found.ready}
    # What is abandoned and ready is listed twice, and not to be replaced with all others.
    replaceable = [entry for entry in found.abandoned if entry.review_job_id not in ready]
    replace, ingest = RecoveryAction.REPLACE, RecoveryAction.INGEST
    return {
        "recovery": [
            {
                "kind": kind,
                "title": title,
                "entries": entries[:SHOWN_JOBS],
                "total": len(entries),
                "action": action.value,
                "all_url": of_all
                and preview_url(action, [entry.review_job_id for entry in of_all]),
            }
            for kind, title, entries, action, of_all in (
                ("abandoned", "Abandoned", found.abandoned, replace, replaceable),
                ("ready", "Ready to ingest", found.ready, ingest, found.ready),
                ("missing", "Pairs missing", found.failed, ingest, []),
            )
        ],
        "to_recover": len(
            {entry.review_job_id for entry in (*found.abandoned, *found.ready, *found.failed)}
        ),
        "ready": ready,
    }


def _cover(partition: PartitionStatusJson) -> dict[str, Any]:
    """Return the share of each gate of a partition, of each lens, and of the partition."""
    gates = [gate for gate in partition.gates if gate.applicable]
    grouped = groupby(gates, key=lambda gate: gate.gate_id.partition("/")[0])
    lenses = [(lens, list(members)) for lens, members in grouped]
    return {
        "share": _share(partition.model_partition, gates),
        "in_flight": partition.in_flight,
        "lenses": [
            {"share": _share(lens, members), "gates": [_share(m.gate_id, [m]) for m in members]}
            for lens, members in lenses
        ],
    }


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
    filters = parse_filters(request, {"partition": None})
    return page(
        request,
        "review/costs.html",
        lambda: _costs_context(filters),
        document=lambda: _costs_document(filters.one("partition") or None),
    )


def _costs_document(partition: str | None) -> StatusJson:
    """The answer of `review_status --costs`."""
    status = read_whole_status(partition)
    status.costs = _read_costs(partition)
    return status


def _read_costs(partition: str | None) -> CostsJson:
    return cached(
        f"costs {partition}",
        lambda corpus: read_costs(model_partition=partition, config=corpus.config),
    ).value


def _costs_context(filters: Filters) -> dict[str, Any]:
    partition = filters.one("partition")
    found, (trend, _lenses) = _read_costs(partition or None), trends()
    shown = {name: values for name, values in trend.costs.items() if partition in ("", name)}
    return {
        "filters": filters,
        "partition": partition,
        "total": found.total,
        "chart": make_chart(trend.ends, shown, digits=2),
        "tables": [
            ("Model partition", found.partitions),
            ("Lens", found.lenses),
            ("Gate", found.gates),
            ("Runner", found.runners),
            ("Purpose", found.purposes if len(found.purposes) > 1 else []),
        ],
    }


def make_chart(
    ends: Sequence[datetime], series: Mapping[str, Sequence[float]], *, digits: int = 0
) -> dict[str, Any] | None:
    """Make lines over the same weeks, with one scale from 0 to `top`; None where every value is 0.

    `rows` has a row for each week, for the table that says the same.

    :param digits: after the point.
    """
    top = max((value for values in series.values() for value in values), default=0)
    if not top:
        return None
    lines = [
        {"name": name, "last": values[-1], "points": _points(values, top), "kind": number % _LINES}
        for number, (name, values) in enumerate(series.items())
    ]
    rows = [(end, [values[n] for values in series.values()]) for n, end in enumerate(ends)]
    return {"ends": ends, "lines": lines, "top": top, "digits": digits, "rows": rows}


def _points(values: Sequence[float], top: float) -> str:
    step = _WIDTH / max(1, len(values) - 1)
    places = ((n * step, _HEIGHT * (1 - value / top)) for n, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
