"""Where one note stands with every gate, in the model partitions that are asked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from review.corpus import Corpus, Gate, NoteFacts
from review.domain.applicability import applies
from review.domain.staleness import Digests, staleness_reasons
from review.models import KbPath, ModelPartition, ReviewPair
from review.queries.changes import ChangeReader
from review.queries.note_acceptances import Accepted
from review.queries.note_rows import GATE_GONE, NOT_APPLICABLE, PairRow
from review.queries.review_details import gate_label
from review.vocabulary import OPEN_JOB_STATUSES, Decision, Staleness


@dataclass(frozen=True)
class NoteNow:
    """A note as it is on disk; `facts` is None when it is gone or cannot be reviewed."""

    path: str
    facts: NoteFacts | None
    text: str | None


def known_partitions() -> list[str]:
    """Names of all model partitions, sorted."""
    return list(ModelPartition.objects.order_by("name").values_list("name", flat=True))


def read_pairs(
    corpus: Corpus,
    note: NoteNow,
    accepted_rows: Iterable[Accepted],
    *,
    partitions: Sequence[str],
    gates_folder: str,
) -> tuple[PairRow, ...]:
    """Every applicable gate, and every gate that has an acceptance, sorted by gate and partition.

    :param accepted_rows: the current acceptances of the note.
    :param partitions: the ones to show; none shows those the note has something in.
    """
    note_id = KbPath.objects.filter(path=note.path).values_list("pk", flat=True).first()
    accepted = {(row.gate_path, row.model_partition): row for row in accepted_rows}
    reader = _Reader(corpus, note, gates_folder)
    reader.load_changes(accepted.values())
    queued = _open_jobs(note_id)
    undecided = _undecided(note_id)
    names = list(partitions) or sorted({key[1] for key in (*accepted, *queued, *undecided)})
    keys = {(gate.path, name) for gate in reader.applicable for name in names}
    keys |= {key for key in accepted if not partitions or key[1] in names}
    return tuple(
        reader.row(
            key,
            accepted.get(key),
            open_job_id=queued.get(key),
            undecided_pair_id=undecided.get(key),
        )
        for key in sorted(keys)
    )


class _Reader:
    """Judges keys of one note against the gates there are now."""

    def __init__(self, corpus: Corpus, note: NoteNow, gates_folder: str) -> None:
        self._gates: Mapping[str, Gate] = {gate.path: gate for gate in corpus.gates.gates}
        self._changes = ChangeReader(corpus)
        self._note = note
        self._folder = gates_folder
        facts = note.facts
        self.applicable = [
            gate
            for gate in corpus.gates.gates
            if facts is not None and applies(gate.requirement, facts.kind)
        ]
        self._applying = {gate.path for gate in self.applicable}

    def load_changes(self, rows: Iterable[Accepted]) -> None:
        """Read the texts that `row` measures changes from."""
        facts = self._note.facts
        changed = [row for row in rows if facts and row.note_sha256 != facts.sha256]
        self._changes.load({_evidence_id(row) for row in changed})

    def row(
        self,
        key: tuple[str, str],
        accepted: Accepted | None,
        *,
        open_job_id: int | None,
        undecided_pair_id: int | None,
    ) -> PairRow:
        """The row of one gate path and partition."""
        gate = self._gates.get(key[0])
        plain = PairRow(
            gate_id=gate_label(key[0], self._folder),
            gate_path=key[0],
            model_partition=key[1],
            reasons=self._reasons(gate, accepted),
            gone=self._gone(key[0]),
            undecided_pair_id=undecided_pair_id,
            open_job_id=open_job_id,
            gate_sha256=gate.sha256 if gate else None,
        )
        if accepted is None:
            return plain
        row = _with_acceptance(plain, accepted)
        if Staleness.NOTE_CHANGED not in row.reasons or row.gone or gate is None:
            return row
        since = _evidence_id(accepted)
        return replace(row, change=self._changes.change(self._note.path, gate, since=since))

    def _gone(self, gate_path: str) -> str:
        if gate_path not in self._gates:
            return GATE_GONE
        known = self._note.facts is not None
        return NOT_APPLICABLE if known and gate_path not in self._applying else ""

    def _reasons(self, gate: Gate | None, accepted: Accepted | None) -> tuple[Staleness, ...]:
        facts = self._note.facts
        known = None
        if accepted is not None:
            known = Digests(note=accepted.note_sha256, gate=accepted.gate_sha256)
        current = Digests(note=facts and facts.sha256, gate=gate and gate.sha256)
        return staleness_reasons(current=current, accepted=known)


def _with_acceptance(row: PairRow, accepted: Accepted) -> PairRow:
    evidence = accepted.evidence
    pair_id = evidence.pair_id if evidence else None
    return replace(
        row,
        decision=accepted.decision,
        kind=accepted.kind,
        accepted_at=accepted.accepted_at,
        actor=accepted.actor,
        reason=accepted.reason,
        review_pair_id=pair_id,
        note_snapshot_id=accepted.note_snapshot_id,
        accepted_note_sha256=accepted.note_sha256,
        undecided_pair_id=_later(row.undecided_pair_id, pair_id),
    )


def _evidence_id(accepted: Accepted) -> int:
    """Return the key of the note's text that was judged, or accepted without a review."""
    return (accepted.evidence or accepted).note_snapshot_id


def _later(pair_id: int | None, accepted_pair_id: int | None) -> int | None:
    return pair_id if pair_id and pair_id > (accepted_pair_id or 0) else None


def _open_jobs(note_id: int | None) -> dict[tuple[str, str], int]:
    rows = ReviewPair.objects.filter(note_id=note_id, job__status__in=OPEN_JOB_STATUSES)
    columns = ("gate__path", "job__model_partition__name", "job_id")
    return {(gate, name): job for gate, name, job in rows.order_by("job_id").values_list(*columns)}


def _undecided(note_id: int | None) -> dict[tuple[str, str], int]:
    """The latest review of each key that nobody could read a decision in, nor made one."""
    rows = ReviewPair.objects.filter(
        note_id=note_id,
        decision__in=[Decision.ERROR, Decision.UNKNOWN],
        decision_events__isnull=True,
    )
    columns = ("gate__path", "job__model_partition__name", "pk")
    return {(gate, name): pair for gate, name, pair in rows.order_by("pk").values_list(*columns)}
