"""A job as its ingest reports it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from review.documents.base import from_row
from review.domain.paths import gate_id_of
from review.jobs.job_documents import FindingJson, IngestedJobJson, IngestedPairJson
from review.models import Finding, ReviewJob, ReviewPair
from review.vocabulary import PairStatus


def show_ingested(
    job: ReviewJob,
    pairs: Sequence[ReviewPair],
    *,
    findings: Iterable[Finding] | None = None,
    problems: Sequence[str],
    gates_folder: str,
) -> IngestedJobJson:
    """The job with its pairs, their decisions and findings; rows as loaded after the ingest.

    :param findings: of all the pairs; None where they are in the store only.
    """
    if findings is None:
        findings = Finding.objects.filter(pair__in=pairs).order_by("pair_id", "ordinal")
    found: defaultdict[int, list[FindingJson]] = defaultdict(list)
    for row in findings:
        found[row.pair_id].append(from_row(FindingJson, row, line=row.note_line))
    return IngestedJobJson(
        review_job_id=job.pk,
        status=job.status,
        failure_code=job.failure_code or None,
        failure_reason=job.failure_reason or None,
        pairs=[_pair(pair, found[pair.pk], gates_folder=gates_folder) for pair in pairs],
        self_reported_model=job.self_reported_model or None,
        problems=list(problems),
    )


def _pair(pair: ReviewPair, findings: list[FindingJson], *, gates_folder: str) -> IngestedPairJson:
    return IngestedPairJson(
        review_pair_id=pair.pk,
        ordinal=pair.ordinal,
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        gate_id=gate_id_of(pair.gate.path, gates_folder=gates_folder),
        pair_status=pair.status,
        decision=pair.decision or None,
        decision_source=pair.decision_source or None,
        result_path=pair.result_path or None,
        problem=pair.problem or None,
        accepted=pair.status == PairStatus.COMPLETED and not pair.not_accepted,
        not_accepted_because=pair.not_accepted or None,
        findings=findings,
    )
