"""Trivial changes are acked in bulk, and measured from the text that was really reviewed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance import ack_selection
from review.acceptance.ack import AckRequest, ack_gate_review
from review.acceptance.ack_selection import ack_trivial_changes
from review.errors import UsageRefused
from review.knowledge_base import UnknownGate
from review.models import Acceptance, Finding
from review.selection.select import SelectionRequest
from review.vocabulary import AcceptanceKind, Decision, DispositionState
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    make_gate,
    make_jobs,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.reviewed import FAIL, WARN, current, ingest, open_corpus, review_pairs
from tests.rows import acceptance_row, current_acceptance_row, disposition_row

pytestmark = pytest.mark.django_db
TITLE_ONLY = make_gate("prose/x", watches="[title]")
TOLERANT = make_gate("prose/x", watches="[body]", staleness="rewrite(0.2)")
WORDS = [f"word{number}" for number in range(100)]
EDITED = NOTE + "\nOne more line.\n"


def note_of(words) -> str:
    return f"# Title\n\n{' '.join(words)}\n"


def ack(root, now=NOW + timedelta(hours=1), **overrides):
    scope = {"all_gates": True, "model_partition": PARTITION}
    own = {key: overrides.pop(key) for key in ("dry_run", "actor") if key in overrides}
    own = {"actor": "agent:one"} | own
    wanted = SelectionRequest(**scope | overrides)
    return ack_trivial_changes(wanted, **own, corpus=open_corpus(root), now=now)


class TestTrivialChanges:
    def test_are_acked_with_the_review_they_rest_on(self, tmp_path):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", EDITED)

        result = ack(root)

        event = current().event
        assert [(item.gate_id, item.review_pair_id) for item in result.acked] == [
            ("prose/x", pair_id)
        ]
        assert (event.kind, event.decision) == (AcceptanceKind.AUTO_ACK, Decision.WARN)
        assert event.actor == "agent:one"
        assert current().note_snapshot.text == EDITED

    def test_are_done_with_after_one_pass(self, tmp_path):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        ack(root)

        assert ack(root).acked == []
        assert Acceptance.objects.count() == 2

    def test_a_dry_run_names_them_and_writes_nothing(self, tmp_path):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        result = ack(root, dry_run=True)

        assert (result.dry_run, len(result.acked)) == (True, 1)
        assert Acceptance.objects.count() == 1

    def test_only_those_of_the_scope(self, tmp_path):
        root = make_root(
            tmp_path, notes={"a.md": NOTE, "b.md": NOTE}, gates={"prose/x": TITLE_ONLY}
        )
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        write_note(root, "b.md", EDITED)

        result = ack(root, notes=(note_path("b.md"),))

        assert [item.note_path for item in result.acked] == [note_path("b.md")]

    def test_an_unknown_gate_is_refused(self, tmp_path):
        with pytest.raises(UnknownGate):
            ack(make_root(tmp_path), all_gates=False, gates=("prose/none",))

    def test_without_a_partition_nothing_can_be_meant(self, tmp_path):
        with pytest.raises(UsageRefused, match="--model"):
            ack(make_root(tmp_path), model_partition=None)


class TestOtherChanges:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param("# T\n\none\n\ntwo\n", "# T\n\none\ntwo\n", id="paragraphs-merged"),
            pytest.param("# T\n\nx:\n- a\n", "# T\n\nx:\n\n- a\n", id="list-detached"),
            pytest.param("# T\n\na  \nb\n", "# T\n\na\nb\n", id="hard-break-removed"),
            pytest.param(
                "# T\n\n```\na\n\nb\n```\n", "# T\n\n```\na\nb\n```\n", id="blank-line-in-a-fence"
            ),
            pytest.param(
                "intro\n\n```\n# no title\n```\n",
                "another\n\n```\n# no title\n```\n",
                id="intro-above-a-hash-in-a-fence",
            ),
            pytest.param("before\n\n# T\n", "changed\n\n# T\n", id="text-above-the-title"),
        ],
    )
    def test_of_the_body_are_not_trivial_to_a_gate_that_watches_it(self, tmp_path, before, after):
        gates = {"prose/x": make_gate("prose/x", watches="[body]")}
        root = make_root(tmp_path, notes={"a.md": before}, gates=gates)
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", after)

        assert ack(root).acked == []
        assert Acceptance.objects.count() == 1

    def test_are_left_when_the_gate_changed_too(self, tmp_path):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        write_gate(root, "prose/x", TITLE_ONLY + "\nIt asks for more.\n")

        assert ack(root).acked == []
        assert Acceptance.objects.count() == 1

    def test_of_what_a_person_accepted_without_a_review_are_left_and_named(self, tmp_path):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        review_pairs(root, ("a.md", "prose/x"), review=FAIL)
        row = current()
        event = acceptance_row(
            review_pair=row.event.review_pair, kind=AcceptanceKind.OVERRIDE, reason="leave it"
        )
        Acceptance.objects.filter(pk=event.pk).update(review_pair=None)
        row.delete()
        current_acceptance_row(event)
        write_note(root, "a.md", EDITED)

        result = ack(root)

        assert result.acked == []
        assert [item.gate_id for item in result.left] == ["prose/x"]
        assert current().event.kind == AcceptanceKind.OVERRIDE


class TestMeasuredFromTheReviewedText:
    def test_twenty_small_acks_cannot_add_up_to_an_unread_note(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": note_of(WORDS)}, gates={"prose/x": TOLERANT})
        review_pairs(root, ("a.md", "prose/x"))
        words = list(WORDS)
        acked = []

        for step in range(20):
            words[step * 4 : step * 4 + 4] = [f"other{step}-{number}" for number in range(4)]
            write_note(root, "a.md", note_of(words))
            acked.append(len(ack(root, now=NOW + timedelta(hours=step + 1)).acked))

        assert acked == [1] * 2 + [0] * 18
        assert current().note_snapshot.text.count("other") == 8

    def test_acks_by_hand_do_not_move_the_measure_either(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": note_of(WORDS)}, gates={"prose/x": TOLERANT})
        review_pairs(root, ("a.md", "prose/x"))
        half = [*(f"other{number}" for number in range(50)), *WORDS[50:]]
        write_note(root, "a.md", note_of(half))
        by_hand = AckRequest(
            note=note_path("a.md"), gates=("prose/x",), model_partition=PARTITION, actor="human:ana"
        )
        ack_gate_review(by_hand, corpus=open_corpus(root), now=NOW + timedelta(hours=1))
        write_note(root, "a.md", note_of([*half[:-1], "last"]))

        assert ack(root, now=NOW + timedelta(hours=2)).acked == []

    def test_a_new_review_is_a_new_measure(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": note_of(WORDS)}, gates={"prose/x": TOLERANT})
        review_pairs(root, ("a.md", "prose/x"))
        other = [f"other{number}" for number in range(100)]
        write_note(root, "a.md", note_of(other))
        review_pairs(root, ("a.md", "prose/x"), now=NOW + timedelta(hours=1))
        write_note(root, "a.md", note_of([*other[:-1], "last"]))

        assert len(ack(root, now=NOW + timedelta(hours=2)).acked) == 1


class TestRace:
    def test_a_note_that_is_edited_after_it_was_measured_is_refused(self, tmp_path, monkeypatch):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        self.after_selecting(monkeypatch, lambda: write_note(root, "a.md", "# Another\n\nText.\n"))

        result = ack(root)

        assert result.acked == []
        assert [item.code for item in result.refused] == ["note-edited"]
        assert Acceptance.objects.count() == 1

    def test_a_review_that_comes_in_after_the_measuring_is_not_carried_on(
        self, tmp_path, monkeypatch
    ):
        root = make_root(tmp_path, gates={"prose/x": TITLE_ONLY})
        review_pairs(root, ("a.md", "prose/x"))
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        self.after_selecting(monkeypatch, lambda: ingest(root, job.review_job_id, review=FAIL))

        result = ack(root)

        assert [item.code for item in result.refused] == ["review-moved"]
        assert current().event.kind == AcceptanceKind.FULL_REVIEW

    def after_selecting(self, monkeypatch, happen):
        """Let something happen when the selection is complete."""
        select = ack_selection.select_targets

        def select_targets(corpus, request):
            selection = select(corpus, request)
            targets = list(selection.targets())
            happen()
            return replace_targets(selection, targets)

        monkeypatch.setattr(ack_selection, "select_targets", select_targets)


def replace_targets(selection, targets):
    """The selection, with its targets read already."""
    selection.targets = lambda: iter(targets)
    return selection


class TestDeletedQuotes:
    QUOTE = "A reader finds a note by its title"

    @pytest.fixture
    def root(self, tmp_path):
        gate = make_gate("prose/x", watches="[body]", staleness="rewrite(0.9)")
        root = make_root(tmp_path, notes={"a.md": NOTE + "\nMore.\n"}, gates={"prose/x": gate})
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        return root

    def test_of_an_open_finding_keep_its_pair_from_being_acked(self, root):
        write_note(root, "a.md", NOTE.replace(self.QUOTE, "A reader") + "\nMore.\n")

        result = ack(root)

        assert [item.code for item in result.refused] == ["quote-gone"]
        assert self.QUOTE in result.refused[0].message
        assert f"dispose_finding {Finding.objects.get().fingerprint}" in result.refused[0].message
        assert result.acked == []

    @pytest.mark.parametrize("state", [DispositionState.FIXED, DispositionState.REJECTED])
    def test_of_a_settled_finding_do_not(self, root, state):
        disposition_row(fingerprint=Finding.objects.get().fingerprint, state=state)
        write_note(root, "a.md", NOTE.replace(self.QUOTE, "A reader") + "\nMore.\n")

        assert len(ack(root).acked) == 1

    def test_that_only_moved_do_not(self, root):
        write_note(root, "a.md", "An opening.\n\n" + NOTE + "\nMore.\n")

        assert len(ack(root).acked) == 1

    def test_of_one_place_of_two_keep_it_and_moving_both_does_not(self, tmp_path):
        gate = make_gate("prose/x", watches="[body]", staleness="rewrite(0.9)")
        twice = f"{NOTE}\n## More\n\n{self.QUOTE}.\n"
        root = make_root(tmp_path, notes={"a.md": twice}, gates={"prose/x": gate})
        review_pairs(root, ("a.md", "prose/x"), review=WARN)

        write_note(root, "a.md", NOTE)
        assert [item.code for item in ack(root).refused] == ["quote-gone"]

        write_note(root, "a.md", "An opening.\n\n" + twice)
        assert len(ack(root).acked) == 1
