"""Acks many pairs: those of a selection as it lists them, or all changes that are trivial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TypeVar

import msgspec
from django.db import transaction

from review.acceptance.ack import (
    Ack,
    AckOptions,
    GateEdited,
    NoteEdited,
    add_acks,
    apply_acks,
    evaluate_acks,
    refused_json,
)
from review.acceptance.documents import AcksJson, KeyJson, TrivialAcksJson
from review.documents.base import NotThisDocument, decode
from review.documents.problems import problem_json
from review.domain.paths import gate_path_of, normalise_path
from review.errors import Conflict, InputRejected, ReviewError, UsageRefused
from review.findings.documents import QueueFindingJson
from review.findings.states import FindingReader, ReviewedPair
from review.jobs.provenance import canonical_partition
from review.jobs.selection_input import BadTargets, PartitionNotConcrete
from review.knowledge_base import Corpus, DraftPair, Gate, NoteText, UnreadableFile
from review.models import ReviewPair, batched
from review.protocol.quote_location import quote_lines
from review.selection.documents import SELECTION_SCHEMA, SelectionInput, TargetInput, TargetJson
from review.selection.select import SelectionRequest, is_trivial, select_targets
from review.settings.config import Config
from review.vocabulary import AcceptanceKind, DispositionState, Staleness

_Key = tuple[str, str]
_CHUNK = 200
_CHANGES = frozenset({Staleness.NOTE_CHANGED.value, Staleness.GATE_CHANGED.value})


class QuoteGone(Conflict):
    """The change deletes the quote of an open finding, which may be fixed: an ack cannot tell."""


@dataclass(frozen=True)
class AckInputRequest:
    """A selection whose changed pairs are to be acked.

    :param source: what a message calls the input.
    """

    selection: bytes
    source: str
    actor: str
    reason: str = ""


@dataclass(frozen=True)
class TrivialAckRequest:
    """The scope to look at, with a partition, and in whose name to ack."""

    scope: SelectionRequest
    actor: str
    reason: str = ""
    dry_run: bool = False


class AckTarget(TargetInput):
    """A target of a selection, with all its reasons and the review it rested on then."""

    reasons: list[str] = []
    accepted_review_pair_id: int | None = None

    @property
    def is_change(self) -> bool:
        """True if an ack can settle it: something changed since it was accepted."""
        return bool(_CHANGES.intersection(self.reasons or [self.reason]))


_Target = TypeVar("_Target", AckTarget, TargetJson)


def ack_selection(
    request: AckInputRequest, *, corpus: Corpus, config: Config, now: datetime
) -> AcksJson:
    """Ack the note-changed and gate-changed targets whose two files still have the listed hashes.

    The others are refused by name and do not hold these up. A changed gate is accepted: whoever
    passes its hash has seen it.

    :raises NotThisDocument, PartitionNotConcrete, BadTargets: the input is none; nothing was written.
    """
    partition, targets = read_ack_targets(request, config=config)
    options = AckOptions(
        model_partition=partition,
        actor=request.actor,
        reason=request.reason,
        accept_gate_change=True,
    )
    answer = AcksJson(
        model_partition=partition,
        acked=[],
        already_fresh=[],
        ignored=sum(not item.is_change for item in targets),
    )
    changes = {
        (item.note_path, item.gate_path, item.note_sha256, item.gate_sha256): item
        for item in targets
        if item.is_change
    }
    _ack_as_listed(list(changes.values()), options=options, answer=answer, corpus=corpus, now=now)
    return answer


def ack_trivial_changes(
    request: TrivialAckRequest, *, corpus: Corpus, now: datetime
) -> TrivialAcksJson:
    """Ack the pairs of which only the note changed, and that trivially.

    What a person accepted without a review is left: no text was judged to measure from. Refused
    are pairs with an open finding whose quote the change deletes.

    :raises UsageRefused: no partition, or no gates are named.
    :raises UnknownGate, AmbiguousGate, NoSuchNote: a name does not resolve.
    """
    partition = request.scope.model_partition
    if partition is None:
        raise UsageRefused("say whose acceptances to move: --model PARTITION")
    selection = select_targets(corpus, replace(request.scope, reasons=(Staleness.NOTE_CHANGED,)))
    # All of them before the first write: the selection reads the store as it goes.
    trivial = [target for target in selection.targets() if is_trivial(target)]
    measured = [target for target in trivial if target.accepted_review_pair_id is not None]
    gone = _deleted_quotes(corpus, measured)
    acks = AcksJson(
        model_partition=partition,
        acked=[],
        already_fresh=[],
        refused=[
            refused_json(target, gone[target.note_path, target.gate_path])
            for target in measured
            if (target.note_path, target.gate_path) in gone
        ],
    )
    _ack_as_listed(
        [target for target in measured if (target.note_path, target.gate_path) not in gone],
        options=AckOptions(
            model_partition=partition,
            kind=AcceptanceKind.AUTO_ACK,
            actor=request.actor,
            reason=request.reason,
        ),
        answer=acks,
        corpus=corpus,
        now=None if request.dry_run else now,
    )
    return TrivialAcksJson(
        dry_run=request.dry_run,
        model_partition=partition,
        acked=acks.acked,
        left=[
            KeyJson(target.note_path, target.gate_path, target.gate_id)
            for target in trivial
            if target.accepted_review_pair_id is None
        ],
        refused=acks.refused,
        problems=[problem_json(item) for item in selection.problems],
        left_out={why: n for why, n in selection.left_out.items() if why != "other-reason"},
    )


def read_ack_targets(request: AckInputRequest, *, config: Config) -> tuple[str, list[AckTarget]]:
    """The partition and the targets of a selection.

    :raises NotThisDocument, PartitionNotConcrete, BadTargets: the input is none.
    """
    source = request.source
    document = decode(request.selection, SelectionInput, source=source)
    if document.schema != SELECTION_SCHEMA:
        raise NotThisDocument(
            f"{source}: schema {document.schema!r}, expected {SELECTION_SCHEMA!r}",
            hint="acks read what commonplace review_target_selector --json prints",
        )
    if document.model_partition is None:
        raise PartitionNotConcrete(
            f"{source}: model_partition is null: nothing is accepted for no model",
            hint="select with --model PARTITION",
        )
    targets: list[AckTarget] = []
    faults: list[str] = []
    for index, raw in enumerate(document.targets):
        try:
            targets.append(_read_target(raw, config=config))
        except (InputRejected, msgspec.DecodeError, UnicodeDecodeError) as error:
            faults.append(f"targets[{index}]: {error}")
    if faults:
        raise BadTargets(f"{source}: {'; '.join(faults[:5])}", hint="nothing was written")
    return canonical_partition(document.model_partition, config=config), targets


def _read_target(raw: msgspec.Raw, *, config: Config) -> AckTarget:
    target = msgspec.json.decode(raw, type=AckTarget)
    paths = (normalise_path(target.note_path), normalise_path(target.gate_path))
    if paths[1] != gate_path_of(target.gate_id, gates_folder=config.gates_folder):
        raise BadTargets(f"gate_id {target.gate_id!r} is not the gate at {target.gate_path!r}")
    if target.is_change and not (target.note_sha256 and target.gate_sha256):
        raise BadTargets(
            "note_sha256 and gate_sha256 say which texts were looked at; one is missing"
        )
    return msgspec.structs.replace(target, note_path=paths[0], gate_path=paths[1])


def _ack_as_listed(
    targets: Sequence[_Target],
    *,
    options: AckOptions,
    answer: AcksJson,
    corpus: Corpus,
    now: datetime | None,
) -> None:
    """Ack the targets whose texts and review are those that are listed; refuse the others.

    :param now: None only evaluates them.
    """
    read_note = cache(corpus.read_note)
    for chunk in batched(targets, _CHUNK):
        acks: list[Ack] = []
        for target in chunk:
            try:
                note = read_note(target.note_path)
                pair = _pair_as_listed(target, note, corpus.gate(target.gate_path))
            except ReviewError as error:
                answer.refused.append(refused_json(target, error))
            else:
                acks.append(Ack(pair, target.accepted_review_pair_id))
        if now is None:
            add_acks(answer, evaluate_acks(acks, options=options))
            continue
        with transaction.atomic():
            done = apply_acks(acks, options=options, now=now)
        add_acks(answer, done)


def _pair_as_listed(target: AckTarget | TargetJson, note: NoteText, gate: Gate) -> DraftPair:
    """Return the pair with the bytes it has now.

    :raises NoteEdited, GateEdited: they are not those that were listed.
    """
    name = f"{target.note_path} {target.gate_id}"
    if note.sha256 != target.note_sha256:
        raise NoteEdited(f"{name}: the note was edited since it was selected")
    if gate.sha256 != target.gate_sha256:
        raise GateEdited(f"{name}: the gate was edited since it was selected")
    return DraftPair(note, gate)


def _deleted_quotes(corpus: Corpus, targets: Sequence[TargetJson]) -> dict[_Key, QuoteGone]:
    """Return the refusals of targets with an open finding whose quote the change deletes.

    A quote is deleted if it was in the reviewed text and is gone from its line; one that is in the
    note as often as before has moved.
    """
    found: dict[_Key, QuoteGone] = {}
    reviews = ReviewPair.objects.select_related("note", "gate", "note_snapshot")
    for chunk in batched(targets, _CHUNK):
        pairs = reviews.in_bulk([target.accepted_review_pair_id for target in chunk])
        reader = FindingReader(
            corpus, digests={target.note_path: target.note_sha256 for target in chunk}
        )
        judged = [(target, pairs[target.accepted_review_pair_id or 0]) for target in chunk]
        findings = reader.read_each(
            [
                ReviewedPair.of(pair, note_path=target.note_path, gate_path=target.gate_path)
                for target, pair in judged
            ]
        )
        for (target, pair), of_pair in zip(judged, findings, strict=True):
            suspects = [
                finding
                for finding in of_pair
                if finding.line_now is None and finding.status == DispositionState.OPEN
            ]
            gone = [
                finding
                for finding in suspects
                if _is_deleted(corpus, target.note_path, pair, finding.quote)
            ]
            if gone:
                found[target.note_path, target.gate_path] = _quote_gone(target, gone[0])
    return found


def _is_deleted(corpus: Corpus, note_path: str, pair: ReviewPair, quote: str) -> bool:
    try:
        now = corpus.read_note(note_path).text
    except UnreadableFile:
        return False
    return len(quote_lines(now, quote)) < len(quote_lines(pair.note_snapshot.text, quote))


def _quote_gone(target: TargetJson, finding: QueueFindingJson) -> QuoteGone:
    quote = finding.quote
    shown = quote if len(quote) <= 80 else f"{quote[:80]}…"
    return QuoteGone(
        f"{target.note_path} {target.gate_id}: the open finding {finding.fingerprint} quotes"
        f" {shown!r}, which the change deletes; say what became of it with: commonplace"
        f" dispose_finding {finding.fingerprint} --as fixed, or have the pair reviewed"
    )
