"""Decides about many findings at once, each only if nobody spoke since it was seen; and takes it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from review.acceptance.finding_states import restate_findings
from review.domain.disposition import Decided, finding_state
from review.errors import Conflict, UsageRefused
from review.findings.lookup import find_finding
from review.knowledge_base import NoteList
from review.knowledge_base.opening import open_corpus
from review.models import Disposition, FindingState, ReviewStore, batched
from review.queue.dispose import UnknownFinding
from review.queue.queue import QueueFilter, queue_now
from review.selection.path_filters import digests_of
from review.settings.config import Config
from review.vocabulary import DispositionState

# More notes than this are listed in one scan; fewer are read one by one.
_READ_AT_MOST = 200
_UNDONE = "undone"


class NothingChosen(UsageRefused):
    """No finding was selected."""


class QueueMoved(Conflict):
    """The findings that match are no longer those that were counted."""


class NothingToUndo(Conflict):
    """There is nothing by this person that could be taken back."""


@dataclass(frozen=True)
class SeenFinding:
    """A finding as a person saw it; `last_disposition_id` is of the one that counted, 0 for none."""

    fingerprint: str
    last_disposition_id: int


@dataclass(frozen=True)
class TriageRequest:
    """What to record about findings, and in whose name."""

    findings: tuple[SeenFinding, ...]
    state: DispositionState
    actor: str
    reason: str = ""


@dataclass(frozen=True)
class BulkRequest:
    """What to record about all findings that match, if they still are as many as `expected`."""

    wanted: QueueFilter
    expected: int
    state: DispositionState
    actor: str
    reason: str = ""


@dataclass(frozen=True)
class NotMoved:
    """A finding that somebody decided about meanwhile, and how."""

    fingerprint: str
    disposition: Disposition


@dataclass(frozen=True)
class Triaged:
    """What became of a request; `at` names it, for an undo."""

    at: datetime
    moved: tuple[str, ...]
    not_moved: tuple[NotMoved, ...]


def dispose_findings(request: TriageRequest, *, config: Config, now: datetime) -> Triaged:
    """Append a disposition for each finding about which nobody decided since it was seen.

    :raises NothingChosen: the request names no finding.
    :raises UnknownFinding: no review reported one of them; nothing is written.
    """
    if not request.findings:
        raise NothingChosen("no finding is selected", hint="select some with the boxes, or key x")
    seen = {item.fingerprint: item.last_disposition_id for item in request.findings}
    notes = _notes_of(seen)
    digests = _digests(config, set(notes.values()))
    rows = [
        Disposition(
            fingerprint=mark,
            state=request.state,
            reason=request.reason,
            actor=request.actor,
            note_sha256=digests.get(notes[mark], ""),
            at=now,
        )
        for mark in seen
    ]
    with transaction.atomic():
        # First, so that what is read below holds until the commit.
        ReviewStore.objects.take_turn()
        latest = Disposition.objects.latest_of(seen)
        moved = [row for row in rows if _last_id(latest, row.fingerprint) == seen[row.fingerprint]]
        _store(moved)
    return _triaged(seen, moved, latest, now=now)


def dispose_matching(request: BulkRequest, *, config: Config, now: datetime) -> Triaged:
    """Append a disposition for every finding that matches, counted again now.

    :raises QueueMoved: others match than when they were counted; nothing is written.
    """
    queue, _files = queue_now(config, request.wanted, now=now)
    marks = queue.fingerprints()
    if len(marks) != request.expected:
        raise QueueMoved(
            f"{len(marks):,} findings match now, not {request.expected:,}: somebody decided about"
            " some, or reviews came in; nothing was changed",
            hint="go back, look at the new number and confirm it",
        )
    latest = Disposition.objects.latest_of(marks)
    triage = TriageRequest(
        findings=tuple(SeenFinding(mark, _last_id(latest, mark)) for mark in marks),
        state=request.state,
        actor=request.actor,
        reason=request.reason,
    )
    return dispose_findings(triage, config=config, now=now)


def undo(at: datetime, *, actor: str, now: datetime) -> Triaged:
    """Append what held before, for all that `actor` decided at one moment and nobody since.

    :raises NothingToUndo: the actor decided nothing then.
    """
    with transaction.atomic():
        ReviewStore.objects.take_turn()
        rows = list(Disposition.objects.filter(at=at, actor=actor).order_by("pk"))
        if not rows:
            raise NothingToUndo("there is nothing of yours to take back")
        latest = Disposition.objects.latest_of(row.fingerprint for row in rows)
        counting = [row for row in rows if latest[row.fingerprint].pk == row.pk]
        earlier = _earlier(counting)
        _store(
            [_restored(row, earlier.get(row.fingerprint), actor=actor, now=now) for row in counting]
        )
    return _triaged([row.fingerprint for row in rows], counting, latest, now=now)


def _store(rows: Sequence[Disposition]) -> None:
    Disposition.objects.bulk_create(rows, batch_size=500)
    restate_findings(row.fingerprint for row in rows)


def _triaged(
    seen: Iterable[str],
    moved: Sequence[Disposition],
    latest: Mapping[str, Disposition],
    *,
    now: datetime,
) -> Triaged:
    done = {row.fingerprint for row in moved}
    return Triaged(
        at=now,
        moved=tuple(mark for mark in seen if mark in done),
        not_moved=tuple(
            NotMoved(mark, latest[mark]) for mark in seen if mark not in done and mark in latest
        ),
    )


def _notes_of(marks: Collection[str]) -> dict[str, str]:
    """The note of each finding; it may have left the queue."""
    notes: dict[str, str] = {}
    for chunk in batched(marks, 500):
        rows = FindingState.objects.filter(fingerprint__in=chunk)
        notes.update(rows.values_list("fingerprint", "note_path"))
    for mark in marks:
        if mark in notes:
            continue
        finding = find_finding(mark)
        if finding is None:
            raise UnknownFinding(
                f"no finding has the fingerprint {mark!r}", hint="open the queue again"
            )
        notes[mark] = finding.note_path
    return notes


def _digests(config: Config, paths: Collection[str]) -> dict[str, str]:
    with open_corpus(config) as corpus:
        listed = corpus.notes() if len(paths) > _READ_AT_MOST else NoteList((), ())
        return digests_of(corpus, listed, paths)


def _last_id(latest: Mapping[str, Disposition], mark: str) -> int:
    return latest[mark].pk if mark in latest else 0


def _earlier(rows: Sequence[Disposition]) -> dict[str, Disposition]:
    """The disposition before each of the rows, for those that have one."""
    found: dict[str, Disposition] = {}
    for chunk in batched(rows, 500):
        undone = {row.fingerprint: row.pk for row in chunk}
        for row in Disposition.objects.filter(fingerprint__in=undone).order_by("pk"):
            if row.pk < undone[row.fingerprint]:
                found[row.fingerprint] = row
    return found


def _restored(
    row: Disposition, earlier: Disposition | None, *, actor: str, now: datetime
) -> Disposition:
    """What held before `row`: the earlier one, unless it had lost its force and the finding was open."""
    holds = earlier is not None and _state_by(earlier, row) == earlier.state
    if earlier is None or not holds:
        return Disposition(
            fingerprint=row.fingerprint,
            state=DispositionState.OPEN,
            reason=_UNDONE,
            actor=actor,
            note_sha256=row.note_sha256,
            at=now,
        )
    return Disposition(
        fingerprint=row.fingerprint,
        state=earlier.state,
        reason=earlier.reason,
        actor=actor,
        note_sha256=earlier.note_sha256,
        at=now,
    )


def _state_by(earlier: Disposition, row: Disposition) -> DispositionState:
    decided = Decided(DispositionState(earlier.state), earlier.note_sha256, earlier.at)
    states = FindingState.objects.filter(fingerprint=row.fingerprint)
    read_at = states.aggregate(last=Max("text_read_at"))["last"]
    if read_at is None:
        return decided.state
    return finding_state(decided, text_read_at=read_at, note_sha256=row.note_sha256).state
