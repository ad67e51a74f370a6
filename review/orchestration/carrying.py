"""Takes acceptances along to a new path, where a file was moved and not changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.contracts.acks import CarriedJson, CarryOverJson, NotCarriedJson
from review.corpus import Corpus, UnreadableFile
from review.domain.identity import near_matches, normalise_path
from review.errors import Conflict, InputRejected, ReviewError, UsageRefused
from review.models import (
    CurrentAcceptance,
    Disposition,
    FileSnapshot,
    FileSnapshotKey,
    ReviewStore,
    SnapshotText,
    batched,
)
from review.orchestration.accepting import Candidate, accept
from review.orchestration.carried_dispositions import (
    CarriedDisposition,
    CarriedReview,
    carried_dispositions,
)
from review.orchestration.finding_states import restate_findings
from review.orchestration.note_shelf import NoteShelf, gate_snapshot
from review.queries.acceptances import (
    AcceptanceRow,
    acceptances_at,
    accepted_keys,
    still_current,
)
from review.vocabulary import AcceptanceKind, Decision

_CHUNK = 200


class NothingToCarry(InputRejected):
    """No acceptance stands at the old path or below it."""


class NotIdentical(Conflict):
    """The file at the new path is not the text that was accepted."""


class AlreadyAccepted(Conflict):
    """The key at the new path has an acceptance of its own."""


class AcceptanceMoved(Conflict):
    """The acceptance at the old path is another than when this began."""


@dataclass(frozen=True)
class CarryRequest:
    """From where to where; files or folders, notes or gates.

    :param model_partition: only this partition's acceptances; None takes all.
    """

    old_path: str
    new_path: str
    actor: str
    model_partition: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class PathMove:
    """A file or folder that has another path now."""

    old: str
    new: str

    def covers(self, path: str) -> bool:
        """Whether `path` moved: it is at the old place, and was not at the new one all along.

        A folder can be moved into itself.
        """
        into_itself = _is_at(self.new, self.old)
        return _is_at(path, self.old) and not (into_itself and _is_at(path, self.new))

    def moved(self, path: str) -> str:
        """The path after the move; its own where it did not move."""
        return f"{self.new}{path[len(self.old) :]}" if self.covers(path) else path


@dataclass(frozen=True)
class _Plan:
    """An acceptance to be made at the new paths; `texts` are those of the files that moved."""

    row: AcceptanceRow
    note_path: str
    gate_path: str
    texts: tuple[SnapshotText, ...]

    @property
    def key(self) -> tuple[int, str, str]:
        """Partition and paths."""
        return (self.row.partition_id, self.note_path, self.gate_path)

    @property
    def review(self) -> CarriedReview | None:
        """The review that is carried; an override has none."""
        row = self.row
        if row.review_pair_id is None or row.pair_note_path is None or row.pair_gate_path is None:
            return None
        return CarriedReview(
            partition=row.model_partition,
            review_pair_id=row.review_pair_id,
            own=(row.pair_note_path, row.pair_gate_path),
            old=(row.note_path, row.gate_path),
            new=(self.note_path, self.gate_path),
        )


def carry_over_acceptances(
    request: CarryRequest, *, corpus: Corpus, now: datetime
) -> CarryOverJson:
    """Accept at the new path what is accepted at the old one, with what was decided of findings.

    Only where the file there has exactly the accepted bytes and the key has no acceptance yet; the
    others are named. It commits in parts: running it again carries the rest.

    :raises UsageRefused: both paths are the same.
    :raises BadPath: one of them is none below the root.
    :raises NothingToCarry: nothing is accepted at the old path.
    """
    move = PathMove(normalise_path(request.old_path), normalise_path(request.new_path))
    if move.old == move.new:
        raise UsageRefused("the old and the new path are the same")
    found = acceptances_at(move.old, model_partition=request.model_partition)
    rows = [row for row in found if move.covers(row.note_path) or move.covers(row.gate_path)]
    if not rows:
        raise _nothing(request, move)
    answer = CarryOverJson(
        dry_run=request.dry_run,
        old_path=move.old,
        new_path=move.new,
        carried=[],
        not_identical=[],
        refused=[],
    )
    files = _Files(corpus)
    for chunk in batched(rows, _CHUNK):
        plans = _plans(chunk, move=move, files=files, answer=answer)
        if request.dry_run:
            _carry(plans, request=request, answer=answer, now=now)
            continue
        with transaction.atomic():
            # First, so that no review of the new path is accepted between the look and the write.
            ReviewStore.objects.move_acceptances()
            _carry(plans, request=request, answer=answer, now=now)
    return answer


class _Files:
    """The files at the new paths, each read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._shelf = NoteShelf(corpus)

    def note(self, path: str, *, sha256: str) -> SnapshotText:
        """The note, if these are its bytes.

        :raises UnreadableFile, NotIdentical: there is none, or it is another text.
        """
        return _same(self._shelf.note(path).snapshot, sha256)

    def gate(self, path: str, *, sha256: str) -> SnapshotText:
        """The gate, if these are its bytes.

        :raises UnreadableFile, NotIdentical: there is none, or it is another text.
        """
        return _same(gate_snapshot(self._corpus.gate(path)), sha256)


