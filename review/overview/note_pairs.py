"""The pairs of one note by gate and model partition, and its changes since each accepted text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from review.documents.base import timestamp
from review.domain.applicability import applies
from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import lens_of
from review.domain.staleness import Digests, staleness_reasons
from review.knowledge_base import Corpus, Gate, NoteFacts
from review.models import CurrentAcceptance, FileSnapshot, ModelPartition, ReviewPair
from review.overview.documents import NotePairJson
from review.reviews.pair_states import FRESH, Obligations
from review.selection.freshness import ChangeReader
from review.selection.path_filters import gate_label
from review.vocabulary import OPEN_JOB_STATUSES, Decision, Staleness

ACT, REVIEW, NOTHING = "something", "review", "nothing"
GATE_GONE, NOT_APPLICABLE = "gate-gone", "not-applicable"
# Texts that one page compares word by word; the others get links.
MAX_COMPARED = 3

Key = tuple[str, str]  # gate path and model partition


@dataclass(frozen=True)
class CurrentNote:
    """A note as it is on disk; `facts` is None when it is gone or cannot be reviewed.

    :param path_id: the key of its path; None where the store does not know it.
    """

    path: str
    path_id: int | None
    facts: NoteFacts | None
    text: str | None


def read_accepted(note_id: int | None) -> list[CurrentAcceptance]:
    """Current acceptances of a note with all that a page shows of them, the latest first."""
    rows = CurrentAcceptance.objects.filter(
        model_partition__in=ModelPartition.objects.all(), note_id=note_id
    )
    evidence = "event__review_pair"
    snapshots = ("note_snapshot", "gate_snapshot", f"{evidence}__note_snapshot")
    related = ("gate", "model_partition", "event", f"{evidence}__note", f"{evidence}__gate")
    rows = rows.select_related(*related, *snapshots)
    return list(rows.defer(*(f"{name}__text" for name in snapshots)).order_by("-event_id"))


class PairRow(NotePairJson, kw_only=True):
    """A pair as the page of its note shows it."""

    @property
    def is_gone(self) -> bool:
        return self.state in (GATE_GONE, NOT_APPLICABLE)

    @property
    def is_note_changed(self) -> bool:
        return Staleness.NOTE_CHANGED in self.reasons and not self.is_gone

    @property
    def wants(self) -> str:
        """An act of a person, a first review, or nothing: fresh and passed, or no longer applicable."""
        if self.undecided_pair_id:
            return ACT
        if self.is_gone or (self.state == FRESH and self.decision == Decision.PASS):
            return NOTHING
        return ACT if self.accepted_at else REVIEW

    @property
    def is_trivial(self) -> bool:
        """True if the only reason for staleness is a change that the gate calls trivial."""
        only_note = self.reasons == [Staleness.NOTE_CHANGED] and self.review_pair_id is not None
        return only_note and self.change is not None and self.change.trivial


def read_pairs(
    corpus: Corpus,
    note: CurrentNote,
    accepted: Iterable[CurrentAcceptance],
    *,
    partitions: Sequence[str],
    obligations: Obligations,
    gates_folder: str,
) -> tuple[PairRow, ...]:
    """Return the pairs that partitions must review or have accepted, by gate and partition.

    :param partitions: the ones to show; none shows those the note has something in.
    """
    known = {(row.gate.path, row.model_partition.name): row for row in accepted}
    pairs = ReviewPair.objects.filter(note_id=note.path_id)
    jobs = _latest(pairs.filter(job__status__in=OPEN_JOB_STATUSES), "job_id")
    # Without a readable decision, and without one that a person set.
    unknown = pairs.filter(decision__in=[Decision.ERROR, Decision.UNKNOWN])
    undecided = _latest(unknown.filter(decision_events__isnull=True), "pk")
    seen = {*known, *jobs, *undecided}
    names = partitions or {name for _gate_path, name in seen}
    owing = obligations.including(partitions)
    keys = {
        (gate.path, name)
        for gate in applicable_gates(corpus, note)
        for name in names
        if owing.owes(name, gate)
    }
    reader = _RowReader(corpus, note, known.values(), gates_folder)
    return tuple(
        reader.row(key, known.get(key), job_id=jobs.get(key), undecided_pair_id=undecided.get(key))
        for key in sorted(keys | {key for key in seen if key[1] in names})
    )


def applicable_gates(corpus: Corpus, note: CurrentNote) -> list[Gate]:
    if note.facts is None:
        return []
    kind = note.facts.kind
    return [gate for gate in corpus.gates.gates if applies(gate.requirement, kind)]


class _RowReader:
    """Compares acceptances of one note with its current text and the current gates."""

    def __init__(
        self,
        corpus: Corpus,
        note: CurrentNote,
        accepted: Iterable[CurrentAcceptance],
        gates_folder: str,
    ) -> None:
        self._gates = {gate.path: gate for gate in corpus.gates.gates}
        self._applicable = {gate.path for gate in applicable_gates(corpus, note)}
        self._sha256 = note.facts and note.facts.sha256
        self._folder = gates_folder
        self._note_path = note.path
        self._changes = ChangeReader(corpus)
        if note.facts is not None:
            changed = (row for row in accepted if row.note_snapshot.content_sha256 != self._sha256)
            self._changes.load({_judged_text(row) for row in changed})

    def row(
        self,
        key: Key,
        accepted: CurrentAcceptance | None,
        *,
        job_id: int | None,
        undecided_pair_id: int | None,
    ) -> PairRow:
        gate_path, partition = key
        gate = self._gates.get(gate_path)
        gate_id = gate_label(gate_path, self._folder)
        reasons = staleness_reasons(
            current=Digests(note=self._sha256, gate=gate and gate.sha256),
            accepted=Digests(
                note=accepted.note_snapshot.content_sha256,
                gate=accepted.gate_snapshot.content_sha256,
            )
            if accepted
            else None,
        )
        state = reasons[0].value if reasons else FRESH
        if gate is None:
            state = GATE_GONE
        elif self._sha256 is not None and gate_path not in self._applicable:
            state = NOT_APPLICABLE
        pair_id = accepted.event.review_pair_id if accepted else None
        row = PairRow(
            gate_id=gate_id,
            gate_path=gate_path,
            lens=lens_of(gate_id),
            model_partition=partition,
            state=state,
            reasons=[reason.value for reason in reasons],
            gate_sha256=gate.sha256 if gate else None,
            review_pair_id=pair_id,
            undecided_pair_id=undecided_pair_id
            if undecided_pair_id and undecided_pair_id > (pair_id or 0)
            else None,
            open_review_job_id=job_id,
            **(_acceptance(accepted) if accepted else {}),
        )
        if accepted and gate and row.is_note_changed:
            since = _judged_text(accepted)
            row.change = self._changes.change(self._note_path, gate, since=since)
        return row


def _acceptance(accepted: CurrentAcceptance) -> dict[str, Any]:
    event = accepted.event
    return {
        "decision": accepted.decision,
        "kind": event.kind,
        "accepted_at": timestamp(event.accepted_at),
        "accepted_note_sha256": accepted.note_snapshot.content_sha256,
        "accepted_note_snapshot_id": accepted.note_snapshot_id,
        "actor": event.actor,
        "reason": event.reason or None,
    }


def _judged_text(accepted: CurrentAcceptance) -> int:
    """The snapshot of the note that was judged; an ack accepts a later one."""
    evidence = accepted.event.review_pair
    return evidence.note_snapshot_id if evidence else accepted.note_snapshot_id


def _latest(pairs: QuerySet[ReviewPair], column: str) -> dict[Key, int]:
    """Return a column of the latest of these pairs, by key."""
    rows = pairs.order_by("pk").values_list("gate__path", "job__model_partition__name", column)
    return {(gate, partition): value for gate, partition, value in rows}


@dataclass(frozen=True)
class Since:
    """One accepted text that is not today's, and the pairs that are stale for it.

    :param accepted_at: the latest moment at which it was accepted.
    :param diff: None where the page has no room for it.
    """

    accepted_at: str
    rows: tuple[PairRow, ...]
    diff: WordDiff | None


def read_since(rows: Iterable[PairRow], now_text: str | None) -> tuple[Since, ...]:
    """Accepted texts that differ from today's, those that make most pairs stale first."""
    if now_text is None:
        return ()
    groups: dict[int, list[PairRow]] = {}
    for row in rows:
        if row.accepted_note_snapshot_id is not None and row.is_note_changed:
            groups.setdefault(row.accepted_note_snapshot_id, []).append(row)
    ordered = sorted(groups, key=lambda key: (-len(groups[key]), -key))
    snapshots = FileSnapshot.objects.filter(pk__in=ordered[:MAX_COMPARED])
    texts = dict(snapshots.values_list("pk", "text"))
    return tuple(
        Since(
            accepted_at=max(row.accepted_at or "" for row in groups[key]),
            rows=tuple(groups[key]),
            diff=word_diff(texts[key], now_text) if key in texts else None,
        )
        for key in ordered
    )
