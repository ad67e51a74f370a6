"""Carry acceptances over to a new path, with what was decided about findings, or retire them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from django.db import transaction
from django.db.models import Q

from review.acceptance.accept import accept
from review.acceptance.ack import code_of
from review.acceptance.carry_dispositions import CarryPlan, carried_dispositions
from review.acceptance.documents import CarriedJson, CarryOverJson, NotCarriedJson
from review.acceptance.finding_states import recompute_states
from review.domain.paths import did_you_mean, normalise_path
from review.errors import Conflict, InputRejected, ReviewError, UsageRefused
from review.knowledge_base import Corpus, NoteText, UnreadableFile
from review.models import (
    Acceptance,
    CurrentAcceptance,
    Disposition,
    FileSnapshot,
    FileText,
    KbPath,
    ModelPartition,
    ReviewStore,
    SnapshotText,
    batched,
)
from review.selection.orphans import EMPTY_SHA256, is_there
from review.selection.path_filters import below, is_below
from review.vocabulary import AcceptanceKind, Decision

_CHUNK = 200
_RETIRED = Q(event__kind=AcceptanceKind.OVERRIDE) & (
    Q(note_snapshot__content_sha256=EMPTY_SHA256) | Q(gate_snapshot__content_sha256=EMPTY_SHA256)
)


class NothingToCarry(InputRejected):
    """There is no acceptance at the old path or below it."""


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

    def moved(self, path: str) -> str:
        """Return the path after the move; its own if it did not move.

        A folder can be moved into itself: what is at the new path was there all along.
        """
        into_itself = is_below(self.new, (self.old,))
        if not is_below(path, (self.old,)) or (into_itself and is_below(path, (self.new,))):
            return path
        return f"{self.new}{path[len(self.old) :]}"


def carry_over_acceptances(
    request: CarryRequest, *, corpus: Corpus, now: datetime
) -> CarryOverJson:
    """Accept at the new path what is accepted at the old one, with what was decided of findings.

    Only if the file there has exactly the accepted bytes (unless `edited`) and the key has no
    acceptance yet; the others are named. It commits in parts: running it again carries the rest.

    :raises UsageRefused: both paths are the same.
    :raises BadPath: one of them is none below the root.
    :raises NothingToCarry: nothing is accepted at the old path.
    """
    old = normalise_path(request.old_path)
    move = None if request.new_path is None else PathMove(old, normalise_path(request.new_path))
    if move and move.old == move.new:
        raise UsageRefused("the old and the new path are the same")
    rows = _acceptances_at(old, request.model_partition)
    if move:
        paths = {path: move.moved(path) for row in rows for path in (row.note.path, row.gate.path)}
        rows = [row for row in rows if any(paths[p] != p for p in (row.note.path, row.gate.path))]
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
    read_note = cache(corpus.read_note)
    for chunk in batched(rows, _CHUNK):
        if move:
            plans = _plans(
                chunk, move, read_note=read_note, corpus=corpus, request=request, answer=answer
            )
        else:
            plans = _retirements(chunk, old, corpus=corpus, answer=answer)
        with nullcontext() if request.dry_run else transaction.atomic():
            if not request.dry_run:
                # First, so that no review of the path is accepted between the look and the write.
                ReviewStore.objects.move_acceptances()
            _write(plans, request=request, answer=answer, now=now)
    return answer


def _acceptances_at(path: str, model_partition: str | None) -> list[CurrentAcceptance]:
    """Return what is accepted for notes or gates at `path` or below it, without what is retired."""
    names = KbPath.objects.filter(below((path,), field="path")).values_list("pk", "path")
    path_ids = [key for key, name in names if is_below(name, (path,))]
    # The index starts with the partition.
    partitions = ModelPartition.objects.all()
    if model_partition is not None:
        partitions = partitions.filter(name=model_partition)
    accepted = (
        CurrentAcceptance.objects.filter(
            model_partition_id__in=list(partitions.values_list("pk", flat=True))
        )
        .exclude(_RETIRED)
        .select_related(
            "model_partition",
            "note",
            "gate",
            "note_snapshot",
            "gate_snapshot",
            "event__review_pair",
        )
        .defer("note_snapshot__text", "gate_snapshot__text")
    )
    found: dict[int, CurrentAcceptance] = {}
    for chunk in batched(path_ids, _CHUNK):
        for at_path in (Q(note_id__in=chunk), Q(gate_id__in=chunk)):
            found |= {row.pk: row for row in accepted.filter(at_path)}
    return sorted(
        found.values(), key=lambda row: (row.note.path, row.gate.path, row.model_partition_id)
    )


def _plans(
    rows: Sequence[CurrentAcceptance],
    move: PathMove,
    *,
    read_note: Callable[[str], NoteText],
    corpus: Corpus,
    request: CarryRequest,
    answer: CarryOverJson,
) -> list[CarryPlan]:
    plans: list[CarryPlan] = []
    for row in rows:
        plan = CarryPlan(row, move.moved(row.note.path), move.moved(row.gate.path))
        texts: list[FileText] = []
        try:
            if plan.note_path != row.note.path:
                note = read_note(plan.note_path)
                texts.append(_accepted(note, row.note_snapshot, edited=request.edited))
            if plan.gate_path != row.gate.path:
                gate = corpus.gate(plan.gate_path)
                texts.append(_accepted(gate, row.gate_snapshot, edited=request.edited))
        except NotIdentical as error:
            answer.not_identical.append(_not_carried(plan, error))
        except UnreadableFile as error:
            answer.refused.append(_not_carried(plan, error))
        else:
            plans.append(replace(plan, texts=tuple(texts)))
    return plans


def _accepted(text: FileText, accepted: FileSnapshot, *, edited: bool) -> FileText:
    """Return the accepted text under its new path.

    :raises NotIdentical: the file is another text, and edited ones are not carried.
    """
    if text.sha256 == accepted.content_sha256:
        return text
    if not edited:
        raise NotIdentical(
            f"{text.path} is not the text that was accepted", hint="--edited carries it too"
        )
    return SnapshotText(text.path, accepted.content_sha256, accepted.text)


def _retirements(
    rows: Sequence[CurrentAcceptance], path: str, *, corpus: Corpus, answer: CarryOverJson
) -> list[CarryPlan]:
    """Plan an empty text in place of the note or gate at `path` that is gone."""
    gates = {gate.path for gate in corpus.gates.gates}
    plans = []
    for row in rows:
        plan = CarryPlan(row, row.note.path, row.gate.path)
        of_note = is_below(row.note.path, (path,))
        file = row.note.path if of_note else row.gate.path
        if is_there(corpus, file) if of_note else file in gates:
            error = StillThere(f"{file} is there: only what is gone can be retired")
            answer.refused.append(_not_carried(plan, error))
        else:
            plans.append(replace(plan, texts=(SnapshotText(file, EMPTY_SHA256, ""),)))
    return plans


def _write(
    plans: Sequence[CarryPlan], *, request: CarryRequest, answer: CarryOverJson, now: datetime
) -> None:
    is_move = request.new_path is not None
    current = _still_possible(plans, answer, is_move=is_move)
    decided = carried_dispositions(current) if is_move else []
    if not request.dry_run:
        keys = FileSnapshot.objects.take([text for plan in current for text in plan.texts], now=now)
        accept([_acceptance(plan, keys, request=request, now=now) for plan in current], now=now)
        Disposition.objects.bulk_create([row for _plan, row in decided], batch_size=100)
        recompute_states(row.fingerprint for _plan, row in decided)
    copied = Counter(plan.key for plan, _row in decided)
    (answer.carried if is_move else answer.retired).extend(
        CarriedJson(
            **_names(plan),
            decision=plan.row.decision,
            review_pair_id=plan.row.event.review_pair_id,
            dispositions=copied[plan.key],
        )
        for plan in current
    )


def _still_possible(
    plans: Sequence[CarryPlan], answer: CarryOverJson, *, is_move: bool
) -> list[CarryPlan]:
    """Return the plans whose new key is free and whose acceptance is still the current one."""
    taken = CurrentAcceptance.objects.filter(
        model_partition_id__in={plan.key[0] for plan in plans},
        note__path__in={plan.note_path for plan in plans},
        gate__path__in={plan.gate_path for plan in plans},
    ).exclude(_RETIRED)
    taken_keys = set(taken.values_list("model_partition_id", "note__path", "gate__path"))
    unmoved = CurrentAcceptance.objects.filter(pk__in=[plan.row.pk for plan in plans])
    event_ids = set(unmoved.values_list("event_id", flat=True))
    found = []
    for plan in plans:
        name = f"{plan.note_path} {plan.gate_path} ({plan.row.model_partition.name})"
        error: ReviewError
        if is_move and plan.key in taken_keys:
            error = AlreadyAccepted(f"{name} has an acceptance already")
        elif plan.row.event_id not in event_ids:
            error = AcceptanceMoved(f"{name}: it was decided anew meanwhile; run it again")
        else:
            found.append(plan)
            continue
        answer.refused.append(_not_carried(plan, error))
    return found


def _acceptance(
    plan: CarryPlan,
    keys: dict[tuple[str, str], FileSnapshot],
    *,
    request: CarryRequest,
    now: datetime,
) -> Acceptance:
    row, event = plan.row, plan.row.event
    new = {text.path: keys[text.path, text.sha256] for text in plan.texts}
    note = new.get(plan.note_path, row.note_snapshot)
    gate = new.get(plan.gate_path, row.gate_snapshot)
    acceptance = Acceptance(
        note_id=note.path_id,
        gate_id=gate.path_id,
        model_partition_id=row.model_partition_id,
        note_snapshot_id=note.pk,
        gate_snapshot_id=gate.pk,
        kind=AcceptanceKind.OVERRIDE,
        decision=Decision.PASS,
        text_read_at=now,
        actor=request.actor,
        reason=request.reason or "retired: the file is gone",
    )
    if request.new_path is None:
        return acceptance
    acceptance.decision = row.decision
    acceptance.reason = f"carried over from {row.note.path} {row.gate.path}"
    if event.review_pair_id is None:
        acceptance.actor = event.actor
        acceptance.reason = f"{event.reason} ({acceptance.reason} by {request.actor})"
    else:
        acceptance.kind = AcceptanceKind.CARRY_OVER
        acceptance.review_pair_id = event.review_pair_id
    return acceptance


def _not_carried(plan: CarryPlan, error: ReviewError) -> NotCarriedJson:
    return NotCarriedJson(**_names(plan), code=code_of(error), message=error.message)


def _names(plan: CarryPlan) -> dict[str, str]:
    return {
        "model_partition": plan.row.model_partition.name,
        "old_note_path": plan.row.note.path,
        "old_gate_path": plan.row.gate.path,
        "note_path": plan.note_path,
        "gate_path": plan.gate_path,
    }


def _nothing(request: CarryRequest, old: str) -> NothingToCarry:
    whose = f" in partition {request.model_partition!r}" if request.model_partition else ""
    known = CurrentAcceptance.objects.values_list("note__path", "gate__path").distinct()[:100_000]
    near = did_you_mean(old, {path for paths in known for path in paths})
    return NothingToCarry(
        f"nothing is accepted at {old!r}{whose}",
        hint=near or "commonplace review_status lists orphans",
    )
