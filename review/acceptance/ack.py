"""Advance acceptances over changes that do not matter; the review they rest on stays the same."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce

from review import models
from review.acceptance.accept import accept, of_texts
from review.documents.base import Document
from review.domain.paths import normalise_path
from review.domain.staleness import Digests, staleness_reasons
from review.errors import Conflict, ReviewError
from review.findings.states import QueueFindingJson, read_findings_now
from review.knowledge_base import Corpus, DraftPair, UnreadableFile
from review.protocol.quote_location import lines_after, quote_lines
from review.selection.documents import KeyJson, TargetInput, TargetJson
from review.selection.names import command_to_review, named_gates, read_named_note
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    AcceptanceKind,
    Decision,
    DispositionState,
    NotAccepted,
)


class AckedJson(KeyJson):
    """A pair whose acceptance moved to today's text; the review and its decision are carried on."""

    review_pair_id: int
    decision: str


class RefusedKeyJson(KeyJson):
    """A pair that was refused while others went on."""

    code: str
    message: str


class AcksJson(Document, kw_only=True, tag_field="schema", tag="ack-gate-review/1"):
    """The answer of `ack_gate_review`; `ignored` targets are none that an ack can settle."""

    model_partition: str
    acked: list[AckedJson] = []
    already_fresh: list[KeyJson] = []
    refused: list[RefusedKeyJson] = []
    ignored: int = 0


Key = tuple[str, str]
_PATHS = ("note__path", "gate__path")
_TEXTS = ("note_snapshot__content_sha256", "gate_snapshot__content_sha256")


@dataclass(frozen=True, kw_only=True)
class AckOptions:
    """In whose name acceptances move, and in which way; a changed gate only if that is accepted."""

    model_partition: str
    actor: str
    reason: str = ""
    kind: AcceptanceKind = AcceptanceKind.ACK
    accept_gate_change: bool = False


@dataclass(frozen=True, kw_only=True)
class AckRequest(AckOptions):
    """The pairs of one note to ack, by gate ids or paths, if the note has the expected digest."""

    note: str
    gates: tuple[str, ...]
    expect_note_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class PairState:
    """The texts that a key's current acceptance pins, and the review that an ack would carry on.

    :ivar gate_sha256: the text of the gate by which that review judged.
    """

    accepted: Digests | None = None
    review_pair_id: int | None = None
    decision: Decision = Decision.UNKNOWN
    gate_sha256: str = ""


def ack_gate_review(request: AckRequest, *, corpus: Corpus, now: datetime) -> AcksJson:
    """Ack pairs of one note: all of them, or none and the reasons."""
    gates = named_gates(corpus, request.gates)
    note = read_named_note(corpus, normalise_path(request.note))
    if request.expect_note_sha256 not in (None, note.sha256):
        message = f"{note.path} is {note.sha256} now, not {request.expect_note_sha256}"
        raise Conflict(
            message, "note-edited", hint="it was edited since you read it: look at the change again"
        )
    answer = AcksJson(model_partition=request.model_partition)
    with transaction.atomic():
        acks = [(DraftPair(note, gate), None) for gate in gates]
        if errors := apply_acks(acks, answer, corpus=corpus, options=request, now=now):
            message = "; ".join(error.message for error in errors)
            first = errors[0]
            raise type(first)(f"{message}; nothing was acked", first.code, hint=first.hint)
    return answer


