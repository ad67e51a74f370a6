"""After a storm: everything that was reported is in the store, nothing else is, and every rule holds."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.races.books import ANY, Act, Versions, read_books

_SHOWN = 20


@dataclass
class Verdict:
    """What came of a storm: faults, and how many acts of each kind ended how."""

    faults: list[str] = field(default_factory=list)
    acts: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    invariants: int = 0


def main(books: str) -> None:
    """Print the verdict on the books and the store, as JSON."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    acts, edits = read_books(Path(books))
    verdict = Verdict(
        acts=dict(sorted(Counter(act.what for act in acts).items())),
        refused=dict(
            sorted(Counter(f"{act.what}: {act.refused}" for act in acts if act.refused).items())
        ),
    )
    checks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: (f"{act.what} {act.actor}: {act.fault}" for act in acts if act.fault),
        lambda: _claimed_once(acts),
        lambda: _reported_rows(acts, verdict),
        lambda: _accepted(acts),
        _accepted_once,
        _reviews_whole,
        _moves_in_line,
        lambda: _texts_told(acts, Versions(edits)),
        lambda: _texts_pinned(acts, Versions(edits)),
        _prompts,
        lambda: _invariants(verdict),
    )
    for check in checks:
        verdict.faults += list(check())[:_SHOWN]
    sys.stdout.write(json.dumps(asdict(verdict)))


def _claimed_once(acts: list[Act]) -> Iterator[str]:
    taken = Counter(
        job_id for act in acts if act.what in ("claim_next", "claim_one") for job_id in act.jobs
    )
    for job_id, times in taken.items():
        if times > 1:
            yield f"job {job_id} was claimed {times} times"


def _reported_rows(acts: list[Act], verdict: Verdict) -> Iterator[str]:
    """Of each kind an actor has exactly the rows that were reported, and a refused act has none."""
    stored = _stored_rows()
    for kind, by_actor in stored.items():
        verdict.rows[kind] = sum(by_actor.values())
        for act in acts:
            said = act.rows.get(kind, 0)
            if said not in (by_actor[act.actor], ANY):
                yield f"{act.what} {act.actor}: {kind}: said {said}, stored {by_actor[act.actor]}"


def _stored_rows() -> Mapping[str, Counter[str]]:
    from django.db.models import Count

    from review.models import Acceptance, DecisionEvent, Disposition, JobEvent
    from review.vocabulary import AcceptanceKind, JobStatus

    def counted(rows: Any, name: str, what: Any = "pk") -> Counter[str]:
        grouped = rows.values_list(name).annotate(Count(what, distinct=True)).order_by()
        return Counter(dict(grouped))

    events, moves = Acceptance.objects, JobEvent.objects
    acks = events.filter(kind__in=[AcceptanceKind.ACK, AcceptanceKind.AUTO_ACK])
    overrides = events.filter(kind=AcceptanceKind.OVERRIDE)
    closed = moves.filter(to_status__in=[JobStatus.COMPLETED, JobStatus.FAILED])
    return {
        "created": counted(moves.filter(from_status=""), "actor"),
        "claimed": counted(moves.filter(to_status=JobStatus.RUNNING), "actor"),
        "closed": counted(closed, "actor"),
        "acked": counted(acks, "actor"),
        "overridden": counted(overrides.exclude(reason__contains="carried over"), "actor"),
        "carried": counted(events.filter(kind=AcceptanceKind.CARRY_OVER), "actor"),
        "decided": counted(DecisionEvent.objects.all(), "actor"),
        # What is carried over keeps its actor and its moment.
        "disposed": counted(Disposition.objects.all(), "actor", "at"),
        "page_decided": counted(DecisionEvent.objects.all(), "reason"),
        "page_disposed": counted(Disposition.objects.all(), "reason"),
        "page_overridden": counted(overrides, "reason"),
        "page_acked": counted(acks, "reason"),
    }


def _accepted(acts: list[Act]) -> Iterator[str]:
    from review.models import Acceptance

    stored = set(
        Acceptance.objects.exclude(review_pair=None).values_list("review_pair_id", flat=True)
    )
    for act in acts:
        for pair_id in set(act.accepted) - stored:
            yield f"{act.what} {act.actor}: pair {pair_id} was reported accepted and is not"


