"""The tables of the review store."""

from __future__ import annotations

from review.models.jobs import (
    Ending,
    JobEvent,
    JobMove,
    JobOutput,
    Lease,
    Parent,
    Provenance,
    ReviewJob,
    ReviewJobQuerySet,
)
from review.models.reviews import (
    UNDECIDED,
    Acceptance,
    CurrentAcceptance,
    CurrentAcceptanceQuerySet,
    DecisionEvent,
    Disposition,
    Finding,
    FindingState,
    ReviewPair,
    ReviewPairQuerySet,
    ReviewText,
    latest_of,
)
from review.models.snapshots import (
    DatabaseClock,
    FileSnapshot,
    JoinedKeys,
    KbPath,
    ModelPartition,
    NamedKeys,
    ReviewStore,
    Texts,
    batched,
)
