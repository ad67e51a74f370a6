"""The answer of `review_calibration`; fractions are 0..1 with four decimals."""

from __future__ import annotations

from review.documents.base import Document
from review.trials.documents import PortionJson

CALIBRATION_SCHEMA = "review-calibration/1"


class ShareJson(Document, kw_only=True):
    """`k` of `n` with its 95 % interval; `share` is null where `n` is 0.

    `bound` is the most (or least) that it can be where `k` is 0 (or `n`), one-sided; else null.
    """

    k: int
    n: int
    share: float | None
    low: float
    high: float
    bound: float | None


class EstimateJson(Document, kw_only=True):
    """A precision partly borrowed from `lens` or `earlier-texts`, worth `weight` labels."""

    precision: float
    borrowed_from: str
    weight: float


class TrackRecordJson(Document, kw_only=True):
    """The findings of a group of reviews; `people` and `agents`: the fixed ones of those settled.

    `missed`: the passes that people read with `set_decision` and decided as warn or fail.
    `word` is that for the precision by people. `decisions` and `flips` are null where they were not
    asked for.
    """

    findings: int
    word: str
    people: ShareJson
    agents: ShareJson
    addressed: ShareJson
    missed: ShareJson
    decisions: dict[str, int] | None
    flips: ShareJson | None


class GateRecordJson(TrackRecordJson, kw_only=True):
    """The record of one text of a gate in one model partition.

    `hits` and `false_alarms` are those of its cases, null where they were not tried.
    """

    gate_id: str
    lens: str
    gate_sha256: str
    is_now: bool
    model_partition: str
    muted: str | None
    estimate: EstimateJson
    hits: PortionJson | None
    false_alarms: PortionJson | None


class GroupRecordJson(TrackRecordJson, kw_only=True):
    """The record of a lens, or of a model partition, over all texts."""

    name: str


class AgreementJson(Document, kw_only=True):
    """Two partitions on the same texts, `of` a `gate` text, a `lens`, or all gates (`partition`).

    `stricter` names the partition that flags more, where `mcnemar_p` is below 0.05. `alpha` is that
    of all partitions on the gate's text, where more than two judged notes by it.
    """

    of: str
    name: str | None
    gate_sha256: str | None
    partitions: list[str]
    both_flag: int
    only_first: int
    only_second: int
    both_pass: int
    agreement: float | None
    positive_agreement: float | None
    kappa: float | None
    ac1: float | None
    mcnemar_p: float
    stricter: str | None
    alpha: float | None = None


class CalibrationJson(Document, kw_only=True):
    """`passes_to_read` are review pairs; null unless it was asked for."""

    schema: str = CALIBRATION_SCHEMA
    gates: list[GateRecordJson]
    lenses: list[GroupRecordJson]
    partitions: list[GroupRecordJson]
    agreement: list[AgreementJson] | None = None
    passes_to_read: list[int] | None = None
