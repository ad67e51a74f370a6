"""How often a pair was tried on the texts it has now, without a decision that was accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from review.models import ReviewPair
from review.runners.outcome import MODEL_ANSWERED
from review.vocabulary import FailureCode, JobStatus, NotAccepted, PairStatus

# What says something about the pair, where a model had answered. An interruption, a limit of the
# account or an operator's decision says nothing: nobody judged, or nobody was to.
_TELLING = (
    FailureCode.PAIRS_MISSING,
    FailureCode.ALL_OR_NOTHING,
    FailureCode.NO_OUTPUT,
    FailureCode.RUNNER_ERROR,
    FailureCode.RUNNER_TIMEOUT,
)
_UNDECIDED = (NotAccepted.DECISION_ERROR, NotAccepted.DECISION_UNKNOWN)


@dataclass(frozen=True, slots=True)
class PairText:
    """A pair with the digests of both texts."""

    note_path: str
    gate_path: str
    note_sha256: str
    gate_sha256: str


def count_attempts(pairs: Collection[PairText], *, model_partition: str) -> Counter[PairText]:
    """By pair and text, the closed jobs of the partition that left it without a decision."""
    answered = ~Q(job__telemetry__has_key=MODEL_ANSWERED)
    tried = Q(answered, status=PairStatus.MISSING, job__failure_code__in=_TELLING) | Q(
        status=PairStatus.COMPLETED, not_accepted__in=_UNDECIDED
    )
    rows = ReviewPair.objects.filter(
        tried,
        job__status__in=(JobStatus.COMPLETED, JobStatus.FAILED),
        job__started_at__isnull=False,
        job__model_partition__name=model_partition,
        note__path__in={pair.note_path for pair in pairs},
        gate__path__in={pair.gate_path for pair in pairs},
    ).values_list(
        "note__path",
        "gate__path",
        "note_snapshot__content_sha256",
        "gate_snapshot__content_sha256",
    )
    return Counter(PairText(*row) for row in rows)