def _same(text: SnapshotText, sha256: str) -> SnapshotText:
    if text.sha256 != sha256:
        raise NotIdentical(f"{text.path} is not the text that was accepted")
    return text


def _plans(
    rows: Sequence[AcceptanceRow], *, move: PathMove, files: _Files, answer: CarryOverJson
) -> list[_Plan]:
    plans: list[_Plan] = []
    for row in rows:
        plan = _Plan(row, move.moved(row.note_path), move.moved(row.gate_path), ())
        texts: list[SnapshotText] = []
        try:
            if plan.note_path != row.note_path:
                texts.append(files.note(plan.note_path, sha256=row.note_sha256))
            if plan.gate_path != row.gate_path:
                texts.append(files.gate(plan.gate_path, sha256=row.gate_sha256))
        except NotIdentical as error:
            answer.not_identical.append(_not_carried(plan, error))
        except UnreadableFile as error:
            answer.refused.append(_not_carried(plan, error))
        else:
            plans.append(_Plan(row, plan.note_path, plan.gate_path, tuple(texts)))
    return plans


def _carry(
    plans: Sequence[_Plan], *, request: CarryRequest, answer: CarryOverJson, now: datetime
) -> None:
    taken = accepted_keys(plan.key for plan in plans)
    current = still_current(plan.row for plan in plans)
    free: list[_Plan] = []
    for plan in plans:
        name = f"{plan.note_path} {plan.gate_path} ({plan.row.model_partition})"
        if plan.key in taken:
            error: Conflict = AlreadyAccepted(f"{name} has an acceptance already")
            answer.refused.append(_not_carried(plan, error))
        elif plan.row not in current:
            error = AcceptanceMoved(f"{name}: it was decided anew meanwhile; run it again")
            answer.refused.append(_not_carried(plan, error))
        else:
            free.append(plan)
    decided = carried_dispositions([plan.review for plan in free if plan.review is not None])
    if not request.dry_run:
        _store(free, decided, request=request, now=now)
    answer.carried += [_carried(plan, decided) for plan in free]


def _store(
    plans: Sequence[_Plan],
    decided: Sequence[CarriedDisposition],
    *,
    request: CarryRequest,
    now: datetime,
) -> None:
    keys = FileSnapshot.objects.take([text for plan in plans for text in plan.texts], now=now)
    accept([_candidate(plan, keys, request=request, now=now) for plan in plans], now=now)
    Disposition.objects.bulk_create([item.disposition for item in decided], batch_size=100)
    restate_findings(item.disposition.fingerprint for item in decided)


def _candidate(
    plan: _Plan,
    keys: dict[tuple[str, str], FileSnapshotKey],
    *,
    request: CarryRequest,
    now: datetime,
) -> Candidate:
    row = plan.row
    unmoved_note = FileSnapshotKey(row.note_id, row.note_snapshot_id)
    unmoved_gate = FileSnapshotKey(row.gate_id, row.gate_snapshot_id)
    note = keys.get((plan.note_path, row.note_sha256), unmoved_note)
    gate = keys.get((plan.gate_path, row.gate_sha256), unmoved_gate)
    overridden = row.review_pair_id is None
    return Candidate(
        note_id=note.path_id,
        gate_id=gate.path_id,
        model_partition_id=row.partition_id,
        note_snapshot_id=note.snapshot_id,
        gate_snapshot_id=gate.snapshot_id,
        kind=AcceptanceKind.OVERRIDE if overridden else AcceptanceKind.CARRY_OVER,
        decision=Decision(row.decision),
        review_pair_id=row.review_pair_id,
        text_read_at=now,
        actor=row.actor if overridden else request.actor,
        reason=_reason(row, request),
    )


def _reason(row: AcceptanceRow, request: CarryRequest) -> str:
    moved = f"carried over from {row.note_path} {row.gate_path}"
    return f"{row.reason} ({moved} by {request.actor})" if row.review_pair_id is None else moved


def _carried(plan: _Plan, decided: Sequence[CarriedDisposition]) -> CarriedJson:
    row = plan.row
    return CarriedJson(
        model_partition=row.model_partition,
        old_note_path=row.note_path,
        old_gate_path=row.gate_path,
        note_path=plan.note_path,
        gate_path=plan.gate_path,
        decision=row.decision,
        review_pair_id=row.review_pair_id,
        dispositions=sum(item.review == plan.review for item in decided),
    )


def _not_carried(plan: _Plan, error: ReviewError) -> NotCarriedJson:
    row = plan.row
    return NotCarriedJson(
        model_partition=row.model_partition,
        old_note_path=row.note_path,
        old_gate_path=row.gate_path,
        note_path=plan.note_path,
        gate_path=plan.gate_path,
        code=error.problem.code.value if isinstance(error, UnreadableFile) else error.code,
        message=error.message,
    )


def _nothing(request: CarryRequest, move: PathMove) -> NothingToCarry:
    whose = f" in partition {request.model_partition!r}" if request.model_partition else ""
    known = CurrentAcceptance.objects.values_list("note__path", "gate__path").distinct()[:100_000]
    near = near_matches(move.old, {path for paths in known for path in paths})
    return NothingToCarry(
        f"nothing is accepted at {move.old!r}{whose}",
        hint=f"did you mean {', '.join(near)}?" if near else "review_status lists orphans",
    )


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