def _accepted_once() -> Iterator[str]:
    """A review is accepted by its ingest once; more only by people who decided, once each."""
    from django.db.models import Count

    from review.models import Acceptance, DecisionEvent
    from review.vocabulary import AcceptanceKind

    decided = Counter(DecisionEvent.objects.values_list("pair_id", flat=True))
    reviews = Acceptance.objects.filter(kind=AcceptanceKind.FULL_REVIEW)
    for pair_id, times in reviews.values_list("review_pair_id").annotate(Count("pk")).order_by():
        if times > 1 + decided[pair_id]:
            yield f"pair {pair_id} was accepted {times} times, decided {decided[pair_id]} times"


def _reviews_whole() -> Iterator[str]:
    """Every completed pair has its own review's text, and every other pair has none."""
    from review.models import ReviewPair, ReviewText
    from review.vocabulary import PairStatus
    from tests.races.reviews import review_of

    texts = dict(ReviewText.objects.values_list("pair_id", "text"))
    rows = ReviewPair.objects.exclude(job__model_partition__name="rules")
    for pair_id, status in rows.values_list("pk", "status"):
        text = texts.get(pair_id)
        if (status == PairStatus.COMPLETED) != (text is not None):
            yield f"pair {pair_id} is {status} and has text: {text is not None}"
        if text is not None and text.strip() != review_of(pair_id).strip():
            yield f"pair {pair_id} has another text than its review: {text!r}"


def _moves_in_line() -> Iterator[str]:
    """Each move of a job leaves the state that the one before led to, and the last one holds."""
    from review.models import JobEvent, ReviewJob

    states: dict[int, str] = {}
    moves = JobEvent.objects.order_by("pk")
    for job_id, before, after in moves.values_list("job_id", "from_status", "to_status"):
        if states.get(job_id, "") != before:
            yield f"job {job_id} left {before!r} and was {states.get(job_id)!r}"
        states[job_id] = after
    for job_id, status in ReviewJob.objects.values_list("pk", "status"):
        if states.get(job_id) != status:
            yield f"job {job_id} is {status}, and its moves lead to {states.get(job_id)}"


def _texts_told(acts: list[Act], versions: Versions) -> Iterator[str]:
    """What a selector names as a note's text was on disk while it ran: the cache never lies."""
    for act in acts:
        for path, sha256 in act.texts:
            if not versions.was_there(path, sha256, began=act.began, ended=act.ended):
                yield f"{act.what} {act.actor}: {path} had not the text {sha256[:12]} then"


def _texts_pinned(acts: list[Act], versions: Versions) -> Iterator[str]:
    """What was pinned by an ack, an override or a new job was on disk while it was done."""
    from review.models import Acceptance, JobEvent, ReviewPair
    from review.vocabulary import AcceptanceKind

    by_actor = {act.actor: act for act in acts}
    columns = ("note__path", "note_snapshot__content_sha256", "gate__path",
               "gate_snapshot__content_sha256")  # fmt: skip
    kinds = [AcceptanceKind.ACK, AcceptanceKind.AUTO_ACK, AcceptanceKind.OVERRIDE]
    events = Acceptance.objects.filter(kind__in=kinds).exclude(reason__contains="carried over")
    pinned = list(events.values_list("actor", *columns))
    decisive = ("decide", "page_decide", "carry")
    creators = dict(JobEvent.objects.filter(from_status="").values_list("job_id", "actor"))
    for job_id, *texts in ReviewPair.objects.values_list("job_id", *columns):
        pinned.append((creators[job_id], *texts))
    for actor, note, note_sha256, gate, gate_sha256 in pinned:
        act = by_actor.get(actor)
        if act is None or act.what in decisive:
            continue
        for path, sha256 in ((note, note_sha256), (gate, gate_sha256)):
            if not versions.was_there(path, sha256, began=act.began, ended=act.ended):
                yield f"{act.what} {actor}: pinned {path} {sha256[:12]}, not on disk then"


def _prompts() -> Iterator[str]:
    """A prompt shows exactly the texts that its pairs pin."""
    from review import settings
    from review.models import ReviewPair

    root = settings.current().root
    columns = ("job__prompt_path", "note_snapshot__text", "gate_snapshot__text")
    prompts: dict[str, str] = {}
    for path, *texts in ReviewPair.objects.values_list(*columns):
        if path not in prompts:
            prompts[path] = (root / path).read_text(encoding="utf-8")
        if any(text not in prompts[path] for text in texts):
            yield f"{path} shows another text than the one that is pinned"


def _invariants(verdict: Verdict) -> Iterator[str]:
    from review.upkeep.checks import all_invariants, broken_invariants

    verdict.invariants = len(all_invariants())
    for broken in broken_invariants():
        yield f"{broken.name}: {broken.message}: {'; '.join(broken.details)}"


if __name__ == "__main__":
    main(sys.argv[1])
