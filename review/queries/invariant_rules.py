"""How an invariant is written down: a query for the rows that break it, over the store's words."""

from __future__ import annotations

from dataclasses import dataclass

from review.vocabulary import (
    AcceptanceKind,
    Decision,
    FailureCode,
    Grouping,
    JobNote,
    JobStatus,
    NotAccepted,
    PairStatus,
)


@dataclass(frozen=True)
class Rule:
    """An invariant by its stable name.

    :param sql: gives `(key, text)` of each row that breaks it, in the order of the keys; written
        for SQLite and PostgreSQL alike, with the `WORDS` as parameters.
    """

    name: str
    sql: str


WORDS: dict[str, str] = {
    "queued": JobStatus.QUEUED.value,
    "running": JobStatus.RUNNING.value,
    "job_completed": JobStatus.COMPLETED.value,
    "failed": JobStatus.FAILED.value,
    "pending": PairStatus.PENDING.value,
    "completed": PairStatus.COMPLETED.value,
    "missing": PairStatus.MISSING.value,
    "error": Decision.ERROR.value,
    "unknown": Decision.UNKNOWN.value,
    "by_note": Grouping.NOTE.value,
    "by_gate": Grouping.GATE.value,
    "pairs_missing": FailureCode.PAIRS_MISSING.value,
    "all_or_nothing": FailureCode.ALL_OR_NOTHING.value,
    "replaced": FailureCode.REPLACED.value,
    "decision_error": NotAccepted.DECISION_ERROR.value,
    "decision_unknown": NotAccepted.DECISION_UNKNOWN.value,
    "partition_mismatch": NotAccepted.PARTITION_MISMATCH.value,
    "superseded": NotAccepted.SUPERSEDED.value,
    "full_review": AcceptanceKind.FULL_REVIEW.value,
    "ack": AcceptanceKind.ACK.value,
    "auto_ack": AcceptanceKind.AUTO_ACK.value,
    "carry_over": AcceptanceKind.CARRY_OVER.value,
    "pruned": JobNote.PRUNED.value,
}
