"""An ack advances a baseline and nothing else; it needs evidence, and the text that was looked at."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from review.acceptance.ack import (
    AckRequest,
    ack_gate_review,
)
from review.knowledge_base import NoSuchNote, UnknownGate, UnreadableFile
from review.models import Acceptance, CurrentAcceptance, FileSnapshot, Finding, ReviewStore
from review.vocabulary import AcceptanceKind, Decision, DispositionState
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    gate_path,
    make_gate,
    make_jobs,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.refusals import refuses
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN, current, ingest, open_corpus, review_pairs
from tests.rows import disposition_row

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
EDITED = NOTE + "\nOne more line.\n"
CHANGED_GATE = make_gate("prose/x", body="It asks for something else.\n")


@pytest.fixture
def root(tmp_path):
    return make_root(
        tmp_path, gates={"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y")}
    )


def ack(root, *gates: str, now=LATER, **overrides):
    fields = {
        "note": note_path("a.md"),
        "gates": gates or ("prose/x",),
        "model_partition": PARTITION,
        "actor": "human:ana",
    }
    return ack_gate_review(AckRequest(**fields | overrides), corpus=open_corpus(root), now=now)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class TestAck:
    def test_carries_the_review_and_its_decision_to_todays_bytes(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", EDITED)

        result = ack(root, reason="spelling")

        row = current()
        assert [(item.gate_id, item.decision) for item in result.acked] == [("prose/x", "warn")]
        assert row.note_snapshot.content_sha256 == sha256(EDITED)
        assert row.note_snapshot.text == EDITED
        assert row.decision == Decision.WARN
        assert row.event.kind == AcceptanceKind.ACK
        assert row.event.review_pair_id == pair_id
        assert (row.event.actor, row.event.reason) == ("human:ana", "spelling")
        assert (row.event.text_read_at, row.event.accepted_at) == (LATER, LATER)

    def test_keeps_the_earlier_acceptance_as_history(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        ack(root)

        kinds = Acceptance.objects.order_by("pk").values_list("kind", flat=True)
        assert list(kinds) == [AcceptanceKind.FULL_REVIEW, AcceptanceKind.ACK]
        assert CurrentAcceptance.objects.count() == 1

    def test_of_a_fresh_pair_writes_nothing_and_says_so(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        revision = ReviewStore.objects.get(pk=1).acceptance_revision
        snapshots = FileSnapshot.objects.count()

        result = ack(root)

        assert result.acked == []
        assert [item.gate_id for item in result.already_fresh] == ["prose/x"]
        assert Acceptance.objects.count() == 1
        assert FileSnapshot.objects.count() == snapshots
        assert ReviewStore.objects.get(pk=1).acceptance_revision == revision

    def test_twice_writes_once(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        ack(root)

        result = ack(root)

        assert result.acked == []
        assert Acceptance.objects.count() == 2

    def test_pins_bytes_that_are_no_plain_text_file(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        odd = "\ufeff# T\r\n\r\nno newline at the end"
        write_note(root, "a.md", odd)

        ack(root)

        assert current().note_snapshot.text == odd


class TestEvidence:
    def test_without_any_review_is_refused_and_writes_nothing(self, root):
        with refuses("no-evidence", match=r"kb/notes/a.md prose/x"):
            ack(root)

        assert not Acceptance.objects.exists()
        assert not FileSnapshot.objects.exists()

    @pytest.mark.parametrize(
        "review",
        [pytest.param(UNDECIDED, id="unknown"), pytest.param("## Result: ERROR", id="error")],
    )
    def test_a_review_without_a_usable_decision_is_none(self, root, review):
        review_pairs(root, ("a.md", "prose/x"), review=review)

        with refuses("no-evidence"):
            ack(root)

    def test_of_another_partition_is_none(self, root):
        review_pairs(root, ("a.md", "prose/x"), model_partition="gpt-5-1")

        with refuses("no-evidence", match=PARTITION):
            ack(root)

    def test_of_another_gate_is_none_and_holds_up_the_others(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        with refuses("no-evidence", match=r"prose/y.*nothing was acked"):
            ack(root, "prose/x", "prose/y")

        assert Acceptance.objects.count() == 1

    def test_is_the_current_acceptances_review_and_not_the_newest(self, root):
        (first,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED, now=NOW + timedelta(minutes=1))
        write_note(root, "a.md", EDITED)

        result = ack(root)

        assert result.acked[0].review_pair_id == first

    def test_names_every_pair_that_stands_in_the_way(self, root):
        with refuses("no-evidence") as refused:
            ack(root, "prose/x", "prose/y")

        assert "prose/x" in refused.value.message
        assert "prose/y" in refused.value.message


class TestTheTextThatWasLookedAt:
    def test_another_note_than_expected_is_refused(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        with refuses("note-edited", match=sha256(EDITED)):
            ack(root, expect_note_sha256=sha256("what I read"))

        assert Acceptance.objects.count() == 1

    def test_the_expected_one_is_acked(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        assert ack(root, expect_note_sha256=sha256(EDITED)).acked

    def test_a_changed_gate_needs_a_word_of_its_own(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        write_gate(root, "prose/x", CHANGED_GATE)

        with refuses("gate-changed-too", match=r"kb/notes/a\.md prose/x"):
            ack(root)

        assert Acceptance.objects.count() == 1

    def test_a_changed_gate_is_taken_when_that_is_said(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_gate(root, "prose/x", CHANGED_GATE)

        ack(root, accept_gate_change=True)

        assert current().gate_snapshot.text == CHANGED_GATE

    def test_one_changed_gate_of_two_holds_up_both(self, root):
        review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_note(root, "a.md", EDITED)
        write_gate(root, "prose/y", make_gate("prose/y", body="Another question.\n"))

        with refuses("gate-changed-too"):
            ack(root, "prose/x", "prose/y")

        assert current("a.md", "prose/x").event.kind == AcceptanceKind.FULL_REVIEW


class TestADeletedQuote:
    GONE = NOTE.replace("A reader finds a note by its title", "A reader")

    def test_of_an_open_finding_is_refused_until_it_is_said_what_became_of_it(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", self.GONE)

        with refuses("quote-gone", "dispose_finding .* nothing was acked"):
            ack(root)
        assert current().note_snapshot.text == NOTE

        disposition_row(fingerprint=Finding.objects.get().fingerprint, state=DispositionState.FIXED)
        assert len(ack(root).acked) == 1

    def test_holds_when_the_gate_changed_too(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", self.GONE)
        write_gate(root, "prose/x", CHANGED_GATE)

        with refuses("quote-gone"):
            ack(root, accept_gate_change=True)


class TestNames:
    def test_a_bundle_is_not_acked_unseen(self, root):
        review_pairs(root, ("a.md", "prose/x"))

        with refuses("not-one-gate") as refused:
            ack(root, "prose")

        assert "prose/x, prose/y" in refused.value.hint

    def test_an_unknown_gate_names_near_ones(self, root):
        with pytest.raises(UnknownGate) as refused:
            ack(root, "prose/xx")

        assert "prose/x" in refused.value.hint

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("prose/x", id="id"),
            pytest.param("prose/x.md", id="id-with-suffix"),
            pytest.param(gate_path("prose/x"), id="path"),
            pytest.param(f"./{gate_path('prose/x')}", id="path-with-dot"),
        ],
    )
    def test_a_gate_by_any_of_its_names(self, root, name):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        assert [item.gate_id for item in ack(root, name).acked] == ["prose/x"]

    def test_a_note_that_is_gone_names_near_ones(self, root):
        with pytest.raises(NoSuchNote) as refused:
            ack(root, note="kb/notes/aa.md")

        assert "kb/notes/a.md" in refused.value.hint

    def test_a_note_that_cannot_be_read_is_refused_with_the_reason(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", b"\xff\xfe broken")

        with pytest.raises(UnreadableFile, match="UTF-8"):
            ack(root)


class TestRace:
    """An ingest that commits between the look of an ack and its write."""

    def test_is_refused_when_a_later_text_was_accepted(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", NOTE + "\nRead by the ack.\n")
        behind = open_corpus(root)
        note = behind.read_note(note_path("a.md"))
        write_note(root, "a.md", NOTE + "\nRead by the job.\n")
        review_pairs(root, ("a.md", "prose/x"), review=FAIL, now=LATER + timedelta(minutes=1))
        behind.read_note = lambda _path: note
        request = AckRequest(
            note=note_path("a.md"), gates=("prose/x",), model_partition=PARTITION, actor="human:ana"
        )

        with refuses("superseded", match=r"kb/notes/a\.md prose/x"):
            ack_gate_review(request, corpus=behind, now=LATER)

        assert current().decision == Decision.FAIL

    def test_a_review_of_older_text_does_not_undo_an_ack(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        (job,) = make_jobs(root, ("a.md", "prose/x"), now=NOW + timedelta(minutes=1))
        write_note(root, "a.md", EDITED)
        ack(root)

        result = ingest(root, job.review_job_id, review=FAIL, now=LATER + timedelta(hours=1))

        assert result.pairs[0].not_accepted_because == "superseded"
        assert current().event.kind == AcceptanceKind.ACK
