"""A person's decision needs a reason and a name, is never lost, and counts wherever its review does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance.ack import AckRequest, ack_gate_review, read_pair_states
from review.acceptance.carry_over import CarryRequest, carry_over_acceptances
from review.acceptance.decide import (
    OverrideRequest,
    PairOfAnotherModel,
    override_acceptance,
    set_decision,
)
from review.ingest.ingest import ingest_job
from review.ingest.load import IngestRequest
from review.knowledge_base import UnknownGate
from review.models import Acceptance, DecisionEvent, FileSnapshot, ReviewJob, ReviewPair
from review.vocabulary import AcceptanceKind, Decision
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    gate_path,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    note_path,
    write_note,
)
from tests.helpers.refusals import refuses
from tests.helpers.reviewed import (
    FAIL,
    UNDECIDED,
    WARN,
    current,
    open_corpus,
    pair_of,
    review_pairs,
)

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
EDITED = NOTE + "\nOne more line.\n"


@pytest.fixture
def root(tmp_path):
    gates = {"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y")}
    return make_root(tmp_path, gates=gates)


def override(root, *gates: str, now=LATER, **overrides):
    fields = {
        "note": note_path("a.md"),
        "gates": gates or ("prose/x",),
        "model_partition": PARTITION,
        "reason": "a quotation",
        "actor": "human:ana",
    }
    request = OverrideRequest(**fields | overrides)
    return override_acceptance(request, corpus=open_corpus(root), now=now)


def decide(root, pair_id: int, decision: Decision = Decision.PASS, now=LATER, **overrides):
    fields = {"reason": "I read it", "actor": "human:ana"}
    config = make_config(root)
    return set_decision(pair_id, decision, **fields | overrides, config=config, now=now)


class TestOverride:
    def test_accepts_todays_texts_without_a_review(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=FAIL)
        write_note(root, "a.md", EDITED)

        override(root)

        row = current()
        assert (row.event.kind, row.decision) == (AcceptanceKind.OVERRIDE, Decision.PASS)
        assert row.event.review_pair_id is None
        assert (row.event.actor, row.event.reason) == ("human:ana", "a quotation")
        assert row.note_snapshot.text == EDITED
        assert row.event.text_read_at == LATER

    def test_needs_no_review_at_all(self, root):
        override(root, "prose/x", "prose/y")

        assert {item.gate_id for item in override(root, "prose/x", "prose/y").overridden} == {
            "prose/x",
            "prose/y",
        }

    def test_one_unknown_gate_of_two_writes_nothing(self, root):
        with pytest.raises(UnknownGate):
            override(root, "prose/x", "prose/none")

        assert not Acceptance.objects.exists()

    def test_is_refused_when_a_later_text_was_accepted(self, root):
        review_pairs(root, ("a.md", "prose/x"), now=LATER + timedelta(hours=1))
        write_note(root, "a.md", EDITED)
        snapshots = FileSnapshot.objects.count()

        with refuses("superseded", match=r"kb/notes/a\.md"):
            override(root, now=LATER)

        assert Acceptance.objects.count() == 1
        assert FileSnapshot.objects.count() == snapshots

    def test_an_ack_after_it_carries_the_latest_review(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        override(root)
        write_note(root, "a.md", EDITED)

        ack_gate_review(
            AckRequest(
                note=note_path("a.md"),
                gates=("prose/x",),
                model_partition=PARTITION,
                actor="human:ana",
            ),
            corpus=open_corpus(root),
            now=LATER + timedelta(hours=1),
        )

        assert (current().event.review_pair_id, current().decision) == (pair_id, Decision.WARN)


class TestDecision:
    @pytest.mark.parametrize("decision", [Decision.PASS, Decision.WARN, Decision.FAIL])
    def test_on_an_undecided_review_accepts_it(self, root, decision):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        result = decide(root, pair_id, decision)

        row = current()
        assert (result.accepted, result.not_accepted_because) == (True, None)
        assert (row.event.kind, row.decision) == (AcceptanceKind.FULL_REVIEW, decision)
        assert (row.event.review_pair_id, row.event.text_read_at) == (pair_id, NOW)
        assert (row.event.actor, row.event.reason) == ("human:ana", "I read it")
        assert pair_of(pair_id).not_accepted == ""

    def test_keeps_what_the_parser_read(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        decide(root, pair_id)

        assert pair_of(pair_id).decision == Decision.UNKNOWN

    def test_the_last_one_counts_and_none_is_erased(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        decide(root, pair_id, Decision.PASS)

        result = decide(root, pair_id, Decision.FAIL, now=LATER + timedelta(minutes=1))

        assert (result.was, result.decision) == ("pass", "fail")
        assert current().decision == Decision.FAIL
        assert DecisionEvent.objects.count() == 2

    def test_can_differ_from_a_decision_that_was_read(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"))

        decide(root, pair_id, Decision.WARN)

        assert current().decision == Decision.WARN
        assert pair_of(pair_id).decision == Decision.PASS

    def test_is_evidence_for_an_ack(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        decide(root, pair_id, Decision.WARN)

        key = (note_path("a.md"), gate_path("prose/x"))
        state = read_pair_states([key], model_partition=PARTITION)[key]

        assert (state.review_pair_id, state.decision) == (pair_id, "warn")

    def test_superseded_by_a_later_text_is_kept_as_evidence(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        write_note(root, "a.md", EDITED)
        review_pairs(root, ("a.md", "prose/x"), now=NOW + timedelta(minutes=1))

        result = decide(root, pair_id, Decision.FAIL)

        assert (result.accepted, result.not_accepted_because) == (False, "superseded")
        assert pair_of(pair_id).not_accepted == "superseded"
        assert DecisionEvent.objects.get().decision == Decision.FAIL
        assert current().decision == Decision.PASS

    def test_counts_for_a_text_that_the_review_was_acked_to(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        ack_gate_review(
            AckRequest(
                note=note_path("a.md"),
                gates=("prose/x",),
                model_partition=PARTITION,
                actor="human:ana",
            ),
            corpus=open_corpus(root),
            now=NOW + timedelta(minutes=1),
        )

        result = decide(root, pair_id, Decision.FAIL)

        row = current()
        assert result.accepted
        assert (row.decision, row.event.kind) == (Decision.FAIL, AcceptanceKind.ACK)
        assert row.note_snapshot.text == EDITED

    def test_counts_where_the_review_was_carried_over_to(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "b.md", NOTE)
        carry_over_acceptances(
            CarryRequest(note_path("a.md"), note_path("b.md"), "human:ana"),
            corpus=open_corpus(root),
            now=NOW + timedelta(minutes=1),
        )

        decide(root, pair_id, Decision.FAIL)

        assert current("a.md").decision == Decision.FAIL
        assert current("b.md").decision == Decision.FAIL
        assert current("b.md").event.kind == AcceptanceKind.CARRY_OVER


class TestNoDecision:
    def test_on_a_pair_that_does_not_exist(self, root):
        with refuses("unknown-pair", match="4711"):
            decide(root, 4711)

    def test_on_a_pair_that_waits_for_its_review(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))

        with refuses("pair-not-completed", match="pending"):
            decide(root, job.pairs[0].review_pair_id)

    @pytest.mark.parametrize(
        "review", [pytest.param(WARN, id="decided"), pytest.param(UNDECIDED, id="undecided")]
    )
    def test_on_a_review_that_another_model_wrote(self, root, review):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        request = IngestRequest(
            actor="agent:test",
            output=make_output(job.review_job_id, review),
            telemetry={"model": "gpt-5-1"},
        )
        ingest_job(job.review_job_id, request=request, config=make_config(root), now=NOW)

        with pytest.raises(PairOfAnotherModel, match="gpt-5-1"):
            decide(root, job.pairs[0].review_pair_id)

        assert not DecisionEvent.objects.exists()
        assert not Acceptance.objects.exists()

    def test_and_no_ack_rests_on_a_review_that_another_model_wrote(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        request = IngestRequest(
            actor="agent:test",
            output=make_output(job.review_job_id, WARN),
            telemetry={"model": "gpt-5-1"},
        )
        ingest_job(job.review_job_id, request=request, config=make_config(root), now=NOW)

        key = (note_path("a.md"), gate_path("prose/x"))

        assert ReviewPair.objects.completed().count() == 1
        assert ReviewJob.objects.get().failure_code == "partition-mismatch"
        assert read_pair_states([key], model_partition=PARTITION)[key].review_pair_id is None
