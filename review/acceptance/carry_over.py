"""Carry acceptances over to a new path, with what was decided about findings, or retire them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from typing import TypeAlias

from django.db import transaction
from django.db.models import Q

from review import models
from review.acceptance.accept import accept, of_texts, recompute_states
from review.acceptance.ack import code_of
from review.documents.base import Document
from review.domain.finding_identity import review_fingerprint
from review.domain.paths import did_you_mean, normalise_path
from review.errors import Conflict, InputRejected, ReviewError, UsageRefused
from review.findings.states import findings_of, fingerprints_at
from review.knowledge_base import Corpus, Gate, NoteText
from review.selection.names import EMPTY_SHA256, below, carried_away, is_there, within
from review.vocabulary import AcceptanceKind, Decision

_CHUNK = 200


class MovedKeyJson(Document):
    """The key of an acceptance before and after a move."""

    model_partition: str
    old_note_path: str
    old_gate_path: str
    note_path: str
    gate_path: str


class CarriedJson(MovedKeyJson):
    """An acceptance that has a key at the new path; `dispositions` counts those that came along."""

    decision: str
    review_pair_id: int | None
    dispositions: int


class NotCarriedJson(MovedKeyJson):
    """An acceptance that stays where it is, and why."""

    code: str
    message: str


class CarryOverJson(Document, kw_only=True, tag_field="schema", tag="carry-over-acceptances/1"):
    """The answer of `carry_over_acceptances`; with `--retire`, `new_path` is null.

    `superseded` are retired too: the new path has a later acceptance, and the old one is gone.
    """

    dry_run: bool
    old_path: str
    new_path: str | None
    carried: list[CarriedJson] = []
    not_identical: list[NotCarriedJson] = []
    refused: list[NotCarriedJson] = []
    retired: list[CarriedJson] = []
    superseded: list[CarriedJson] = []


_Key: TypeAlias = tuple[int, str, str]
_Text: TypeAlias = tuple[tuple[str, str], str]
_RETIRED = Q(event__kind=AcceptanceKind.OVERRIDE) & (
    Q(note_snapshot__content_sha256=EMPTY_SHA256) | Q(gate_snapshot__content_sha256=EMPTY_SHA256)
)


class NotIdentical(Conflict):
    """The file at the new path is not the text that was accepted."""


@dataclass(frozen=True)
class CarryRequest:
    """From where to where, files or folders; without `new_path` the files are gone for good.

    :param edited: carry the acceptance of the old text too where the file was edited.
    """

    old_path: str
    new_path: str | None
    actor: str
    model_partition: str | None = None
    dry_run: bool = False
    edited: bool = False
    reason: str = ""


@dataclass(frozen=True)
class CarryPlan:
    """An acceptance to be made at the new paths, with the texts of the files that moved."""

    row: models.CurrentAcceptance
    note_path: str
    gate_path: str
    texts: models.Texts = field(default_factory=dict)

    @property
    def is_move(self) -> bool:
        return (self.note_path, self.gate_path) != (self.row.note.path, self.row.gate.path)

    @property
    def name(self) -> str:
        return f"{self.note_path} {self.gate_path} ({self.row.model_partition.name})"

    @property
    def key(self) -> _Key:
        return (self.row.model_partition_id, self.note_path, self.gate_path)


def carry_over_acceptances(
    request: CarryRequest, *, corpus: Corpus, now: datetime
) -> CarryOverJson:
    """Accept at the new path what is accepted at the old one, with what was decided of findings.

    Only if the file there has exactly the accepted bytes (unless `edited`) and the key has no
    acceptance yet; the others are named. It commits in parts: running it again carries the rest.
    """
    old = normalise_path(request.old_path)
    new = None if request.new_path is None else normalise_path(request.new_path)
    if old == new:
        raise UsageRefused("the old and the new path are the same")
    rows = _acceptances_at(old, request.model_partition)
    moved = partial(_moved, old=old, new=new)
    wanted = [CarryPlan(row, moved(row.note.path), moved(row.gate.path)) for row in rows]
    if new is not None:
        wanted = list(_living([plan for plan in wanted if plan.is_move], corpus))
    if not wanted:
        raise _nothing(request, old)
    answer = CarryOverJson(dry_run=request.dry_run, old_path=old, new_path=new)
    work = _Carrying(request, old, corpus, now, cache(corpus.read_note), answer)
    for chunk in models.batched(wanted, _CHUNK):
        plans = work.plans(chunk)
        with transaction.atomic():
            if not request.dry_run:
                # First, so that no review of the path is accepted between the look and the write.
                models.ReviewStore.objects.move_acceptances()
            work.write(plans)
    return answer


def _moved(path: str, old: str, new: str | None) -> str:
    """Return the path after the move of a file or folder, which may be into itself."""
    if new is None or not within((old,))(path):
        return path
    if within((old,))(new) and within((new,))(path):
        return path
    return f"{new}{path[len(old) :]}"


def _living(wanted: Sequence[CarryPlan], corpus: Corpus) -> Iterator[CarryPlan]:
    """Yield those but for reviews of a note or gate that has another path now, which have them too."""
    away = carried_away((plan.row.event_id, plan.row.event.review_pair_id) for plan in wanted)
    for plan in wanted:
        is_note = plan.note_path == plan.row.note.path
        kind, path = ("note", plan.note_path) if is_note else ("gate", plan.gate_path)
        if plan.row.event_id not in away or is_there(corpus, path, kind=kind):
            yield plan


def _acceptances_at(path: str, model_partition: str | None) -> list[models.CurrentAcceptance]:
    """Return what is accepted for notes or gates at `path` or below it, without what is retired."""
    names = models.KbPath.objects.filter(below((path,), field="path")).values_list("pk", "path")
    is_moved = within((path,))
    keys = models.NamedKeys(key for key, name in names if is_moved(name))
    related = ("model_partition", "note", "gate", "note_snapshot", "gate_snapshot")
    rows = (
        models.CurrentAcceptance.objects.filter(Q(note_id__in=keys) | Q(gate_id__in=keys))
        .exclude(_RETIRED)
        .select_related(*related, *(f"event__review_pair__{it}" for it in ("note", "gate")))
        .defer("note_snapshot__text", "gate_snapshot__text")
    )
    if model_partition is not None:
        rows = rows.of_partition(model_partition)
    return sorted(rows, key=lambda row: (row.note.path, row.gate.path, row.model_partition_id))


@dataclass(frozen=True)
class _Carrying:
    request: CarryRequest
    old: str
    corpus: Corpus
    now: datetime
    read_note: Callable[[str], NoteText]
    answer: CarryOverJson

    def plans(self, wanted: Iterable[CarryPlan]) -> list[CarryPlan]:
        """Read the texts at the new paths; the plans that are possible, the others are refused."""
        plans: list[CarryPlan] = []
        read = self._nothing_left if self.request.new_path is None else self._moved_texts
        for plan in wanted:
            try:
                plans.append(replace(plan, texts=dict(read(plan))))
            except ReviewError as error:
                self._refuse(plan, error)
        return plans

    def write(self, plans: Sequence[CarryPlan]) -> None:
        """Accept what is still possible, with the dispositions; nothing in a dry run.

        What was decided is carried over also where the new path was reviewed meanwhile.
        """
        is_move, now = self.request.new_path is not None, self.now
        possible = list(self._still_possible(plans))
        in_use = self._in_use(possible) if is_move else {}
        current = [plan for plan in possible if plan.key not in in_use]
        taken = [plan for plan in possible if plan.key in in_use]
        later = [plan for plan in taken if _is_superseded(plan, *in_use[plan.key])]
        superseded = {plan.key: retired for plan in later for retired in self._retired(plan)}
        decided = _carried_dispositions(possible) if is_move else []
        if not self.request.dry_run:
            made = [*current, *superseded.values()]
            texts = dict(item for plan in made for item in plan.texts.items())
            keys = models.FileSnapshot.objects.take(texts, now=now)
            accept([self._acceptance(plan, keys) for plan in made], now=now)
            models.Disposition.objects.bulk_create([row for _plan, row in decided], batch_size=100)
            recompute_states(row.fingerprint for _plan, row in decided)
        copied = Counter(plan.key for plan, _row in decided)
        for plan in possible:
            if plan.key in in_use and plan.key not in superseded:
                also = f"; decided findings carried over: {copied[plan.key]}" * (plan.key in copied)
                why = f"{plan.name} has an acceptance already{also}"
                self._refuse(plan, Conflict(why, "already-accepted"))
                continue
            told = self.answer.carried if is_move else self.answer.retired
            told = self.answer.superseded if plan.key in superseded else told
            review = plan.row.event.review_pair_id
            told.append(CarriedJson(*_names(plan), plan.row.decision, review, copied[plan.key]))

    def _retired(self, plan: CarryPlan) -> Iterator[CarryPlan]:
        """Yield the plan of retiring the acceptance at the old path, if that is gone."""
        row = plan.row
        with suppress(Conflict):
            gone = dict(self._nothing_left(plan))
            yield CarryPlan(row, row.note.path, row.gate.path, gone)

    def _moved_texts(self, plan: CarryPlan) -> Iterator[_Text]:
        """Yield the accepted texts of the files that moved, under their new paths."""
        row = plan.row
        moved: list[tuple[NoteText | Gate, models.FileSnapshot]] = []
        if plan.note_path != row.note.path:
            moved.append((self.read_note(plan.note_path), row.note_snapshot))
        if plan.gate_path != row.gate.path:
            moved.append((self.corpus.gate(plan.gate_path), row.gate_snapshot))
        for file, accepted in moved:
            sha256 = accepted.content_sha256
            if file.sha256 != sha256 and not self.request.edited:
                why = f"{file.path} is not the text that was accepted"
                raise NotIdentical(why, hint="--edited carries it too")
            yield (file.path, sha256), file.text if file.sha256 == sha256 else accepted.text

    def _nothing_left(self, plan: CarryPlan) -> Iterator[_Text]:
        """Yield an empty text in place of the note or gate that is gone."""
        row = plan.row
        is_note = within((self.old,))(row.note.path)
        file = row.note.path if is_note else row.gate.path
        gates = (gate.path for gate in self.corpus.gates.gates)
        if is_there(self.corpus, file, kind="note") if is_note else file in gates:
            raise Conflict(f"{file} is there: only what is gone can be retired", "still-there")
        yield (file, EMPTY_SHA256), ""

    def _still_possible(self, plans: Sequence[CarryPlan]) -> Iterator[CarryPlan]:
        """Yield the plans whose acceptance is still the current one."""
        unmoved = models.CurrentAcceptance.objects.filter(pk__in=[plan.row.pk for plan in plans])
        event_ids = set(unmoved.values_list("event_id", flat=True))
        for plan in plans:
            if plan.row.event_id in event_ids:
                yield plan
            else:
                message = f"{plan.name}: it was decided anew meanwhile; run it again"
                self._refuse(plan, Conflict(message, "acceptance-moved"))

    def _in_use(self, plans: Sequence[CarryPlan]) -> dict[_Key, tuple[int, int | None]]:
        """Return the event that counts at each new key that has one, and its review."""
        rows = models.CurrentAcceptance.objects.filter(
            model_partition_id__in={plan.key[0] for plan in plans},
            note__path__in={plan.note_path for plan in plans},
            gate__path__in={plan.gate_path for plan in plans},
        ).exclude(_RETIRED)
        keys = ("model_partition_id", "note__path", "gate__path")
        found = rows.values_list(*keys, "event_id", "event__review_pair_id")
        counting = {row[:3]: row[3:] for row in found}
        return {plan.key: counting[plan.key] for plan in plans if plan.key in counting}

    def _acceptance(
        self, plan: CarryPlan, keys: dict[tuple[str, str], models.FileSnapshot]
    ) -> models.Acceptance:
        row, event, request = plan.row, plan.row.event, self.request
        new = {path: keys[path, sha256] for path, sha256 in plan.texts}
        note = new.get(plan.note_path, row.note_snapshot)
        gate = new.get(plan.gate_path, row.gate_snapshot)
        actor, reason = request.actor, f"carried over from {row.note.path} {row.gate.path}"
        if not plan.is_move:
            reason = request.reason or "retired: the file is gone"
        elif event.review_pair_id is None:
            actor, reason = event.actor, f"{event.reason} ({reason} by {actor})"
        is_review = plan.is_move and event.review_pair_id is not None
        return of_texts(
            note,
            gate,
            model_partition_id=row.model_partition_id,
            kind=AcceptanceKind.CARRY_OVER if is_review else AcceptanceKind.OVERRIDE,
            decision=row.decision if plan.is_move else Decision.PASS,
            review_pair_id=event.review_pair_id if is_review else None,
            text_read_at=self.now,
            actor=actor,
            reason=reason,
        )

    def _refuse(self, plan: CarryPlan, error: ReviewError) -> None:
        told = self.answer.not_identical if isinstance(error, NotIdentical) else self.answer.refused
        told.append(NotCarriedJson(*_names(plan), code_of(error), error.message))


def _is_superseded(plan: CarryPlan, event_id: int, review_pair_id: int | None) -> bool:
    """True if what counts at the new key is later, and not this review, carried over before."""
    event = plan.row.event
    return event_id > event.pk and review_pair_id != event.review_pair_id


def _carried_dispositions(plans: Sequence[CarryPlan]) -> list[tuple[CarryPlan, models.Disposition]]:
    """Return each finding's latest disposition as a new row, unless its new fingerprint has one."""
    moved = list(_moved_fingerprints([plan for plan in plans if plan.row.event.review_pair_id]))
    decided = models.latest_of(old for _plan, old, _new in moved)
    there = models.latest_of(new for _plan, _old, new in moved)
    copies = {
        (decided[old].pk, new): (plan, decided[old])
        for plan, old, new in moved
        if old in decided and new not in there
    }
    return [(copies[key][0], _copy(copies[key][1], key[1])) for key in sorted(copies)]


