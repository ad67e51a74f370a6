"""The tables of the review store."""

from __future__ import annotations

from review.models.acceptances import Acceptance, CurrentAcceptance
from review.models.expressions import JoinedKeys, NamedKeys
from review.models.findings import Disposition, Finding, FindingState
from review.models.jobs import Claim, Ending, Evidence, JobEvent, JobOutput, Provenance, ReviewJob
from review.models.pairs import DecisionEvent, PairReview, ReviewPair, ReviewText
from review.models.paths import KbPath, ModelPartition, ReviewStore
from review.models.snapshots import FileSnapshot, FileSnapshotKey, SnapshotText, batched

__all__ = [
    "Acceptance",
    "Claim",
    "CurrentAcceptance",
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
    "ModelPartition",
    "NamedKeys",
    "PairReview",
    "Provenance",
    "ReviewJob",
    "ReviewPair",
    "ReviewStore",
    "ReviewText",
    "SnapshotText",
    "batched",
]
