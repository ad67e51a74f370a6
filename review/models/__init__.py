"""The tables of the review store."""

from __future__ import annotations

from review.models.acceptances import Acceptance, CurrentAcceptance
from review.models.expressions import DatabaseClock, JoinedKeys, NamedKeys
from review.models.findings import Disposition, Finding, FindingState
from review.models.jobs import (
    Claim,
    Ending,
    Evidence,
    JobEvent,
    JobOutput,
    Lease,
    Provenance,
    ReviewJob,
)
from review.models.pairs import DecisionEvent, ReviewPair, ReviewText
from review.models.paths import KbPath, ModelPartition, ReviewStore
from review.models.snapshots import FileSnapshot, FileSnapshotKey, SnapshotText, batched

__all__ = [
    "Acceptance",
    "Claim",
    "CurrentAcceptance",
    "DatabaseClock",
    "DecisionEvent",
    "Disposition",
    "Ending",
    "Evidence",
    "FileSnapshot",
    "FileSnapshotKey",
    "Finding",
    "FindingState",
    "JobEvent",
    "JobOutput",
    "JoinedKeys",
    "KbPath",
    "Lease",
    "ModelPartition",
    "NamedKeys",
    "Provenance",
    "ReviewJob",
    "ReviewPair",
    "ReviewStore",
    "ReviewText",
    "SnapshotText",
    "batched",
]
