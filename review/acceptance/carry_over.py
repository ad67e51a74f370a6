"""Takes acceptances along to a new path, with what was decided about findings, or retires them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from django.db import transaction

from review.acceptance.accept import Candidate, accept
from review.acceptance.ack import code_of
from review.acceptance.by_path import (
    AcceptanceRow,
    acceptances_at,
    accepted_keys,
    still_current,
)
from review.acceptance.carry_dispositions import CarryPlan, carried_dispositions
from review.acceptance.documents import CarriedJson, CarryOverJson, MovedKey, NotCarriedJson
from review.acceptance.finding_states import recompute_states
from review.domain.paths import near_matches, normalise_path
from review.errors import Conflict, InputRejected, ReviewError, UsageRefused
from review.knowledge_base import Corpus, UnreadableFile
from review.models import (
    CurrentAcceptance,
    Disposition,
    FileSnapshot,
    FileSnapshotKey,
    ReviewStore,
    SnapshotText,
    batched,
)
from review.selection.note_cache import NoteShelf, gate_snapshot
from review.selection.orphans import EMPTY_SHA256, is_there
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


class StillThere(Conflict):
    """The file whose acceptances are to be retired is on disk."""


@dataclass(frozen=True)
class CarryRequest:
    """From where to where; files or folders, notes or gates.

    :param new_path: None retires what is accepted at the old path: its files are gone for good.
    :param model_partition: only this partition's acceptances; None takes all.
    :param edited: carry the acceptance of the old text too where the file was edited: the pair is
        then stale, as after any edit.
    """

    old_path: str
    new_path: str | None
    actor: str
    model_partition: str | None = None
    dry_run: bool = False
    edited: bool = False
    reason: str = ""


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


def carry_over_acceptances(
    request: CarryRequest, *, corpus: Corpus, now: datetime
) -> CarryOverJson:
    """Accept at the new path what is accepted at the old one, with what was decided of findings.

    Only where the file there has exactly the accepted bytes (unless `edited`) and the key has no
    acceptance yet; the others are named. It commits in parts: running it again carries the rest.

    :raises UsageRefused: both paths are the same.
    :raises BadPath: one of them is none below the root.
    :raises NothingToCarry: nothing is accepted at the old path.
    """
    old = normalise_path(request.old_path)
    move = None if request.new_path is None else PathMove(old, normalise_path(request.new_path))
    if move and move.old == move.new:
        raise UsageRefused("the old and the new path are the same")
    found = acceptances_at(old, model_partition=request.model_partition)
    rows = [row for row in found if not row.is_retired]
    if move:
        rows = [row for row in rows if move.covers(row.note_path) or move.covers(row.gate_path)]
    if not rows:
        raise _nothing(request, old)
    answer = CarryOverJson(
        dry_run=request.dry_run,
        old_path=old,
        new_path=move.new if move else None,
        carried=[],
        not_identical=[],
        refused=[],
    )
    files = _Files(corpus, keep_edited=request.edited)
    for chunk in batched(rows, _CHUNK):
        if move:
            plans = _plans(chunk, move=move, files=files, answer=answer)
            write = partial(_carry, plans, request=request, answer=answer, now=now)
        else:
            plans = _retirements(chunk, old, corpus=corpus, answer=answer)
            write = partial(_retire, plans, request=request, answer=answer, now=now)
        _write_part(write, dry_run=request.dry_run)
    return answer


def _write_part(write: Callable[[], None], *, dry_run: bool) -> None:
    if dry_run:
        write()
        return
    with transaction.atomic():
        # First, so that no review of the path is accepted between the look and the write.
        ReviewStore.objects.move_acceptances()
        write()


class _Files:
    """The texts at the new paths, each read once."""

    def __init__(self, corpus: Corpus, *, keep_edited: bool) -> None:
        self._corpus = corpus
        self._shelf = NoteShelf(corpus)
        self._keep_edited = keep_edited

    def note(self, path: str, row: AcceptanceRow) -> SnapshotText:
        """The accepted text of the note, for its new path.

        :raises UnreadableFile, NotIdentical: there is no file, or it is another text.
        """
        text = self._shelf.note(path).snapshot
        return self._accepted(text, row.note_sha256, row.note_snapshot_id)

    def gate(self, path: str, row: AcceptanceRow) -> SnapshotText:
        """The same of the gate."""
        text = gate_snapshot(self._corpus.gate(path))
        return self._accepted(text, row.gate_sha256, row.gate_snapshot_id)

    def _accepted(self, text: SnapshotText, sha256: str, snapshot_id: int) -> SnapshotText:
        if text.sha256 == sha256:
            return text
        if not self._keep_edited:
            raise NotIdentical(
                f"{text.path} is not the text that was accepted", hint="--edited carries it too"
            )
        row = FileSnapshot.objects.get(pk=snapshot_id)
        return SnapshotText(text.path, sha256, row.text, row.byte_size)


def _plans(
    rows: Sequence[AcceptanceRow], *, move: PathMove, files: _Files, answer: CarryOverJson
) -> list[CarryPlan]:
    plans: list[CarryPlan] = []
    for row in rows:
        plan = CarryPlan(row, move.moved(row.note_path), move.moved(row.gate_path))
        texts: list[SnapshotText] = []
        try:
            if plan.note_path != row.note_path:
                texts.append(files.note(plan.note_path, row))
            if plan.gate_path != row.gate_path:
                texts.append(files.gate(plan.gate_path, row))
        except NotIdentical as error:
            answer.not_identical.append(_not_carried(plan, error))
        except UnreadableFile as error:
            answer.refused.append(_not_carried(plan, error))
        else:
            plans.append(replace(plan, texts=tuple(texts)))
    return plans


def _carry(
    plans: Sequence[CarryPlan], *, request: CarryRequest, answer: CarryOverJson, now: datetime
) -> None:
    taken = accepted_keys(plan.key for plan in plans)
    for plan in plans:
        if plan.key in taken:
            error = AlreadyAccepted(f"{_name(plan)} has an acceptance already")
            answer.refused.append(_not_carried(plan, error))
    free = _unmoved([plan for plan in plans if plan.key not in taken], answer)
    decided = carried_dispositions(free)
    if not request.dry_run:
        keys = FileSnapshot.objects.take([text for plan in free for text in plan.texts], now=now)
        accept([_candidate(plan, keys, request=request, now=now) for plan in free], now=now)
        Disposition.objects.bulk_create([row for _plan, row in decided], batch_size=100)
        recompute_states(row.fingerprint for _plan, row in decided)
    came_along = Counter(plan.key for plan, _row in decided)
    answer.carried += [_carried(plan, came_along[plan.key]) for plan in free]


def _retirements(
    rows: Sequence[AcceptanceRow], path: str, *, corpus: Corpus, answer: CarryOverJson
) -> list[CarryPlan]:
    """The acceptances whose note or gate at `path` is gone, with an empty text in its place."""
    gates = {gate.path for gate in corpus.gates.gates}
    plans = []
    for row in rows:
        plan = CarryPlan(row, row.note_path, row.gate_path)
        of_note = _is_at(row.note_path, path)
        file = row.note_path if of_note else row.gate_path
        if is_there(corpus, file) if of_note else file in gates:
            error = StillThere(f"{file} is there: only what is gone can be retired")
            answer.refused.append(_not_carried(plan, error))
        else:
            plans.append(replace(plan, texts=(SnapshotText(file, EMPTY_SHA256, "", 0),)))
    return plans


def _retire(
    plans: Sequence[CarryPlan], *, request: CarryRequest, answer: CarryOverJson, now: datetime
) -> None:
    current = _unmoved(plans, answer)
    if not request.dry_run:
        keys = FileSnapshot.objects.take([text for plan in current for text in plan.texts], now=now)
        retired = [
            replace(
                _candidate(plan, keys, request=request, now=now),
                kind=AcceptanceKind.OVERRIDE,
                decision=Decision.PASS,
                review_pair_id=None,
                actor=request.actor,
                reason=request.reason or "retired: the file is gone",
            )
            for plan in current
        ]
        accept(retired, now=now)
    answer.retired += [_carried(plan, 0) for plan in current]


def _unmoved(plans: Sequence[CarryPlan], answer: CarryOverJson) -> list[CarryPlan]:
    """The plans whose acceptance is still the current one; the others are refused."""
    current = still_current(plan.row for plan in plans)
    for plan in plans:
        if plan.row not in current:
            message = f"{_name(plan)}: it was decided anew meanwhile; run it again"
            answer.refused.append(_not_carried(plan, AcceptanceMoved(message)))
    return [plan for plan in plans if plan.row in current]


def _candidate(
    plan: CarryPlan,
    keys: dict[tuple[str, str], FileSnapshotKey],
    *,
    request: CarryRequest,
    now: datetime,
) -> Candidate:
    row = plan.row
    new = {text.path: keys[text.path, text.sha256] for text in plan.texts}
    note = new.get(plan.note_path, FileSnapshotKey(row.note_id, row.note_snapshot_id))
    gate = new.get(plan.gate_path, FileSnapshotKey(row.gate_id, row.gate_snapshot_id))
    overridden = row.review_pair_id is None
    moved = f"carried over from {row.note_path} {row.gate_path}"
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
        reason=f"{row.reason} ({moved} by {request.actor})" if overridden else moved,
    )


def _carried(plan: CarryPlan, dispositions: int) -> CarriedJson:
    return CarriedJson(
        **_names(plan),
        decision=plan.row.decision,
        review_pair_id=plan.row.review_pair_id,
        dispositions=dispositions,
    )


def _not_carried(plan: CarryPlan, error: ReviewError) -> NotCarriedJson:
    return NotCarriedJson(**_names(plan), code=code_of(error), message=error.message)


def _names(plan: CarryPlan) -> MovedKey:
    return MovedKey(
        model_partition=plan.row.model_partition,
        old_note_path=plan.row.note_path,
        old_gate_path=plan.row.gate_path,
        note_path=plan.note_path,
        gate_path=plan.gate_path,
    )


def _name(plan: CarryPlan) -> str:
    return f"{plan.note_path} {plan.gate_path} ({plan.row.model_partition})"


def _nothing(request: CarryRequest, old: str) -> NothingToCarry:
    whose = f" in partition {request.model_partition!r}" if request.model_partition else ""
    known = CurrentAcceptance.objects.values_list("note__path", "gate__path").distinct()[:100_000]
    near = near_matches(old, {path for paths in known for path in paths})
    return NothingToCarry(
        f"nothing is accepted at {old!r}{whose}",
        hint=f"did you mean {', '.join(near)}?" if near else "review_status lists orphans",
    )


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
