"""What the database itself refuses: every named constraint of the store, provoked by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction

from review.models import ReviewStore, ReviewText
from review.vocabulary import AcceptanceKind, Decision, FailureCode, JobStatus, PairStatus
from tests.builders import NOW
from tests.rows import (
    acceptance_row,
    completed_pair_row,
    current_acceptance_row,
    decision_event_row,
    disposition_row,
    finding_row,
    finding_state_row,
    job_event_row,
    job_output_row,
    job_row,
    pair_row,
    partition_row,
    path_row,
    snapshot_row,
)

pytestmark = pytest.mark.django_db

FAILED = {
    "status": JobStatus.FAILED,
    "completed_at": NOW,
    "failure_code": FailureCode.OPERATOR,
    "failure_reason": "stopped",
}


def twice(make: Callable[..., models.Model], *names: str) -> None:
    """Make a row, and another that agrees with it in `names`."""
    first = make()
    make(**{name: getattr(first, name) for name in names})


def two_texts_of_one_path() -> None:
    first = snapshot_row()
    snapshot_row(path=first.path, content_sha256=first.content_sha256, text="other")


def two_pairs_for_one_note_and_gate() -> None:
    first = pair_row()
    pair_row(
        job=first.job,
        note_snapshot=first.note_snapshot,
        gate_snapshot=first.gate_snapshot,
        ordinal=2,
    )


def a_job_that_replaces_itself() -> None:
    job = job_row()
    job.replaces = job
    job.save(update_fields=["replaces"])


def two_replacements_of_one_job() -> None:
    old = job_row()
    job_row(replaces=old)
    job_row(replaces=old)


PROVOKED: dict[str, Callable[[], object]] = {
    "review_path_not_empty": partial(path_row, path=""),
    "review_partition_not_empty": partial(partition_row, name=""),
    "review_store_is_one_row": lambda: ReviewStore.objects.create(
        pk=2, store_id="0" * 32, created_at=NOW
    ),
    "review_snapshot_once_per_text": two_texts_of_one_path,
    "review_snapshot_sha256_is_64_long": partial(snapshot_row, content_sha256="abc"),
    "review_snapshot_size_not_negative": partial(snapshot_row, byte_size=-1),
    "review_job_status_known": partial(job_row, status="paused", completed_at=NOW),
    "review_job_grouping_known": partial(job_row, grouping="lens"),
    "review_job_failure_code_known": partial(job_row, **FAILED | {"failure_code": "bad-luck"}),
    "review_job_failed_says_why": partial(job_row, **FAILED | {"failure_reason": ""}),
    "review_job_only_failed_has_failure": partial(job_row, failure_reason="none"),
    "review_job_running_has_started_at": partial(job_row, status=JobStatus.RUNNING),
    "review_job_closed_has_completed_at": partial(job_row, status=JobStatus.COMPLETED),
    "review_job_open_has_no_completed_at": partial(job_row, completed_at=NOW),
    "review_job_lease_of_a_running_claim": partial(job_row, leased_until=NOW),
    "review_job_not_its_own_replacement": a_job_that_replaces_itself,
    "review_job_batch_has_an_end": partial(job_row, batch_id="batch_1"),
    "review_job_event_to_known": partial(job_event_row, to_status="paused"),
    "review_job_event_has_actor": partial(job_event_row, actor=""),
    "review_job_output_once_per_text": partial(twice, job_output_row, "job"),
    "review_pair_once_per_job": two_pairs_for_one_note_and_gate,
    "review_pair_ordinal_once_per_job": partial(twice, pair_row, "job"),
    "review_pair_status_known": partial(pair_row, status="lost"),
    "review_pair_decision_known": partial(completed_pair_row, decision="good"),
    "review_pair_completed_has_decision": partial(completed_pair_row, decision=""),
    "review_pair_ordinal_counts_from_1": partial(pair_row, ordinal=0),
    "review_finding_ordinal_once_per_pair": partial(twice, finding_row, "pair"),
    "review_finding_severity_known": partial(finding_row, severity="grave"),
    "review_finding_has_fingerprint": partial(finding_row, fingerprint=""),
    "finding_state_once": partial(twice, finding_state_row, "event"),
    "review_disposition_state_known": partial(disposition_row, state="forgotten"),
    "review_disposition_has_actor": partial(disposition_row, actor=""),
    "review_decision_event_decides": partial(decision_event_row, decision=Decision.UNKNOWN),
    "review_decision_event_says_who_and_why": partial(decision_event_row, reason=""),
    "acceptance_event_kind_known": partial(acceptance_row, kind="guess"),
    "acceptance_event_decision_accepts": partial(acceptance_row, decision=Decision.ERROR),
    "acceptance_event_has_evidence": lambda: acceptance_row(
        **of_pair(completed_pair_row()), review_pair=None
    ),
    "acceptance_event_override_says_who_and_why": partial(
        acceptance_row, kind=AcceptanceKind.OVERRIDE
    ),
    "acceptance_event_has_actor": partial(acceptance_row, actor=""),
    "current_acceptance_once_per_key": lambda: twice(
        partial(current_acceptance_row, acceptance_row())
    ),
    "current_acceptance_decision_accepts": partial(
        current_acceptance_row, decision=Decision.UNKNOWN
    ),
}

ALSO_REFUSED = [
    pytest.param(
        partial(job_row, **FAILED | {"failure_code": ""}),
        "review_job_failed_says_why",
        id="failed-without-a-code",
    ),
    pytest.param(
        partial(job_row, failure_code=FailureCode.OPERATOR),
        "review_job_only_failed_has_failure",
        id="queued-with-a-failure-code",
    ),
    pytest.param(
        partial(job_row, **FAILED | {"completed_at": None}),
        "review_job_closed_has_completed_at",
        id="failed-without-completed-at",
    ),
    pytest.param(
        partial(job_row, status=JobStatus.RUNNING, started_at=NOW, completed_at=NOW),
        "review_job_open_has_no_completed_at",
        id="running-and-completed",
    ),
    pytest.param(
        partial(pair_row, decision=Decision.PASS),
        "review_pair_completed_has_decision",
        id="pending-with-a-decision",
    ),
    pytest.param(
        partial(pair_row, status=PairStatus.MISSING, reviewed_at=NOW),
        "review_pair_completed_has_decision",
        id="missing-but-reviewed",
    ),
    pytest.param(
        partial(completed_pair_row, reviewed_at=None),
        "review_pair_completed_has_decision",
        id="completed-at-no-time",
    ),
    pytest.param(
        partial(decision_event_row, actor=""),
        "review_decision_event_says_who_and_why",
        id="decision-by-nobody",
    ),
    pytest.param(
        partial(acceptance_row, decision=""),
        "acceptance_event_decision_accepts",
        id="acceptance-without-a-decision",
    ),
]

NEEDED = [
    pytest.param(pair_row, {"note_snapshot_id": None}, id="pair-without-the-note-s-text"),
    pytest.param(pair_row, {"gate_snapshot_id": None}, id="pair-without-the-gate-s-text"),
    pytest.param(acceptance_row, {"note_snapshot_id": None}, id="acceptance-without-the-note"),
    pytest.param(acceptance_row, {"gate_snapshot_id": None}, id="acceptance-without-the-gate"),
    pytest.param(acceptance_row, {"text_read_at": None}, id="acceptance-of-text-read-at-no-time"),
    pytest.param(job_row, {"created_at": None}, id="job-made-at-no-time"),
]


def of_pair(pair) -> dict[str, object]:
    """The key and texts of a pair, for an acceptance that names no evidence."""
    return {
        "note": pair.note,
        "gate": pair.gate,
        "note_snapshot": pair.note_snapshot,
        "gate_snapshot": pair.gate_snapshot,
        "model_partition": pair.job.model_partition,
    }


def named_constraints() -> dict[str, tuple[type[models.Model], models.BaseConstraint]]:
    """Every constraint that a model of the app declares, by name."""
    return {
        constraint.name: (model, constraint)
        for model in apps.get_app_config("review").get_models()
        for constraint in model._meta.constraints
    }


def complaint_about(name: str) -> str:
    """What this database's error says when the constraint `name` is violated."""
    model, constraint = named_constraints()[name]
    if connection.vendor == "sqlite" and isinstance(constraint, models.UniqueConstraint):
        columns = {field.name: field.column for field in model._meta.concrete_fields}
        table = model._meta.db_table
        return ", ".join(f"{table}.{columns[name]}" for name in constraint.fields)
    return name


