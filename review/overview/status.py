"""The whole review at a glance, and what of it trips a gate in continuous integration."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from django.db.models import Count

from review.documents.base import Document, Problems, no_gate_found, no_note_found
from review.jobs.costs import CostsJson
from review.jobs.leases import Processes, abandoned_jobs
from review.jobs.provenance import unknown_partitions
from review.knowledge_base import Corpus, NoteList
from review.models import KbPath, ReviewJob, ReviewPair
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from review.reviews.needs_a_look import LookRequest, read_looks, undecided_pairs
from review.reviews.pair_states import BEST, DECIDED, STALE, PairStates, read_pair_states
from review.selection.documents import PairReasonJson, RenameJson
from review.selection.freshness import in_flight
from review.selection.names import find_renames, is_there, live_acceptances
from review.selection.select import SelectionRequest, is_trivial, select_targets
from review.store.errors import store_name
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    QUEUED_DECISIONS,
    RULES_PARTITION,
    Decision,
    JobStatus,
    Staleness,
)


class GateStatusJson(Document, kw_only=True):
    """One gate in one partition; `decisions` count current acceptances of notes there are, on any text."""

    gate_id: str
    applicable: int
    fresh: int
    missing_review: int
    gate_changed: int
    note_changed: int
    decisions: dict[str, int]


class PartitionStatusJson(Document):
    model_partition: str
    applicable: int
    fresh: int
    in_flight: int
    gates: list[GateStatusJson]


class OrphanJson(Document):
    """A path with current acceptances that is no note or gate any more."""

    path: str
    kind: str
    acceptances: int


class StepJson(Document, kw_only=True):
    """Something to do, and the command for it; a word in capitals is for the caller to fill in."""

    what: str
    count: int
    command: str


class StatusJson(Document, kw_only=True, tag_field="schema", tag="review-status/1"):
    """The answer of `review_status`.

    `uncovered` counts applicable pairs that are fresh in no partition; `queue` the entries of the
    warn queue by decision; `needs_a_look` how many `warn_selector --needs-a-look` lists; `tripped` is what
    `--fail-on` found, or null; `costs` is null unless it is asked for; `notices` are sentences, of what
    the numbers do not tell; `renames` are orphans of which there is a file under another path;
    `next_steps` are what to do, in order.
    """

    notes: int
    gates: int
    uncovered: int
    partitions: list[PartitionStatusJson]
    jobs: dict[str, int]
    abandoned_jobs: list[int]
    queue: dict[str, int]
    needs_a_look: int
    orphans: list[OrphanJson]
    problems: Problems
    tripped: str | None
    costs: CostsJson | None = None
    notices: list[str] = []
    renames: list[RenameJson] = []
    waiting_findings: int = 0
    skips: list[PairReasonJson] = []
    next_steps: list[StepJson] = []


class FailOn(StrEnum):
    """The values of `--fail-on`; `warn` trips on a fail too."""

    FAIL = "fail"
    WARN = "warn"
    STALE = "stale"


_COUNTED = {FailOn.FAIL: (Decision.FAIL,), FailOn.WARN: QUEUED_DECISIONS}


def read_status(
    corpus: Corpus, *, model_partition: str | None, fail_on: Iterable[FailOn], now: datetime
) -> StatusJson:
    """Coverage, queue, jobs and orphans, of one model partition or of all."""
    states, config = read_pair_states(corpus), corpus.config
    chosen = (model_partition,) if model_partition else ()
    listed = NoteList(states.notes, states.problems)
    queue = read_warn_queue(corpus, QueueFilter(partitions=chosen), listed=listed)
    abandoned = abandoned_jobs(older_than=config.abandoned_after, processes=Processes(), now=now)
    status = StatusJson(
        notes=len(states.notes),
        gates=len(states.gates),
        uncovered=count_uncovered(states, partition=model_partition or BEST),
        partitions=[read_coverage(states, name) for name in chosen or states.partitions],
        jobs=count_jobs(),
        abandoned_jobs=list(abandoned),
        queue=queue.queue.count_entries(),
        waiting_findings=queue.queue.waiting,
        needs_a_look=len(
            read_looks(corpus, LookRequest(model_partition=model_partition)).needs_a_look
        ),
        orphans=find_orphans(corpus, states),
        problems=states.problems,
        tripped=None,
        skips=list(_skips(states)),
    )
    status.tripped = "; ".join(_trips(status, set(fail_on), hidden=queue.hidden)) or None
    if status.orphans:
        status.renames = find_renames(corpus, states.notes, listed=states.notes)
    unknown = [*unknown_partitions([model_partition], config=config), *corpus.idle_settings()]
    status.notices = [*_notices(status, corpus, is_gate=bool(fail_on)), *unknown]
    steps = _next_steps(status, corpus, states, is_whole=model_partition is None)
    status.next_steps = [
        StepJson(what=what, count=count, command=f"commonplace {command}")
        for what, count, command in steps
        if count > 0
    ][:MOST]
    return status


def _skips(states: PairStates) -> Iterator[PairReasonJson]:
    """Yield the pairs that a note takes itself out of, with `review_skip` in its frontmatter."""
    for note in states.notes:
        for gate in states.gates if note.kind.skips else ():
            reason = gate.requirement.skip_reason(note.kind)
            if reason is not None and gate.requirement.applies_unskipped(note.kind):
                yield PairReasonJson(note_path=note.path, gate_id=gate.gate_id, reason=reason)


def _notices(status: StatusJson, corpus: Corpus, *, is_gate: bool) -> Iterator[str]:
    """Explain zeros that mean no note, or no review: on a first day, in a clone."""
    gates = (gate for partition in status.partitions for gate in partition.gates)
    decided = any(any(gate.decisions.values()) for gate in gates)
    how = "; to fail where a pair has no review, use --fail-on stale" * is_gate
    reviewed = decided or status.jobs[JobStatus.COMPLETED] or status.needs_a_look
    notices = {
        no_note_found(corpus.config.note_roots): not status.notes,
        no_gate_found(corpus.config.gates_folder): not status.gates,
        f"{store_name()} holds no review yet, so the queue is empty{how}": not reviewed,
    }
    return (notice for notice, is_so in notices.items() if is_so)


def _trips(status: StatusJson, levels: set[FailOn], *, hidden: Mapping[str, int]) -> Iterator[str]:
    for level in sorted(levels & _COUNTED.keys()):
        for where, counts in (
            ("in the queue", status.queue),
            ("by gates that cannot be used", hidden),
        ):
            found = {word.value: counts.get(word.value, 0) for word in _COUNTED[level]}
            if any(found.values()):
                yield f"{level}: {where}: " + ", ".join(f"{n} {word}" for word, n in found.items())
    if FailOn.STALE in levels:
        yield from (f"stale: {why}" for why in _stale(status))


def _stale(status: StatusJson) -> Iterator[str]:
    # What could not be looked at is not fresh.
    skipped = len({problem.path for problem in status.problems if problem.skipped})
    # A base that never had a note is one that begins; of one that had, something hides them.
    gone = sum(orphan.kind == "note" for orphan in status.orphans)
    reasons = {
        f"pairs that are fresh in no partition: {status.uncovered}": status.uncovered,
        f"files that could not be looked at: {skipped}": skipped,
        "there is no gate to judge the notes by": status.notes and not status.gates,
        f"no note was found, and {gone} that were reviewed are gone": gone and not status.notes,
    }
    return (reason for reason, is_so in reasons.items() if is_so)


def count_uncovered(states: PairStates, *, partition: str = BEST) -> int:
    """Count the pairs that are not fresh: in any partition, or in this one."""
    counts = sum(states.count(partition, states.notes), Counter())
    return sum(counts[state] for state in STALE)


def count_jobs() -> dict[str, int]:
    """Jobs that review notes, by status; a status without jobs counts 0."""
    rows = ReviewJob.objects.reviews().values_list("status").annotate(Count("pk")).order_by()
    return {status.value: 0 for status in JobStatus} | dict(rows)


def find_orphans(corpus: Corpus, states: PairStates) -> list[OrphanJson]:
    """Return the paths with live acceptances that have no file any more, sorted.

    A file that was left out for a problem, or that lies outside the note roots, still exists.
    """
    orphans = []
    for kind, paths in states.gone.items():
        gone = [path for path in paths if not is_there(corpus, path, kind=kind)]
        live = live_acceptances(kind, KbPath.objects.ids(gone))
        orphans += [OrphanJson(path, kind, count) for path, count in live.items()]
    return sorted(orphans, key=lambda orphan: (orphan.path, orphan.kind))


def read_coverage(states: PairStates, name: str) -> PartitionStatusJson:
    gates = [
        GateStatusJson(
            gate_id=gate.gate_id,
            applicable=count.total(),
            fresh=sum(count[state] for state in DECIDED),
            missing_review=count[Staleness.MISSING_REVIEW.value],
            gate_changed=count[Staleness.GATE_CHANGED.value],
            note_changed=count[Staleness.NOTE_CHANGED.value],
            decisions={
                word.value: states.decisions.get((name, gate.path, word.value), 0)
                for word in ACCEPTING_DECISIONS
            },
        )
        for gate, count in zip(states.gates, states.count(name, states.notes), strict=True)
    ]
    # Pairs that an open job will answer, each once.
    in_flight = ReviewPair.objects.in_flight(name).values("note_id", "gate_id").distinct()
    applicable, fresh = (sum(getattr(gate, it) for gate in gates) for it in ("applicable", "fresh"))
    return PartitionStatusJson(name, applicable, fresh, in_flight.count(), gates)


MOST = 15
_Step = tuple[str, int, str]  # what to do, the number of things, and the command
_TAKE = "next_review_job {} --model {} --runner RUNNER"
_ALL = "--all-gates --skip-rules"
_FINDINGS = "warn_selector --severity warn fail --limit 5"
_LOOK = "warn_selector --needs-a-look --limit 5"
_SWEEP = "review_sweep --all-gates --runner rules -q"


def _next_steps(
    status: StatusJson,
    corpus: Corpus,
    states: PairStates,
    *,
    is_whole: bool,
) -> Iterator[_Step]:
    """Yield the steps in the order in which they are best taken."""
    # A rule that could not judge a text would say so again.
    tried = undecided_pairs(LookRequest(model_partition=RULES_PARTITION)).count()
    stale_rules = count_uncovered(states, partition=RULES_PARTITION) - tried
    given_up, jobs = len(status.abandoned_jobs), status.jobs
    yield "jobs that were given up", given_up, "recover_review_jobs"
    yield "running jobs", jobs[JobStatus.RUNNING] - given_up, "ingest_bundle_output --ready"
    yield "queued jobs", jobs[JobStatus.QUEUED], "next_review_job --runner RUNNER"
    for item in status.renames[:3]:
        yield f"probably renamed: {item.old_path}", 1, item.command.partition(" ")[2]
    yield "pairs that rules judge for free", stale_rules * is_whole, _SWEEP
    judged = [item for item in status.partitions if item.model_partition != RULES_PARTITION]
    for partition in judged[:3]:
        yield from _stale_steps(partition, corpus, states)
    if is_whole and not judged and status.gates and status.notes:
        pairs = (count.total() for count in states.count("MODEL", states.notes))
        yield "pairs that no model has reviewed", sum(pairs), _TAKE.format(_ALL, "MODEL")
    yield "reviews with open findings", sum(status.queue.values()), _FINDINGS
    yield "reviews that a person must read", status.needs_a_look, _LOOK
    yield "reviewed files that are gone", len(status.orphans), "review_status --summary"
    yield "problems with files", len(status.problems), "review_doctor"


def step_lines(status: StatusJson) -> Iterator[str]:
    """One line a step; first why there can be none, where notes or gates are missing."""
    steps = status.next_steps
    if not (status.notes and status.gates):
        yield from status.notices
    yield from (f"{step.what}, {step.count}: {step.command}" for step in steps)
    if status.notes and status.gates and not steps:
        yield "nothing to do: every pair is fresh, the queue is empty, no job is open"


def _stale_steps(
    partition: PartitionStatusJson, corpus: Corpus, states: PairStates
) -> Iterator[_Step]:
    """Yield the steps for what is stale; each count is that of its command's scope."""
    name, model = partition.model_partition, shlex.quote(partition.model_partition)
    if any(gate.note_changed for gate in partition.gates):
        changed = SelectionRequest(
            all_gates=True, model_partition=name, reasons=(Staleness.NOTE_CHANGED,)
        )
        trivial = sum(map(is_trivial, select_targets(corpus, changed).targets()))
        what = f"changed for {model}, in nothing that the gates watch"
        yield what, trivial, f"ack_trivial_changes --model {model} --all-gates"
    notes = {note.path: note for note in states.notes}
    places = {gate.path: at for at, gate in enumerate(states.gates)}
    waiting = [key for key in in_flight(name) if key[0] in notes and key[1] in places]
    taken = sum(states.row(name, notes[note])[places[gate]] in STALE for note, gate in waiting)
    stale = partition.applicable - partition.fresh - taken
    # Not those of gates that the partition is not meant to judge, unless there are none.
    owed = {
        gate.gate_id: gate.fresh < gate.applicable for gate in partition.gates if gate.applicable
    }
    is_whole = owed.keys() >= {gate.gate_id for gate in states.model_gates}
    names = _ALL if is_whole else " ".join(gate_id for gate_id in owed if owed[gate_id])
    yield f"stale for {model}", stale, _TAKE.format(names, model)