def apply_acks(
    acks: Sequence[tuple[DraftPair, int | None]],
    answer: AcksJson,
    *,
    corpus: Corpus,
    options: AckOptions,
    now: datetime | None,
) -> list[ReviewError]:
    """In a transaction, ack the pairs that can be, or evaluate them without `now`; the rest.

    Refused are pairs with an open finding whose quote is gone: it may be fixed.
    """
    if now is not None:
        # First, so that an ingest that comes in between is either seen or waits.
        models.ReviewStore.objects.take_turn()
    names = {_key(pair) for pair, _expected in acks}
    states = read_pair_states(names, model_partition=options.model_partition)
    stale: list[tuple[DraftPair, Decision, int]] = []
    refused: list[tuple[DraftPair, ReviewError]] = []
    for pair, expected in acks:
        state = states[_key(pair)]
        current = Digests(note=pair.note.sha256, gate=pair.gate.sha256)
        if not staleness_reasons(current=current, accepted=state.accepted):
            answer.already_fresh.append(key_json(pair))
        elif refusal := _refusal(pair, expected, state, options=options):
            refused.append((pair, refusal))
        elif state.review_pair_id:
            stale.append((pair, state.decision, state.review_pair_id))
    deleted = dict(_deleted_quotes(corpus, stale))
    refused += [(pair, deleted[_key(pair)]) for pair, *_ in stale if _key(pair) in deleted]
    stale = [ack for ack in stale if _key(ack[0]) not in deleted]
    accepted = [True] * len(stale) if now is None else accept_now(stale, options, now=now)
    for (pair, decision, pair_id), is_accepted in zip(stale, accepted, strict=True):
        if is_accepted:
            named = (*_key(pair), pair.gate.gate_id)
            answer.acked.append(AckedJson(*named, pair_id, decision.value))
        else:
            late = "a later text was accepted in the meantime; select again"
            refused.append((pair, Conflict(f"{_name(pair)}: {late}", "superseded")))
    answer.refused += [refused_json(key_json(pair), error) for pair, error in refused]
    return [error for _pair, error in refused]


def accept_now(
    pairs: Sequence[tuple[DraftPair, Decision, int | None]], options: AckOptions, *, now: datetime
) -> list[bool]:
    """Accept today's texts of pairs, in a transaction, on a review or none; False: superseded."""
    sides = [side for pair, *_evidence in pairs for side in (pair.note, pair.gate)]
    texts = {(side.path, side.sha256): side.text for side in sides}
    keys = models.FileSnapshot.objects.take(texts, now=now)
    partition, _ = models.ModelPartition.objects.get_or_create(name=options.model_partition)
    said: dict[str, Any] = {"model_partition_id": partition.pk, "text_read_at": now}
    said |= {"kind": options.kind, "actor": options.actor, "reason": options.reason}
    rows = []
    for pair, decision, pair_id in pairs:
        note, gate = (keys[text.path, text.sha256] for text in (pair.note, pair.gate))
        rows.append(of_texts(note, gate, decision=decision, review_pair_id=pair_id, **said))
    superseded = accept(rows, now=now)
    return [row not in superseded for row in rows]


def refuse_edited(
    pair: DraftPair, note: str | None, gate: str | None, *, since: str, hint: str = ""
) -> None:
    """Refuse a pair whose texts have not these digests (None: any), of when somebody looked."""
    for what, file, sha256 in (("note", pair.note, note), ("gate", pair.gate, gate)):
        if sha256 not in (None, file.sha256):
            message = f"{_name(pair)}: the {what} was edited since {since}"
            raise Conflict(message, f"{what}-edited", hint=hint)


def key_json(pair: DraftPair) -> KeyJson:
    return KeyJson(pair.note.path, pair.gate.path, pair.gate.gate_id)


def refused_json(key: KeyJson | TargetJson | TargetInput, error: ReviewError) -> RefusedKeyJson:
    return RefusedKeyJson(key.note_path, key.gate_path, key.gate_id, code_of(error), error.message)


def code_of(error: ReviewError) -> str:
    """Return the code of a refusal; of a file that cannot be read, that of its problem."""
    return error.problem.code.value if isinstance(error, UnreadableFile) else error.code


def read_pair_states(keys: Collection[Key], *, model_partition: str) -> dict[Key, PairState]:
    """Return the state of a few hundred pairs for a partition; of an unknown one, an empty one.

    The review is the current acceptance's; a key that has none (an override's) has the latest
    completed pair that was decided pass, warn or fail by a model of its partition.
    """
    states = dict.fromkeys(keys, PairState())
    accepted = models.CurrentAcceptance.objects.of_partition(model_partition).filter(**_among(keys))
    judged = "event__review_pair__gate_snapshot__content_sha256"
    columns = ("decision", "event__review_pair_id", judged)
    for row in accepted.values_list(*_PATHS, *_TEXTS, *columns):
        note_path, gate_path, *digests, decision, pair_id, judged = row
        if (note_path, gate_path) in states:
            state = PairState(Digests(*digests), pair_id, Decision(decision), judged)
            states[note_path, gate_path] = state
    without = {key for key in states if states[key].review_pair_id is None}
    for key, pair_id, decision, judged in _latest_reviews(without, model_partition):
        states[key] = PairState(states[key].accepted, pair_id, Decision(decision), judged)
    return states