def _moved_fingerprints(plans: Sequence[CarryPlan]) -> Iterator[tuple[CarryPlan, str, str]]:
    """Yield the fingerprints of the findings of each review at the old and at the new paths."""
    pairs = {plan.row.event.review_pair_id or 0 for plan in plans}
    findings = findings_of(pairs)
    for plan in plans:
        row, pair = plan.row, plan.row.event.review_pair
        if pair is None:
            continue
        places = ((row.note.path, row.gate.path), (plan.note_path, plan.gate_path))
        marks = (fingerprints_at(it, pair, findings.get(pair.pk, [])) for it in places)
        own = (
            review_fingerprint(note_path=note, gate_path=gate, partition=row.model_partition.name)
            for note, gate in places
        )
        yield from ((plan, *each) for each in [*zip(*marks, strict=True), tuple(own)])


def _copy(row: models.Disposition, fingerprint: str) -> models.Disposition:
    copied = copy(row)
    copied.pk, copied.fingerprint = None, fingerprint
    return copied


def _names(plan: CarryPlan) -> tuple[str, str, str, str, str]:
    row = plan.row
    old = (row.model_partition.name, row.note.path, row.gate.path)
    return (*old, plan.note_path, plan.gate_path)


def _nothing(request: CarryRequest, old: str) -> InputRejected:
    whose = f" in partition {request.model_partition!r}" if request.model_partition else ""
    known = models.CurrentAcceptance.objects.values_list("note__path", "gate__path").distinct()[
        :100_000
    ]
    near = did_you_mean(old, {path for paths in known for path in paths})
    hint = near or "commonplace review_status lists orphans"
    return InputRejected(f"nothing is accepted at {old!r}{whose}", "nothing-to-carry", hint=hint)
