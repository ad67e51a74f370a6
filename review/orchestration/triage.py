"""Decides about many findings at once, each only if nobody spoke since it was seen; and takes it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.conf import Config
from review.corpus import NoteList
from review.domain.dispositions import Decided, finding_state
from review.errors import Conflict, UsageRefused
from review.models import Disposition, ReviewStore, batched
from review.orchestration.disposing import UnknownFinding
from review.queries.files_now import files_now
from review.queries.finding_places import find_finding
from review.queries.knowledge_base import open_corpus
from review.queries.places import digests_of
from review.queries.queue_board import QueueBoard
from review.queries.queue_boards import queue_board
from review.queries.queue_choice import QueueFilter, choose
from review.queries.queue_shown import Spoken, as_spoken
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
    """A finding as a person saw it; `last_word_id` is the disposition that counted, 0 for none."""

    fingerprint: str
    last_word_id: int


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
    """A finding that somebody decided about meanwhile, and their word."""

    fingerprint: str
    spoken: Spoken


@dataclass(frozen=True)
class Triaged:
    """What became of a request; `at` names it, for an undo."""

    at: datetime
    moved: tuple[str, ...]
    not_moved: tuple[NotMoved, ...]


def dispose_findings(
    request: TriageRequest, *, board: QueueBoard, config: Config, now: datetime
) -> Triaged:
    """Append a disposition for each finding about which nobody decided since it was seen.

    :raises NothingChosen: the request names no finding.
    :raises UnknownFinding: no review reported one of them; nothing is written.
    """
    if not request.findings:
        raise NothingChosen("no finding is selected", hint="select some with the boxes, or key x")
    seen = {item.fingerprint: item.last_word_id for item in request.findings}
    notes = {mark: _note_of(mark, board) for mark in seen}
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
        Disposition.objects.bulk_create(moved, batch_size=500)
    done = {row.fingerprint for row in moved}
    return Triaged(
        at=now,
        moved=tuple(mark for mark in seen if mark in done),
        not_moved=tuple(
            NotMoved(mark, as_spoken(latest[mark]))
            for mark in seen
            if mark not in done and mark in latest
        ),
    )


def dispose_matching(request: BulkRequest, *, config: Config, now: datetime) -> Triaged:
    """Append a disposition for every finding that matches, counted again now.

    :raises QueueMoved: others match than when they were counted; nothing is written.
    """
    board = queue_board(config, files_now(config, now=now))
    choice = choose(board, request.wanted, gates_folder=config.gates_folder, now=now)
    marks = choice.marks()
    if len(marks) != request.expected:
        raise QueueMoved(
            f"{len(marks):,} findings match now, not {request.expected:,}: somebody decided about"
            " some, or reviews came in; nothing was changed",
            hint="go back, look at the new number and confirm it",
        )
    triage = TriageRequest(
        findings=tuple(SeenFinding(mark, board.last_word_id(mark)) for mark in marks),
        state=request.state,
        actor=request.actor,
        reason=request.reason,
    )
    return dispose_findings(triage, board=board, config=config, now=now)


def undo(at: datetime, *, actor: str, board: QueueBoard, now: datetime) -> Triaged:
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
        Disposition.objects.bulk_create(
            [
                _restored(row, earlier.get(row.fingerprint), actor=actor, board=board, now=now)
                for row in counting
            ],
            batch_size=500,
        )
    done = {row.fingerprint for row in counting}
    return Triaged(
        at=now,
        moved=tuple(row.fingerprint for row in counting),
        not_moved=tuple(
            NotMoved(row.fingerprint, as_spoken(latest[row.fingerprint]))
            for row in rows
            if row.fingerprint not in done
        ),
    )


def _note_of(mark: str, board: QueueBoard) -> str:
    places = board.layout.places.get(mark)
    if places:
        return board.lines[places[0]].note_path
    finding = find_finding(mark)
    if finding is None:
        raise UnknownFinding(
            f"no finding has the fingerprint {mark!r}", hint="open the queue again"
        )
    return finding.note_path


def _digests(config: Config, paths: Collection[str]) -> dict[str, str]:
    with open_corpus(config) as corpus:
        listed = corpus.notes() if len(paths) > _READ_AT_MOST else NoteList((), ())
        return digests_of(corpus, listed, paths)


def _last_id(latest: dict[str, Disposition], mark: str) -> int:
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
    row: Disposition,
    earlier: Disposition | None,
    *,
    actor: str,
    board: QueueBoard,
    now: datetime,
) -> Disposition:
    """What held before `row`: the earlier word, unless it had lost its force and the finding was open."""
    state = _force_of(earlier, row, board) if earlier is not None else DispositionState.OPEN
    holds = earlier is not None and state == earlier.state
    return Disposition(
        fingerprint=row.fingerprint,
        state=state,
        reason=earlier.reason if earlier is not None and holds else _UNDONE,
        actor=actor,
        note_sha256=earlier.note_sha256 if earlier is not None and holds else row.note_sha256,
        at=now,
    )


def _force_of(earlier: Disposition, row: Disposition, board: QueueBoard) -> DispositionState:
    decided = Decided(DispositionState(earlier.state), earlier.note_sha256, earlier.at)
    reads = _read_at(board, row.fingerprint)
    if not reads:
        return decided.state
    return finding_state(decided, text_read_at=max(reads), note_sha256=row.note_sha256).state


def _read_at(board: QueueBoard, mark: str) -> Iterable[datetime]:
    places = board.layout.places.get(mark, ())
    return [board.lines[number].text_read_at for number in places]
