"""Acks of a selection: each pair only as it was listed, and one refusal holds up no other."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from review.acceptance.ack_selection import ack_selection, read_ack_targets
from review.documents.base import NotThisDocument
from review.jobs.provenance import BadTargets, PartitionNotConcrete
from review.models import Acceptance
from review.vocabulary import AcceptanceKind
from tests.builders import (
    NOTE,
    NOW,
    make_config,
    make_gate,
    make_jobs,
    make_root,
    make_selection,
    make_target,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.reviewed import FAIL, WARN, current, ingest, open_corpus, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
EDITED = NOTE + "\nOne more line.\n"
CHANGED_GATE = make_gate("prose/x", body="It asks for something else.\n")


@pytest.fixture
def root(tmp_path):
    gates = {"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y")}
    return make_root(tmp_path, gates=gates)


class TestSelection:
    def ack(self, root, selection: bytes, now=LATER):
        read = read_ack_targets(selection, source="the test", config=make_config(root))
        return ack_selection(*read, actor="human:ana", corpus=open_corpus(root), now=now)

    def changed(self, root, note="a.md", gate="prose/x", **overrides):
        fields = {"reason": "note-changed", "reasons": ["note-changed"]}
        return make_target(note, gate, root=root, **fields | overrides)

    def test_acks_what_is_still_as_listed(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        selection = make_selection(targets=[self.changed(root)])

        result = self.ack(root, selection)

        assert [item.gate_id for item in result.acked] == ["prose/x"]
        assert current().note_snapshot.text == EDITED

    def test_refuses_a_note_that_was_edited_since_and_acks_the_others(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        write_note(root, "b.md", EDITED)
        selection = make_selection(targets=[self.changed(root), self.changed(root, "b.md")])
        write_note(root, "a.md", NOTE + "\nNobody looked at this.\n")

        result = self.ack(root, selection)

        assert [item.note_path for item in result.acked] == ["kb/notes/b.md"]
        assert [(item.note_path, item.code) for item in result.refused] == [
            ("kb/notes/a.md", "note-edited")
        ]
        assert current("a.md").event.kind == AcceptanceKind.FULL_REVIEW

    @pytest.mark.parametrize("bodies", [("One.\n", "Two.\n"), ("Two.\n", "One.\n")])
    def test_refuses_a_gate_that_was_edited_since(self, root, bodies):
        listed, edited = (make_gate("prose/x", body=body) for body in bodies)
        write_gate(root, "prose/x", listed)
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        selection = make_selection(targets=[self.changed(root)])
        write_gate(root, "prose/x", edited)

        result = self.ack(root, selection)

        assert [item.code for item in result.refused] == ["gate-edited"]
        assert Acceptance.objects.count() == 1

    def test_takes_a_gate_edit_for_all_notes_that_list_it(self, tmp_path):
        notes = {f"{number}.md": NOTE for number in range(3)}
        root = make_root(tmp_path, notes=notes)
        review_pairs(root, *((name, "prose/x") for name in notes))
        write_gate(root, "prose/x", CHANGED_GATE)
        gate_changed = {"reason": "gate-changed", "reasons": ["gate-changed"]}
        targets = [self.changed(root, name, **gate_changed) for name in notes]

        result = self.ack(root, make_selection(targets=targets))

        assert len(result.acked) == 3
        assert {current(name).gate_snapshot.text for name in notes} == {CHANGED_GATE}

    def test_refuses_a_pair_whose_open_finding_lost_its_quote(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", NOTE.replace("A reader finds a note by its title", "A reader"))

        result = self.ack(root, make_selection(targets=[self.changed(root)]))

        assert [item.code for item in result.refused] == ["quote-gone"]
        assert result.acked == []

    def test_leaves_targets_that_were_never_reviewed_and_counts_them(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        missing = make_target("a.md", "prose/y", root=root)

        result = self.ack(root, make_selection(targets=[self.changed(root), missing]))

        assert (len(result.acked), result.ignored, result.refused) == (1, 1, [])

    def test_refuses_a_pair_that_rests_on_another_review_by_now(self, root):
        (first,) = review_pairs(root, ("a.md", "prose/x"))
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        target = self.changed(root, accepted_review_pair_id=first)
        ingest(root, job.review_job_id, review=FAIL, now=NOW + timedelta(minutes=2))

        result = self.ack(root, make_selection(targets=[target]))

        assert [item.code for item in result.refused] == ["review-moved"]

    def test_a_note_that_is_gone_is_refused_by_name(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        selection = make_selection(targets=[self.changed(root)])
        (root / note_path("a.md")).unlink()

        result = self.ack(root, selection)

        assert [item.code for item in result.refused] == ["vanished"]

    def test_a_target_listed_twice_is_acked_once(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        result = self.ack(root, make_selection(targets=[self.changed(root)] * 2))

        assert len(result.acked) == 1
        assert Acceptance.objects.count() == 2

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            pytest.param({"note_sha256": None}, "note_sha256", id="no-note-hash"),
            pytest.param({"gate_sha256": None}, "gate_sha256", id="no-gate-hash"),
            pytest.param({"gate_id": "prose/y"}, "prose/y", id="gate-id-of-another"),
            pytest.param({"note_path": "../a.md"}, r"\.\.", id="path-out-of-the-root"),
            pytest.param({"note_path": 5}, "note_path", id="not-text"),
        ],
    )
    def test_a_bad_target_rejects_everything_with_its_index(self, root, change, said):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        targets = [self.changed(root), self.changed(root) | change]

        with pytest.raises(BadTargets, match=rf"targets\[1\].*{said}"):
            self.ack(root, make_selection(targets=targets))

        assert Acceptance.objects.count() == 1

    def test_a_selection_without_a_partition_is_refused(self, root):
        with pytest.raises(PartitionNotConcrete, match="null"):
            self.ack(root, make_selection(model_partition=None))

    def test_another_document_is_refused(self, root):
        with pytest.raises(NotThisDocument, match="review-job-list/1"):
            self.ack(root, make_selection(schema="review-job-list/1"))
        with pytest.raises(NotThisDocument):
            self.ack(root, json.dumps([]).encode())