class TestConstraints:
    def test_each_is_provoked_here(self):
        assert set(PROVOKED) == set(named_constraints())

    @pytest.mark.parametrize("name", sorted(PROVOKED))
    def test_refuses_by_name(self, name):
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            PROVOKED[name]()

        assert complaint_about(name) in str(refused.value)

    @pytest.mark.parametrize(("provoke", "name"), ALSO_REFUSED)
    def test_covers_each_of_its_sides(self, provoke, name):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            provoke()

    @pytest.mark.parametrize(("make", "absent"), NEEDED)
    def test_needs_what_the_evidence_stands_on(self, make, absent):
        row = make()

        with pytest.raises(IntegrityError), transaction.atomic():
            type(row).objects.filter(pk=row.pk).update(**absent)

    def test_one_job_has_at_most_one_replacement(self):
        with pytest.raises(IntegrityError, match="replaces"), transaction.atomic():
            two_replacements_of_one_job()

    def test_one_pair_has_one_text(self):
        pair = completed_pair_row()
        ReviewText.objects.create(pair=pair, text="first")

        with pytest.raises(IntegrityError), transaction.atomic():
            ReviewText.objects.create(pair=pair, text="second")


class TestReferences:
    @pytest.mark.parametrize(
        ("make", "held"),
        [
            pytest.param(pair_row, "note_snapshot", id="note-text-of-a-pair"),
            pytest.param(acceptance_row, "gate_snapshot", id="gate-text-of-an-acceptance"),
            pytest.param(acceptance_row, "review_pair", id="evidence-of-an-acceptance"),
            pytest.param(finding_row, "pair", id="pair-of-a-finding"),
            pytest.param(pair_row, "job", id="job-of-a-pair"),
        ],
    )
    def test_hold_what_they_point_at(self, make, held):
        row = make()

        with pytest.raises(models.ProtectedError):
            getattr(row, held).delete()

    def test_hold_against_a_shell_too(self):
        pair = pair_row()

        with pytest.raises(IntegrityError), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(
                    "DELETE FROM review_file_snapshots WHERE id = %s", [pair.note_snapshot_id]
                )
            connection.check_constraints()


class TestWhatIsAllowed:
    def test_every_builder_makes_a_row(self):
        event = acceptance_row()

        made = [
            current_acceptance_row(event),
            finding_row(),
            disposition_row(),
            decision_event_row(),
            job_event_row(),
            job_output_row(),
            job_row(**FAILED),
            job_row(status=JobStatus.RUNNING, started_at=NOW),
            job_row(status=JobStatus.COMPLETED, completed_at=NOW + timedelta(hours=1)),
            pair_row(status=PairStatus.MISSING),
        ]

        assert all(row.pk for row in made)

    def test_an_override_needs_no_pair(self):
        pair = completed_pair_row()

        event = acceptance_row(
            **of_pair(pair), review_pair=None, kind=AcceptanceKind.OVERRIDE, reason="read it myself"
        )

        assert event.pk

    def test_one_text_may_stand_under_two_paths(self):
        first = snapshot_row()

        assert snapshot_row(content_sha256=first.content_sha256).pk != first.pk
