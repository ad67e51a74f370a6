"""What the ingest of one job will store, settled before the transaction starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from review.conf import Config
from review.models import Ending
from review.orchestration.ingest_reading import JobAsRead
from review.orchestration.ingest_request import IngestRequest
from review.orchestration.judging import JudgedOutput, JudgedPair, later_versions
from review.orchestration.provenance import telemetry_contradicts, telemetry_models
from review.protocol.telemetry import output_tokens_by_model
from review.vocabulary import FailureCode, JobStatus, PairStatus

_LEFT = "its block was not taken: all or nothing, and another pair's is missing"


@dataclass(frozen=True)
class Plan:
    """One job's ingest.

    :param completed: how many pairs were completed before it.
    :param contradicted: whether telemetry names a model of another partition.
    :param late: what the output says anew of pairs that are completed already.
    """

    read: JobAsRead
    output: JudgedOutput
    ending: Ending
    completed: int
    contradicted: bool
    late: Sequence[str]

    @property
    def taken(self) -> tuple[JudgedPair, ...]:
        """The pairs that are completed by it."""
        return () if self.ending.code == FailureCode.ALL_OR_NOTHING else self.output.judged

    @property
    def why_missing(self) -> dict[int, str]:
        """By ordinal, why a pair has no review after it."""
        left = () if self.taken else self.output.judged
        return {**dict.fromkeys((item.pair.ordinal for item in left), _LEFT), **self.output.missing}


def make_plan(
    read: JobAsRead, output: JudgedOutput, *, request: IngestRequest, config: Config
) -> Plan:
    """Settle how the job ends, and what else is told of its output."""
    partition = read.job.model_partition.name
    contradicted = telemetry_contradicts(partition, request.telemetry, config=config)
    models = output_tokens_by_model(request.telemetry) or telemetry_models(request.telemetry)
    return Plan(
        read=read,
        output=output,
        ending=_ending(output, request, contradicting=tuple(models) if contradicted else ()),
        completed=sum(pair.status == PairStatus.COMPLETED for pair in read.pairs),
        contradicted=contradicted,
        late=later_versions(read.parsed, pairs=read.pairs, stored=read.stored_texts),
    )


def _ending(
    output: JudgedOutput, request: IngestRequest, *, contradicting: Sequence[str]
) -> Ending:
    if request.failure is not None:
        return Ending(JobStatus.FAILED, request.failure.code, request.failure.reason)
    if output.missing:
        names = "; ".join(f"pair {ordinal}: {why}" for ordinal, why in output.missing.items())
        code = FailureCode.ALL_OR_NOTHING if request.all_or_nothing else FailureCode.PAIRS_MISSING
        return Ending(JobStatus.FAILED, code, names)
    if contradicting:
        ran = ", ".join(contradicting)
        return Ending(
            JobStatus.FAILED,
            FailureCode.PARTITION_MISMATCH,
            f"telemetry says {ran} ran; the reviews are kept as evidence and not accepted",
        )
    return Ending(JobStatus.COMPLETED)
