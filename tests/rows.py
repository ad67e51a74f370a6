"""Rows written straight into the store, for tests of what the database itself refuses."""

from __future__ import annotations

from itertools import count
from typing import Any

from review.acceptance.accept import recompute_states
from review.models import (
    Acceptance,
    CurrentAcceptance,
    DecisionEvent,
    Disposition,
    FileSnapshot,
    Finding,
    FindingState,
    JobEvent,
    JobOutput,
    KbPath,
    ModelPartition,
    ReviewJob,
    ReviewPair,
)
from review.vocabulary import (
    AcceptanceKind,
    Decision,
    DispositionState,
    Grouping,
    JobStatus,
    PairStatus,
    Seen,
    Severity,
)
from tests.builders import GATES_FOLDER, NOW

_numbers = count(1)


def path_row(**overrides: Any) -> KbPath:
    """A path."""
    return KbPath.objects.create(**{"path": f"kb/notes/{next(_numbers)}.md"} | overrides)


def partition_row(**overrides: Any) -> ModelPartition:
    """A model partition."""
    return ModelPartition.objects.create(**{"name": f"model-{next(_numbers)}"} | overrides)


def snapshot_row(**overrides: Any) -> FileSnapshot:
    """A snapshot, of a path of its own unless one is given."""
    number = next(_numbers)
    fields = {"content_sha256": f"{number:064x}", "byte_size": 2, "captured_at": NOW, "text": "x\n"}
    if "path" not in overrides:
        fields["path"] = path_row()
    return FileSnapshot.objects.create(**fields | overrides)


def gate_snapshot_row() -> FileSnapshot:
    """A snapshot of a gate of its own."""
    return snapshot_row(path=path_row(path=f"{GATES_FOLDER}/prose/{next(_numbers)}.md"))


def job_row(**overrides: Any) -> ReviewJob:
    """A queued job without pairs."""
    fields = {
        "status": JobStatus.QUEUED,
        "grouping": Grouping.NOTE,
        "lens": "prose",
        "sentinel_token": "0123abcd",
        "prompt_path": "p",
        "bundle_output_path": "o",
        "prompt_sha256": "0" * 64,
        "estimated_prompt_tokens": 10,
        "pair_count": 1,
        "created_at": NOW,
    }
    if "model_partition" not in overrides:
        fields["model_partition"] = partition_row()
    return ReviewJob.objects.create(**fields | overrides)


def pair_row(**overrides: Any) -> ReviewPair:
    """A pending pair, with a job and texts of its own unless they are given."""
    fields: dict[str, Any] = {"ordinal": 1, "status": PairStatus.PENDING}
    if "job" not in overrides:
        fields["job"] = job_row()
    for name, make in (("note", snapshot_row), ("gate", gate_snapshot_row)):
        snapshot = overrides.get(f"{name}_snapshot") or make()
        fields |= {f"{name}_snapshot": snapshot, name: snapshot.path}
    return ReviewPair.objects.create(**fields | overrides)


def completed_pair_row(**overrides: Any) -> ReviewPair:
    """A pair that a reviewer decided."""
    fields = {
        "status": PairStatus.COMPLETED,
        "decision": Decision.PASS,
        "reviewed_at": NOW,
    }
    return pair_row(**fields | overrides)


def acceptance_row(**overrides: Any) -> Acceptance:
    """An acceptance of a completed pair of its own, unless one is given."""
    pair = overrides.get("review_pair") or completed_pair_row()
    fields = {
        "note": pair.note,
        "gate": pair.gate,
        "note_snapshot": pair.note_snapshot,
        "gate_snapshot": pair.gate_snapshot,
        "model_partition": pair.job.model_partition,
        "review_pair": pair,
        "kind": AcceptanceKind.FULL_REVIEW,
        "decision": Decision.PASS,
        "text_read_at": NOW,
        "actor": "human:test",
        "accepted_at": NOW,
    }
    return Acceptance.objects.create(**fields | overrides)


def current_acceptance_row(event: Acceptance | None = None, **overrides: Any) -> CurrentAcceptance:
    """The row that makes `event` count."""
    event = event or acceptance_row()
    fields = {
        "event": event,
        "note": event.note,
        "gate": event.gate,
        "note_snapshot": event.note_snapshot,
        "gate_snapshot": event.gate_snapshot,
        "model_partition": event.model_partition,
        "decision": event.decision,
    }
    return CurrentAcceptance.objects.create(**fields | overrides)


def finding_row(**overrides: Any) -> Finding:
    """A finding of a completed pair."""
    fields = {"ordinal": 1, "severity": Severity.WARN, "text": "vague", "fingerprint": "f" * 16}
    if "pair" not in overrides:
        fields["pair"] = completed_pair_row()
    return Finding.objects.create(**fields | overrides)


def finding_state_row(**overrides: Any) -> FindingState:
    """A row of the queue, of an acceptance of its own unless one is given."""
    event = overrides.get("event") or acceptance_row()
    fields = {
        "event": event,
        "note": event.note,
        "gate": event.gate,
        "model_partition": event.model_partition,
        "pair": event.review_pair,
        "read_snapshot": event.note_snapshot,
        "gate_snapshot": event.gate_snapshot,
        "note_path": event.note.path,
        "gate_path": event.gate.path,
        "ordinal": 1,
        "decision": Decision.WARN,
        "severity": Severity.WARN,
        "fingerprint": "f" * 16,
        "later_objections": 0,
        "text_read_at": NOW,
        "first_at": NOW,
        "seen_before": Seen.NEW,
        "seen": Seen.NEW,
        "state": DispositionState.OPEN,
    }
    return FindingState.objects.create(**fields | overrides)


def disposition_row(**overrides: Any) -> Disposition:
    """A disposition of a fingerprint."""
    fields = {
        "fingerprint": "f" * 16,
        "state": DispositionState.FIXED,
        "actor": "human:test",
        "at": NOW,
    }
    row = Disposition.objects.create(**fields | overrides)
    recompute_states([row.fingerprint])
    return row


def decision_event_row(**overrides: Any) -> DecisionEvent:
    """A person's decision on a pair."""
    fields = {"decision": Decision.PASS, "actor": "human:test", "reason": "read it", "at": NOW}
    if "pair" not in overrides:
        fields["pair"] = completed_pair_row()
    return DecisionEvent.objects.create(**fields | overrides)


def job_event_row(**overrides: Any) -> JobEvent:
    """A move of a job."""
    fields = {"to_status": JobStatus.QUEUED, "actor": "human:test", "at": NOW}
    if "job" not in overrides:
        fields["job"] = job_row()
    return JobEvent.objects.create(**fields | overrides)


def job_output_row(**overrides: Any) -> JobOutput:
    """The raw output of a job."""
    fields = {"content_sha256": "0" * 64, "raw": b"text", "at": NOW}
    if "job" not in overrides:
        fields["job"] = job_row()
    return JobOutput.objects.create(**fields | overrides)