def _among(keys: Collection[Key]) -> dict[str, set[str]]:
    notes, gates = ({key[at] for key in keys} for at in (0, 1))
    return {"note__path__in": notes, "gate__path__in": gates}


def _latest_reviews(
    keys: Collection[Key], model_partition: str
) -> Iterator[tuple[Key, int, str, str]]:
    """Yield reviews of the keys, the latest last: pair, decision and text of the gate."""
    by_people = models.DecisionEvent.objects.filter(pair=OuterRef("pk")).order_by("-pk")
    rows = (
        models.ReviewPair.objects.completed()
        .filter(job__model_partition__name=model_partition, **_among(keys))
        .exclude(not_accepted=NotAccepted.PARTITION_MISMATCH)
        .annotate(counts=Coalesce(Subquery(by_people.values("decision")[:1]), "decision"))
        .filter(counts__in=ACCEPTING_DECISIONS)
        .order_by("reviewed_at", "pk")
        .values_list(*_PATHS, "pk", "counts", _TEXTS[1])
    )
    for note, gate, *review in rows if keys else ():
        if (note, gate) in keys:
            yield ((note, gate), *review)


def _refusal(
    pair: DraftPair, expected: int | None, state: PairState, *, options: AckOptions
) -> ReviewError | None:
    name, gate, partition = _name(pair), pair.gate, options.model_partition
    if state.review_pair_id is None:
        hint = command_to_review(pair.note.path, gate.gate_id, model_partition=partition)
        message = f"{name}: no completed review in partition {partition!r} decided it"
        return Conflict(message, "no-evidence", hint=hint)
    if expected not in (None, state.review_pair_id):
        return Conflict(f"{name}: it rests on review {state.review_pair_id} by now", "review-moved")
    known_gate = state.accepted.gate if state.accepted else state.gate_sha256
    if known_gate != gate.sha256 and not options.accept_gate_change:
        words = ["review_target_selector", gate.gate_id, "--note", pair.note.path]
        command = shlex.join([*words, "--model", partition, "--diff"])
        return Conflict(
            f"{name}: the gate changed since its review was accepted",
            "gate-changed-too",
            hint=f"commonplace {command} shows what changed in it;"
            " --accept-gate-change says that it asks the same as before",
        )
    return None


def _deleted_quotes(
    corpus: Corpus, acks: Sequence[tuple[DraftPair, Decision, int]]
) -> Iterator[tuple[Key, Conflict]]:
    """Yield the keys of pairs of which an open finding's quote is rarer in the note than it was.

    A quote that is in the note as often as before has moved.
    """
    reviews = models.ReviewPair.objects.select_related("job", "note", "gate", "note_snapshot")
    found = reviews.in_bulk([review for _pair, _decision, review in acks])
    reviewed = [(found[review], pair.note.path, pair.gate.path) for pair, _decision, review in acks]
    digests = {pair.note.path: pair.note.sha256 for pair, *_review in acks}
    findings = read_findings_now(corpus, reviewed, digests=digests)
    for (pair, *_review), (review, *_paths), of_pair in zip(acks, reviewed, findings, strict=True):
        before, now = review.note_snapshot.text, pair.note.text
        for finding in of_pair:
            if finding.status != DispositionState.OPEN or finding.line_now is not None:
                continue
            if len(lines_after(before, now, finding.quote)) < len(
                quote_lines(before, finding.quote)
            ):
                yield _key(pair), _quote_gone(pair, finding)
                break


def _quote_gone(pair: DraftPair, finding: QueueFindingJson) -> Conflict:
    quote = finding.quote
    shown = quote if len(quote) <= 80 else f"{quote[:80]}…"
    return Conflict(
        f"{_name(pair)}: the open finding {finding.fingerprint} quotes {shown!r}, which the change"
        " deletes; say what became of it with: commonplace dispose_finding"
        f" {finding.fingerprint} --as fixed, or have the pair reviewed",
        "quote-gone",
    )


def _key(pair: DraftPair) -> Key:
    return pair.note.path, pair.gate.path


def _name(pair: DraftPair) -> str:
    return f"{pair.note.path} {pair.gate.gate_id}"
