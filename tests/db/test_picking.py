"""Pairs picked on a page are acked as they were shown, or requested, partition by partition."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from review.acceptance.ack_selection import Pick, ack_picks, request_reviews
from review.acceptance.decide import OverrideRequest, override_acceptance
from review.models import CurrentAcceptance, ReviewJob
from review.vocabulary import AcceptanceKind, Grouping, JobStatus
from tests.builders import (
    NOW,
    PARTITION,
    gate_path,
    make_config,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.refusals import refuses
from tests.helpers.reviewed import WARN, current, open_corpus, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
OTHER = "gpt-5-1-codex"


@pytest.fixture
def root(tmp_path):
    return make_root(tmp_path, notes={"a.md": "# A\n\nold words\n", "b.md": "# B\n\nold\n"})


def picked(root, note="a.md", gate="prose/x", **overrides) -> Pick:
    """The pair as a page shows it now."""
    fields = {
        "note_path": note_path(note),
        "gate_id": gate,
        "model_partition": PARTITION,
        "note_sha256": digest(root / note_path(note)),
        "gate_sha256": digest(root / gate_path(gate)),
    }
    return Pick(**fields | overrides)


def digest(path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ack(root, *picks):
    return ack_picks(
        picks,
        actor="human:ana",
        reason="wording",
        corpus=open_corpus(root),
        now=LATER,
    )


class TestAckPicks:
    def test_takes_the_texts_that_were_shown(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", "# A\n\nnew words\n")

        (answer,) = ack(root, picked(root))

        row = current()
        assert [item.gate_id for item in answer.acked] == ["prose/x"]
        assert (row.event.kind, row.event.actor, row.event.reason) == (
            AcceptanceKind.ACK, "human:ana", "wording",
        )  # fmt: skip
        assert row.note_snapshot.text == "# A\n\nnew words\n"

    def test_refuses_a_note_that_was_edited_since_and_takes_the_others(self, root):
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        write_note(root, "a.md", "# A\n\nshown\n")
        write_note(root, "b.md", "# B\n\nshown\n")
        picks = [picked(root, "a.md"), picked(root, "b.md")]
        write_note(root, "a.md", "# A\n\nedited behind the page\n")

        (answer,) = ack(root, *picks)

        assert [item.note_path for item in answer.acked] == [note_path("b.md")]
        assert [item.code for item in answer.refused] == ["note-edited"]
        assert current("a.md").note_snapshot.text == "# A\n\nold words\n"

    def test_refuses_a_gate_that_was_edited_since(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", "# A\n\nshown\n")
        pick = picked(root)
        write_gate(root, "prose/x", "---\ntype: kb/types/review-gate.md\n---\n# X\n\nAsks more.\n")

        (answer,) = ack(root, pick)

        assert [item.code for item in answer.refused] == ["gate-edited"]

    def test_goes_partition_by_partition(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        review_pairs(root, ("a.md", "prose/x"), model_partition=OTHER)
        write_note(root, "a.md", "# A\n\nshown\n")

        answers = ack(root, picked(root), picked(root, model_partition=OTHER))

        assert [answer.model_partition for answer in answers] == [PARTITION, OTHER]
        assert all(len(answer.acked) == 1 for answer in answers)

    def test_nothing_picked_is_refused(self, root):
        with refuses("nothing-picked"):
            ack(root)


class TestRequestReviews:
    def test_queues_a_job_for_a_fresh_pair_too(self, root):
        review_pairs(root, ("a.md", "prose/x"))

        (answer,) = request_reviews(
            [picked(root)],
            grouping=Grouping.NOTE,
            actor="human:ana",
            config=make_config(root),
            now=LATER,
        )

        job = ReviewJob.objects.get(pk=answer.jobs[0].review_job_id)
        assert (job.status, job.pair_count) == (JobStatus.QUEUED, 1)
        assert job.events.get().actor == "human:ana"

    def test_what_is_queued_already_is_said(self, root):
        for _again in range(2):
            (answer,) = request_reviews(
                [picked(root)],
                grouping=Grouping.NOTE,
                actor="human:ana",
                config=make_config(root),
                now=LATER,
            )

        assert answer.jobs == []
        assert [item.reason for item in answer.skipped] == ["already-queued"]


class TestOverridingWhatWasShown:
    def override(self, root, **expected):
        request = OverrideRequest(
            note=note_path("a.md"),
            gates=("prose/x",),
            model_partition=PARTITION,
            reason="I know better",
            actor="human:ana",
            **expected,
        )
        override_acceptance(request, corpus=open_corpus(root), now=LATER)

    def test_takes_the_texts_that_were_shown(self, root):
        shown = picked(root)

        self.override(
            root,
            expect_note_sha256=shown.note_sha256,
            expect_gate_sha256=shown.gate_sha256,
        )

        assert current().event.kind == AcceptanceKind.OVERRIDE

    @pytest.mark.parametrize(
        ("field", "code"),
        [("expect_note_sha256", "note-edited"), ("expect_gate_sha256", "gate-edited")],
    )
    def test_refuses_another_text(self, root, field, code):
        with refuses(code, match="since you read it"):
            self.override(root, **{field: "0" * 64})

        assert not CurrentAcceptance.objects.exists()
