"""Acks many pairs, of a selection, of a page or all that are trivial; requests reviews of some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from django.db import transaction

from review.acceptance.ack import Ack, AckOptions, GateEdited, NoteEdited, apply_acks, refused_json
from review.acceptance.documents import AcksJson, KeyJson, RefusedKeyJson, TrivialAcksJson
from review.documents.base import problem_json
from review.domain.paths import gate_path_of, normalise_path
from review.errors import Conflict, ReviewError, UsageRefused
from review.findings.documents import QueueFindingJson
from review.findings.states import read_findings_now
from review.jobs.create import CreateRequest, create_jobs
from review.jobs.job_documents import CreatedJson
from review.jobs.provenance import canonical_partition
from review.jobs.selection_input import BadTargets, read_selection, read_targets
from review.knowledge_base import Corpus, DraftPair
from review.models import ReviewPair, batched
from review.protocol.quote_location import lines_after, quote_lines
from review.selection.documents import SELECTION_SCHEMA, TargetInput, TargetJson
from review.selection.select import SelectionRequest, is_trivial, select_targets
from review.settings import Config
from review.vocabulary import REQUESTED, AcceptanceKind, DispositionState, Grouping, Staleness

_CHUNK = 200
_CHANGES = frozenset({Staleness.NOTE_CHANGED.value, Staleness.GATE_CHANGED.value})


class QuoteGone(Conflict):
    """The change deletes the quote of an open finding, which may be fixed: an ack cannot tell."""


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
) -> AcksJson:
    """Ack the note-changed and gate-changed targets whose two files still have the listed hashes.

    The others are refused by name and do not hold these up. A changed gate is accepted: whoever
    passes its hash has seen it.

    :param targets: as `read_ack_targets` returns them.
    """
    changes = {
        (item.note_path, item.gate_path, item.note_sha256, item.gate_sha256): item
        for item in targets
        if item.is_change
    }
    ignored = sum(not item.is_change for item in targets)
    answer = AcksJson(model_partition=partition, acked=[], already_fresh=[], ignored=ignored)
    options = AckOptions(
        model_partition=partition, actor=actor, reason=reason, accept_gate_change=True
    )
    _ack_as_listed(list(changes.values()), options=options, answer=answer, corpus=corpus, now=now)
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

    What a person accepted without a review is left: no text was judged to measure from. Refused
    are pairs with an open finding whose quote the change deletes.

    :raises UsageRefused: no partition, or no gates are named.
    :raises UnknownGate, AmbiguousGate, NoSuchNote: a name does not resolve.
    """
    partition = scope.model_partition
    if partition is None:
        raise UsageRefused("say whose acceptances to move: --model PARTITION")
    selection = select_targets(corpus, replace(scope, reasons=(Staleness.NOTE_CHANGED,)))
    # All of them before the first write: the selection reads the store as it goes.
    trivial = [target for target in selection.targets() if is_trivial(target)]
    measured = [target for target in trivial if target.accepted_review_pair_id is not None]
    refused = list(_deleted_quotes(corpus, measured))
    gone = {(item.note_path, item.gate_path) for item in refused}
    acks = AcksJson(model_partition=partition, acked=[], already_fresh=[], refused=refused)
    _ack_as_listed(
        [target for target in measured if (target.note_path, target.gate_path) not in gone],
        options=AckOptions(
            model_partition=partition, kind=AcceptanceKind.AUTO_ACK, actor=actor, reason=reason
        ),
        answer=acks,
        corpus=corpus,
        now=None if dry_run else now,
    )
    return TrivialAcksJson(
        dry_run=dry_run,
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


def read_ack_targets(
    selection: bytes, *, source: str, config: Config
) -> tuple[str, list[AckTarget]]:
    """The partition and the targets of a selection.

    :param source: what a message calls the input.
    :raises NotThisDocument, PartitionNotConcrete, BadTargets: the input is none.
    """

    def read(raw: msgspec.Raw) -> AckTarget:
        target = msgspec.json.decode(raw, type=AckTarget)
        target.note_path = normalise_path(target.note_path)
        target.gate_path = normalise_path(target.gate_path)
        if target.gate_path != gate_path_of(target.gate_id, gates_folder=config.gates_folder):
            raise BadTargets(f"gate_id {target.gate_id!r} is not the gate at {target.gate_path!r}")
        if target.is_change and not (target.note_sha256 and target.gate_sha256):
            raise BadTargets(
                "note_sha256 and gate_sha256 say which texts were looked at; one is missing"
            )
        return target

    partition, targets = read_targets(selection, read, source=source)
    return canonical_partition(partition, config=config), targets


def _ack_as_listed(
    targets: Sequence[AckTarget | TargetJson],
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
            name = f"{target.note_path} {target.gate_id}"
            try:
                pair = DraftPair(read_note(target.note_path), corpus.gate(target.gate_path))
                if pair.note.sha256 != target.note_sha256:
                    raise NoteEdited(f"{name}: the note was edited since it was selected")
                if pair.gate.sha256 != target.gate_sha256:
                    raise GateEdited(f"{name}: the gate was edited since it was selected")
            except ReviewError as error:
                answer.refused.append(refused_json(target, error))
            else:
                acks.append(Ack(pair, target.accepted_review_pair_id))
        with transaction.atomic():
            apply_acks(acks, answer, options=options, now=now)


def _deleted_quotes(corpus: Corpus, targets: Sequence[TargetJson]) -> Iterator[RefusedKeyJson]:
    """Yield the refusals of targets with an open finding whose quote the change deletes.

    A quote is deleted if it was in the reviewed text and is gone from its line; one that is in the
    note as often as before has moved.
    """
    reviews = ReviewPair.objects.select_related("note", "gate", "note_snapshot")
    for chunk in batched(targets, _CHUNK):
        found = reviews.in_bulk([target.accepted_review_pair_id for target in chunk])
        pairs = [found[target.accepted_review_pair_id or 0] for target in chunk]
        reviewed = [
            (pair, target.note_path, target.gate_path)
            for target, pair in zip(chunk, pairs, strict=True)
        ]
        digests = {target.note_path: target.note_sha256 for target in chunk}
        findings = read_findings_now(corpus, reviewed, digests=digests)
        for target, pair, of_pair in zip(chunk, pairs, findings, strict=True):
            suspects = [
                finding
                for finding in of_pair
                if finding.line_now is None and finding.status == DispositionState.OPEN
            ]
            now = corpus.read_note(target.note_path).text if suspects else ""
            for finding in suspects:
                before, quote = pair.note_snapshot.text, finding.quote
                if len(lines_after(before, now, quote)) < len(quote_lines(before, quote)):
                    yield refused_json(target, _quote_gone(target, finding))
                    break


def _quote_gone(target: TargetJson, finding: QueueFindingJson) -> QuoteGone:
    quote = finding.quote
    shown = quote if len(quote) <= 80 else f"{quote[:80]}…"
    return QuoteGone(
        f"{target.note_path} {target.gate_id}: the open finding {finding.fingerprint} quotes"
        f" {shown!r}, which the change deletes; say what became of it with: commonplace"
        f" dispose_finding {finding.fingerprint} --as fixed, or have the pair reviewed"
    )


_SOURCE = "what was picked"


class NothingPicked(UsageRefused):
    """The form was sent without a pair."""


@dataclass(frozen=True)
class Pick:
    """A pair as the page showed it.

    :param note_sha256: digest of the note's text that was shown; None where none was.
    :param review_pair_id: the review that the change was measured against.
    """

    note_path: str
    gate_id: str
    model_partition: str
    note_sha256: str | None = None
    gate_sha256: str | None = None
    review_pair_id: int | None = None


def ack_picks(
    picks: Sequence[Pick], *, actor: str, reason: str, corpus: Corpus, now: datetime
) -> list[AcksJson]:
    """Ack exactly the texts that were shown; one answer per model partition.

    A pair whose note or gate is another text by now is refused and holds no other up.

    :raises NothingPicked: there is no pair.
    :raises BadTargets, PartitionNotConcrete: a pair is none; nothing was written for its partition.
    """
    return [
        ack_selection(
            *read_ack_targets(selection, source=_SOURCE, config=corpus.config),
            actor=actor,
            reason=reason,
            corpus=corpus,
            now=now,
        )
        for selection in _selections(picks, Staleness.NOTE_CHANGED.value, corpus.config)
    ]


def request_reviews(
    picks: Sequence[Pick], *, grouping: Grouping, actor: str, config: Config, now: datetime
) -> list[CreatedJson]:
    """Queue jobs for the pairs, fresh or not; one answer per model partition.

    :raises NothingPicked: there is no pair.
    :raises BadTargets, PartitionNotConcrete: a pair is none; no job was made for its partition.
    """
    catalog, answers = Corpus(config).gates, []
    for selection in _selections(picks, REQUESTED, config):
        found = read_selection(selection, source=_SOURCE, config=config, catalog=catalog)
        request = CreateRequest(model_partition=found[0], grouping=grouping, actor=actor)
        answers.append(create_jobs(found[1], request, config=config, now=now))
    return answers


def _selections(picks: Iterable[Pick], reason: str, config: Config) -> list[bytes]:
    """Return the picks as the selector would give them, one selection a model partition."""
    targets: dict[str, list[dict[str, Any]]] = {}
    for pick in picks:
        target = {
            **asdict(pick),
            "gate_path": gate_path_of(pick.gate_id, gates_folder=config.gates_folder),
            "reason": reason,
            "accepted_review_pair_id": pick.review_pair_id,
        }
        targets.setdefault(pick.model_partition, []).append(target)
    if not targets:
        raise NothingPicked("no pair was picked", hint="tick at least one")
    return [
        msgspec.json.encode(
            {"schema": SELECTION_SCHEMA, "model_partition": partition, "targets": of_partition}
        )
        for partition, of_partition in sorted(targets.items())
    ]
