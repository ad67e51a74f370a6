"""Acks many pairs, of a selection, of a page or all that are trivial; requests reviews of some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from django.db import transaction

from review.acceptance import ack
from review.documents.base import Document, Problems, grouped
from review.domain.paths import normalise_path
from review.errors import ReviewError, UsageRefused
from review.jobs.create import CreateRequest, create_jobs
from review.jobs.job_documents import CreatedJson
from review.jobs.provenance import BadTargets, read_selection, read_targets
from review.knowledge_base import Corpus, DraftPair
from review.models import batched
from review.selection.documents import SELECTION_SCHEMA, KeyJson, TargetInput, TargetJson
from review.selection.select import SelectionRequest, is_trivial, select_targets
from review.settings import Config
from review.vocabulary import REQUESTED, AcceptanceKind, Grouping, Staleness


class TrivialAcksJson(Document, kw_only=True, tag_field="schema", tag="ack-trivial-changes/1"):
    """The answer of `ack_trivial_changes`; `left` are pairs that a person accepted unreviewed."""

    dry_run: bool
    model_partition: str
    acked: list[ack.AckedJson]
    left: list[KeyJson]
    refused: list[ack.RefusedKeyJson]
    problems: Problems
    left_out: dict[str, int]


_CHUNK = 200
_CHANGES = frozenset({Staleness.NOTE_CHANGED.value, Staleness.GATE_CHANGED.value})


class AckTarget(TargetInput):
    """A target of a selection, with all its reasons and the review it rested on then."""

    reasons: list[str] = []
    accepted_review_pair_id: int | None = None

    @property
    def is_change(self) -> bool:
        """True if an ack can settle it: something changed since it was accepted."""
        return bool(_CHANGES.intersection(self.reasons or [self.reason]))


def ack_selection(
    partition: str,
    targets: Sequence[AckTarget],
    *,
    actor: str,
    reason: str = "",
    corpus: Corpus,
    now: datetime,
) -> ack.AcksJson:
    """Ack the changed targets whose two files still have the listed hashes; refuse the others.

    A changed gate is accepted: whoever passes its hash has seen it.
    """
    changes = {
        (item.note_path, item.gate_path, item.note_sha256, item.gate_sha256): item
        for item in targets
        if item.is_change
    }
    options = ack.AckOptions(
        model_partition=partition, actor=actor, reason=reason, accept_gate_change=True
    )
    answer = _ack_as_listed(changes.values(), options, corpus=corpus, now=now)
    answer.ignored = sum(not item.is_change for item in targets)
    return answer


def ack_trivial_changes(
    scope: SelectionRequest,
    *,
    actor: str,
    reason: str = "",
    dry_run: bool = False,
    corpus: Corpus,
    now: datetime,
) -> TrivialAcksJson:
    """Ack the pairs of which only the note changed, and that trivially.

    What a person accepted without a review is left: no text was judged to measure from.
    """
    partition = scope.model_partition
    if partition is None:
        raise UsageRefused("say whose acceptances to move: --model PARTITION")
    selection = select_targets(corpus, replace(scope, reasons=(Staleness.NOTE_CHANGED,)))
    # All of them before the first write: the selection reads the store as it goes.
    trivial = [target for target in selection.targets() if is_trivial(target)]
    measured = [target for target in trivial if target.accepted_review_pair_id is not None]
    kind = AcceptanceKind.AUTO_ACK
    options = ack.AckOptions(model_partition=partition, actor=actor, reason=reason, kind=kind)
    acks = _ack_as_listed(measured, options, corpus=corpus, now=None if dry_run else now)
    left = [target for target in trivial if target.accepted_review_pair_id is None]
    return TrivialAcksJson(
        dry_run=dry_run,
        model_partition=partition,
        acked=acks.acked,
        left=[KeyJson(target.note_path, target.gate_path, target.gate_id) for target in left],
        refused=acks.refused,
        problems=selection.problems,
        left_out={why: n for why, n in selection.left_out.items() if why != "other-reason"},
    )


def read_ack_targets(
    selection: bytes, *, source: str, config: Config
) -> tuple[str, list[AckTarget]]:
    """Return the partition and the targets of a selection, which messages call `source`."""

    def read(raw: msgspec.Raw) -> AckTarget:
        target = msgspec.json.decode(raw, type=AckTarget)
        target.note_path = normalise_path(target.note_path)
        target.gate_path = normalise_path(target.gate_path)
        if target.gate_path != config.gate_path(target.gate_id):
            raise BadTargets(f"gate_id {target.gate_id!r} is not the gate at {target.gate_path!r}")
        if target.is_change and not (target.note_sha256 and target.gate_sha256):
            why = "note_sha256 and gate_sha256 say which texts were looked at; one is missing"
            raise BadTargets(why)
        return target

    partition, targets = read_targets(selection, read, source=source)
    return config.canonical_partition(partition), targets


def _ack_as_listed(
    targets: Iterable[AckTarget | TargetJson],
    options: ack.AckOptions,
    *,
    corpus: Corpus,
    now: datetime | None,
) -> ack.AcksJson:
    """Ack the targets whose texts and review are as listed, or evaluate them without `now`."""
    answer = ack.AcksJson(model_partition=options.model_partition)
    read_note = cache(corpus.read_note)
    for chunk in batched(targets, _CHUNK):
        acks: list[tuple[DraftPair, int | None]] = []
        for target in chunk:
            try:
                pair = DraftPair(read_note(target.note_path), corpus.gate(target.gate_path))
                listed = (target.note_sha256, target.gate_sha256)
                ack.refuse_edited(pair, *listed, since="it was selected")
            except ReviewError as error:
                answer.refused.append(ack.refused_json(target, error))
            else:
                acks.append((pair, target.accepted_review_pair_id))
        with transaction.atomic():
            ack.apply_acks(acks, answer, corpus=corpus, options=options, now=now)
    return answer


_SOURCE = "what was picked"


@dataclass(frozen=True)
class Pick:
    """A pair as the page showed it: digest of the note, and review it was measured against."""

    note_path: str
    gate_id: str
    model_partition: str
    note_sha256: str | None = None
    gate_sha256: str | None = None
    review_pair_id: int | None = None


def ack_picks(
    picks: Sequence[Pick], *, actor: str, reason: str, corpus: Corpus, now: datetime
) -> list[ack.AcksJson]:
    """Ack exactly the texts that were shown, or refuse them; one answer per model partition."""
    answers = []
    for selection in _selections(picks, Staleness.NOTE_CHANGED.value, corpus.config):
        found = read_ack_targets(selection, source=_SOURCE, config=corpus.config)
        answers.append(ack_selection(*found, actor=actor, reason=reason, corpus=corpus, now=now))
    return answers


def request_reviews(
    picks: Sequence[Pick], *, grouping: Grouping, actor: str, config: Config, now: datetime
) -> list[CreatedJson]:
    """Queue jobs for the pairs, fresh or not; one answer per model partition."""
    catalog, answers = Corpus(config).gates, []
    for selection in _selections(picks, REQUESTED, config):
        found = read_selection(selection, source=_SOURCE, config=config, gate_ids=catalog.ids)
        request = CreateRequest(model_partition=found[0], grouping=grouping, actor=actor)
        answers.append(create_jobs(found[1], request, config=config, now=now))
    return answers


def _selections(picks: Iterable[Pick], reason: str, config: Config) -> list[bytes]:
    """Return the picks as the selector would give them, one selection a model partition."""

    def target(pick: Pick) -> dict[str, Any]:
        more = {"reason": reason, "accepted_review_pair_id": pick.review_pair_id}
        return {**asdict(pick), "gate_path": config.gate_path(pick.gate_id), **more}

    targets = grouped((pick.model_partition, target(pick)) for pick in picks)
    if not targets:
        raise UsageRefused("no pair was picked", "nothing-picked", hint="tick at least one")
    encode = msgspec.json.encode
    return [
        encode({"schema": SELECTION_SCHEMA, "model_partition": name, "targets": targets[name]})
        for name in sorted(targets)
    ]
