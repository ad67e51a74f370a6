"""The start page: what needs a person, and where everything stands."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone

from review import conf
from review.contracts.recovery import RecoverableJson
from review.contracts.status import GateStatusJson, PartitionStatusJson
from review.orchestration.recovery import RecoveryAction
from review.queries.act_log import Act, newest_acts
from review.queries.act_streams import ActFilter
from review.queries.knowledge_base import open_corpus
from review.queries.queue import QueueFilter, queue_now
from review.queries.queue_facets import read_facets
from review.queries.standing import Standing, read_standing, running_sweeps
from review.runners.process_table import ProcessTable
from review.web.acting import may
from review.web.events import shown_acts
from review.web.filters import parse_filters
from review.web.first_time import Source, needs
from review.web.pages import page
from review.web.recovering import MAX_AT_ONCE, PERMISSION
from review.web.remembered import Answer, Remembered, this_store

LAST_EVENTS = 6
# What was done at once is shown as one.
READ_EVENTS = 30
SHOWN_JOBS = 4
SHOWN_LOOKS = 5


@dataclass(frozen=True)
class Share:
    """How much of something is fresh; `percent` and the widths are 0..100."""

    name: str
    fresh: int
    stale: int
    missing: int

    @property
    def total(self) -> int:
        """All pairs."""
        return self.fresh + self.stale + self.missing

    @property
    def percent(self) -> int:
        """Rounded down: 100 is said of nothing that is not."""
        return 100 * self.fresh // self.total if self.total else 0

    @property
    def fresh_width(self) -> str:
        """Of the bar."""
        return f"{100 * self.fresh / max(1, self.total):.2f}"

    @property
    def stale_width(self) -> str:
        """Of the bar."""
        return f"{100 * self.stale / max(1, self.total):.2f}"


@dataclass(frozen=True)
class Lens:
    """The gates of one lens, and all of them together."""

    share: Share
    gates: tuple[Share, ...]


@dataclass(frozen=True)
class PartitionCover:
    """How much of the base a model partition has judged."""

    share: Share
    in_flight: int
    lenses: tuple[Lens, ...]


@dataclass(frozen=True)
class ToRecover:
    """Jobs that want the same thing; `all_url` previews it for all of them (or the first many)."""

    kind: str
    title: str
    entries: tuple[RecoverableJson, ...]
    total: int
    action: str
    all_url: str


def _group(
    kind: str,
    title: str,
    entries: Sequence[RecoverableJson],
    action: RecoveryAction | None,
    *,
    spared: Container[int] = (),
) -> ToRecover:
    """Jobs of a kind; those that are `spared` are listed, and no action takes them with the others."""
    found = [entry.review_job_id for entry in entries if entry.review_job_id not in spared]
    ids = ",".join(map(str, found[:MAX_AT_ONCE]))
    url = reverse("admin:review_reviewjob_recover", args=[action.value]) if action else ""
    return ToRecover(
        kind=kind,
        title=title,
        entries=tuple(entries[:SHOWN_JOBS]),
        total=len(entries),
        action=action.value if action else "",
        all_url=f"{url}?ids={ids}" if url and ids else "",
    )


def _find_standing(now: datetime) -> Standing:
    config = conf.current()
    queue, _files = queue_now(config, QueueFilter(), now=now)
    with open_corpus(config) as corpus:
        return read_standing(corpus, queue=queue, config=config, processes=ProcessTable(), now=now)


_standing = Remembered(_find_standing)


def standing(now: datetime) -> Answer[Standing]:
    """Where everything stands, from memory where it takes a while to count."""
    return _standing.ask(this_store(), now=now)


STANDING = Source("where everything stands", lambda: _standing.knows(this_store()), standing)


@needs(STANDING)
def start(request: HttpRequest) -> HttpResponse:
    """What needs a person, and how much is covered."""
    parse_filters(request, {})
    now = timezone.now()
    answer = standing(now)
    return page(
        request,
        "review/start.html",
        lambda: (
            _context(answer)
            | {"findings": _open_findings(now), "may_recover": may(request, PERMISSION)}
        ),
        document=answer.value.status,
    )


def _context(answer: Answer[Standing]) -> dict[str, Any]:
    status, recovery = answer.value.status, answer.value.recovery
    ready = {entry.review_job_id for entry in recovery.ready}
    known = [*recovery.abandoned, *recovery.ready, *recovery.failed]
    return {
        "status": status,
        "counted_at": answer.at,
        "recovery": [
            _group(
                *("abandoned", "Abandoned", recovery.abandoned, RecoveryAction.REPLACE),
                spared=ready,
            ),
            _group("ready", "Ready to ingest", recovery.ready, RecoveryAction.INGEST),
            _group("missing", "Pairs missing", recovery.failed, None),
        ],
        "to_recover": len({entry.review_job_id for entry in known}),
        "ready": ready,
        "looks": answer.value.looks[:SHOWN_LOOKS],
        "look_count": len(answer.value.looks),
        "covers": [_cover(partition) for partition in status.partitions],
        "sweeps": running_sweeps(),
        "events": list(shown_acts(_last_acts()))[:LAST_EVENTS],
        "skipped": [problem for problem in status.problems if problem.skipped],
    }


def _last_acts() -> tuple[Act, ...]:
    folder = conf.current().gates_folder
    return newest_acts(ActFilter(), place={}, limit=READ_EVENTS, gates_folder=folder).acts


def _open_findings(now: datetime) -> dict[str, int]:
    """By severity, as the queue's own page counts them at this moment."""
    queue, _files = queue_now(conf.current(), QueueFilter(), now=now)
    return dict(read_facets(queue).severities)


def _cover(partition: PartitionStatusJson) -> PartitionCover:
    applicable = [gate for gate in partition.gates if gate.applicable]
    return PartitionCover(
        share=_total(partition.model_partition, [_share(gate) for gate in applicable]),
        in_flight=partition.in_flight,
        lenses=tuple(_lenses(applicable)),
    )


def _lenses(gates: Sequence[GateStatusJson]) -> Iterator[Lens]:
    for name, members in groupby(gates, key=lambda gate: gate.gate_id.partition("/")[0]):
        shares = tuple(_share(gate) for gate in members)
        yield Lens(_total(name, shares), shares)


def _share(gate: GateStatusJson) -> Share:
    return Share(
        name=gate.gate_id,
        fresh=gate.fresh,
        stale=gate.gate_changed + gate.note_changed,
        missing=gate.missing_review,
    )


def _total(name: str, shares: Sequence[Share]) -> Share:
    return Share(
        name=name,
        fresh=sum(share.fresh for share in shares),
        stale=sum(share.stale for share in shares),
        missing=sum(share.missing for share in shares),
    )


urlpatterns = [path("", start, name="start")]
