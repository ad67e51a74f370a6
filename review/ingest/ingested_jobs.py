"""A job as its ingest reports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from review.documents.base import from_row
from review.domain.paths import gate_id_of
from review.jobs.job_documents import FindingJson, IngestedJobJson, IngestedPairJson
from review.models import Finding, ReviewJob, ReviewPair
from review.vocabulary import PairStatus


def show_ingested(
    job: ReviewJob,
    pairs: Sequence[ReviewPair],
    *,
    findings: Mapping[int, list[FindingJson]],
    problems: Sequence[str],
    gates_folder: str,
) -> IngestedJobJson:
    """The job with its pairs, their decisions and findings; rows as loaded after the ingest.

    :param findings: by pair key, as `findings_of` gives them.
    """
    return IngestedJobJson(
        review_job_id=job.pk,
        status=job.status,
        failure_code=job.failure_code or None,
        failure_reason=job.failure_reason or None,
        pairs=[_pair(pair, findings.get(pair.pk, []), gates_folder=gates_folder) for pair in pairs],
        self_reported_model=job.self_reported_model or None,
        problems=list(problems),
    )


def findings_of(pairs: Sequence[ReviewPair]) -> dict[int, list[FindingJson]]:
    """Findings by pair key, in their order."""
    rows = Finding.objects.filter(pair_id__in=[pair.pk for pair in pairs])
    return by_pair(rows.order_by("pair_id", "ordinal"))


def by_pair(findings: Iterable[Finding]) -> dict[int, list[FindingJson]]:
    """The same of findings at hand, pair after pair and in their order."""
    found: dict[int, list[FindingJson]] = {}
    for row in findings:
        found.setdefault(row.pair_id, []).append(from_row(FindingJson, row, line=row.note_line))
    return found


def _pair(pair: ReviewPair, findings: list[FindingJson], *, gates_folder: str) -> IngestedPairJson:
    completed = pair.status == PairStatus.COMPLETED
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
        accepted=completed and not pair.not_accepted,
        not_accepted_because=pair.not_accepted or None,
        findings=findings,
    )
