"""The request for an ingest, and the refusals that it can return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from review.errors import Conflict, InputRejected
from review.models import Lease, Provenance
from review.protocol.typed_review import TypedReview
from review.runners.outcome import RunnerFailure


class JobAlreadyCompleted(Conflict):
    """The job has all its reviews."""


class JobReplaced(Conflict):
    """A new job took this one's pairs over."""


class NothingMissing(Conflict):
    """The job failed, and no pair of it waits for a review."""


class JobMoved(Conflict):
    """Another process moved the job in the meantime."""


class ProvenanceDisagrees(Conflict):
    """The flags name another runner, model or effort than the claim did."""


class NoOutput(InputRejected):
    """There is no output file, or nothing in it."""


class NoBlocks(InputRejected):
    """The output holds no block of this job's token."""


@dataclass(frozen=True)
class IngestRequest:
    """A request to ingest the outputs of one or more jobs.

    :param outputs: a job's output as bytes, if it is not in the job's own file.
    :param provenance: who ran the job, for jobs that nobody claimed.
    :param telemetry: evidence from the parent's harness, kept as it is.
    :param failure: why the job fails, whatever its output holds: what is complete is kept.
    :param typed: the reviews of the one job as data, by ordinal; its output is then not parsed.
    :param lease: of the claim whose result this is; None where anybody may bring it.
    """

    actor: str
    outputs: Mapping[int, bytes] = field(default_factory=dict)
    provenance: Provenance | None = None
    effort_unknown: bool = False
    telemetry: Mapping[str, Any] | None = None
    all_or_nothing: bool = False
    failure: RunnerFailure | None = None
    typed: Mapping[int, TypedReview] = field(default_factory=dict)
    lease: Lease | None = None
