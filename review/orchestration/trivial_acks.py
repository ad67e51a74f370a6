"""Acks every change that the gates themselves call trivial, measured from the reviewed text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from review.contracts.acks import KeyJson, RefusedKeyJson, TrivialAcksJson
from review.contracts.selection import ProblemJson, TargetJson
from review.corpus import Corpus
from review.domain.problems import Problem
from review.errors import UsageRefused
from review.models import batched
from review.orchestration.ack import acked_json, gather, refused_json
from review.orchestration.ack_moves import NoteEdited, Terms, Wanted, move, weigh
from review.orchestration.note_shelf import DraftPair, NoteShelf
from review.queries.targets import SelectionRequest, is_trivial, select_targets
from review.vocabulary import AcceptanceKind, Staleness

_CHUNK = 200


@dataclass(frozen=True)
class TrivialAckRequest:
    """The scope to look at, with a partition, and in whose name to ack."""

    scope: SelectionRequest
    actor: str
    reason: str = ""
    dry_run: bool = False


def ack_trivial_changes(
    request: TrivialAckRequest, *, corpus: Corpus, now: datetime
) -> TrivialAcksJson:
    """Ack the pairs of which nothing but the note changed, and that trivially.

    What a person accepted without a review is left: no text was judged to measure from.

    :raises UsageRefused: no partition, or no gates are named.
    :raises UnknownGate, AmbiguousGate, NoSuchNote: a name does not resolve.
    """
    partition = request.scope.model_partition
    if partition is None:
        raise UsageRefused("say whose acceptances to move: --model PARTITION")
    selection = select_targets(corpus, replace(request.scope, reasons=(Staleness.NOTE_CHANGED,)))
    # All of them before the first write: the selection reads the store as it goes.
    trivial = [target for target in selection.targets() if is_trivial(target)]
    answer = TrivialAcksJson(
        dry_run=request.dry_run,
        model_partition=partition,
        acked=[],
        left=[_key(target) for target in trivial if target.accepted_review_pair_id is None],
        refused=[],
        problems=[_problem(item) for item in selection.problems],
    )
    terms = Terms(
        model_partition=partition,
        kind=AcceptanceKind.AUTO_ACK,
        actor=request.actor,
        reason=request.reason,
    )
    shelf = NoteShelf(corpus)
    measured = [target for target in trivial if target.accepted_review_pair_id is not None]
    for chunk in batched(measured, _CHUNK):
        wanted, refused = _as_measured(chunk, corpus=corpus, shelf=shelf)
        if request.dry_run:
            outcome = weigh(wanted, terms=terms)
        else:
            with transaction.atomic():
                outcome = move(wanted, terms=terms, now=now)
        answer.acked += acked_json(outcome.acked)
        answer.refused += [*refused, *refused_json(outcome.refused)]
    return answer


def _as_measured(
    targets: Sequence[TargetJson], *, corpus: Corpus, shelf: NoteShelf
) -> tuple[list[Wanted], list[RefusedKeyJson]]:
    return gather(targets, lambda target: _pair(target, corpus=corpus, shelf=shelf))


def _pair(target: TargetJson, *, corpus: Corpus, shelf: NoteShelf) -> DraftPair:
    note = shelf.note(target.note_path)
    if note.sha256 != target.note_sha256:
        raise NoteEdited(f"{note.path} {target.gate_id}: the note was edited just now")
    return DraftPair(note, corpus.gate(target.gate_path))


def _key(target: TargetJson) -> KeyJson:
    return KeyJson(note_path=target.note_path, gate_path=target.gate_path, gate_id=target.gate_id)


def _problem(problem: Problem) -> ProblemJson:
    return ProblemJson(
        path=problem.path,
        code=problem.code.value,
        message=problem.message,
        skipped=problem.skipped,
    )
