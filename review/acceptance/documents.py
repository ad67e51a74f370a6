"""The documents of the commands that move acceptances and record what people decide."""

from __future__ import annotations

from review.documents.base import Document, ProblemJson


class KeyJson(Document):
    """A note and a gate."""

    note_path: str
    gate_path: str
    gate_id: str


class AckedJson(KeyJson):
    """A pair whose acceptance moved to today's text; the review and its decision are carried on."""

    review_pair_id: int
    decision: str


class RefusedKeyJson(KeyJson):
    """A pair that was refused while others went on."""

    code: str
    message: str


class AcksJson(Document, kw_only=True):
    """The answer of `ack_gate_review`; `ignored` targets are none that an ack can settle."""

    schema: str = "ack-gate-review/1"
    model_partition: str
    acked: list[AckedJson]
    already_fresh: list[KeyJson]
    refused: list[RefusedKeyJson] = []
    ignored: int = 0


class TrivialAcksJson(Document, kw_only=True):
    """The answer of `ack_trivial_changes`; after `dry_run` nothing was acked.

    `left` are trivial changes of pairs that a person accepted without a review; `left_out` counts the
    notes that the scope does not hold, as a selection does.
    """

    schema: str = "ack-trivial-changes/1"
    dry_run: bool
    model_partition: str
    acked: list[AckedJson]
    left: list[KeyJson]
    refused: list[RefusedKeyJson]
    problems: list[ProblemJson]
    left_out: dict[str, int]


class MovedKeyJson(Document):
    """The key of an acceptance before and after a move."""

    model_partition: str
    old_note_path: str
    old_gate_path: str
    note_path: str
    gate_path: str


class CarriedJson(MovedKeyJson):
    """An acceptance that has a key at the new path; `dispositions` counts those that came along."""

    decision: str
    review_pair_id: int | None
    dispositions: int


class NotCarriedJson(MovedKeyJson):
    """An acceptance that stays where it is, and why."""

    code: str
    message: str


class CarryOverJson(Document, kw_only=True):
    """The answer of `carry_over_acceptances`; after `dry_run` nothing was carried or retired.

    `new_path` is null and `retired` holds the acceptances when it was called with `--retire`.
    """

    schema: str = "carry-over-acceptances/1"
    dry_run: bool
    old_path: str
    new_path: str | None
    carried: list[CarriedJson]
    not_identical: list[NotCarriedJson]
    refused: list[NotCarriedJson]
    retired: list[CarriedJson] = []


class OverriddenJson(Document, kw_only=True):
    """The answer of `override_acceptance`."""

    schema: str = "override-acceptance/1"
    model_partition: str
    overridden: list[KeyJson]
    reason: str
    actor: str


class DecisionSetJson(Document, kw_only=True):
    """The answer of `set_decision`; `was` is the decision that counted until now."""

    schema: str = "set-decision/1"
    review_pair_id: int
    review_job_id: int
    note_path: str
    gate_path: str
    gate_id: str
    model_partition: str
    decision: str
    was: str
    accepted: bool
    not_accepted_because: str | None


class DisposedJson(Document, kw_only=True):
    """The answer of `dispose_finding`; `was` is null for a finding without an earlier disposition."""

    schema: str = "dispose-finding/1"
    fingerprint: str
    note_path: str
    gate_path: str
    gate_id: str
    severity: str
    text: str
    disposition: str
    was: str | None
    reason: str
    note_sha256: str


class DisposedAllJson(Document, kw_only=True):
    """The answer of `dispose_finding -`, in the order of the lines."""

    schema: str = "dispose-finding/1"
    findings: list[DisposedJson]
