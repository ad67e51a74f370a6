"""A move carries acceptances only where the bytes are the same, and overwrites nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance import carry_over as carrying
from review.acceptance.carry_over import CarryRequest, carry_over_acceptances
from review.domain.paths import BadPath
from review.errors import UsageRefused
from review.models import Acceptance, CurrentAcceptance, Finding
from review.vocabulary import AcceptanceKind, Decision
from tests.builders import (
    GATES_FOLDER,
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
from tests.helpers.reviewed import FAIL, WARN, current, ingest, open_corpus, review_pairs
from tests.rows import disposition_row

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
OTHER = "gpt-5-1"


@pytest.fixture
def root(tmp_path):
    return make_root(tmp_path)


def carry(root, old: str, new: str, now=LATER, **overrides):
    request = CarryRequest(old_path=old, new_path=new, **{"actor": "human:ana"} | overrides)
    return carry_over_acceptances(request, corpus=open_corpus(root), now=now)


def move(root, old: str, new: str) -> None:
    """Rename a file or folder below the root."""
    target = root / new
    target.parent.mkdir(parents=True, exist_ok=True)
    (root / old).rename(target)


def carried(result) -> list[tuple[str, str]]:
    return [(item.note_path, item.gate_path) for item in result.carried]


class TestANote:
    def test_that_was_moved_takes_its_review_along(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        move(root, note_path("a.md"), note_path("b.md"))

        result = carry(root, note_path("a.md"), note_path("b.md"))

        row = current("b.md")
        assert carried(result) == [(note_path("b.md"), gate_path("prose/x"))]
        assert row.event.kind == AcceptanceKind.CARRY_OVER
        assert (row.event.review_pair_id, row.decision) == (pair_id, Decision.WARN)
        assert (row.event.actor, row.event.text_read_at) == ("human:ana", LATER)
        assert row.note_snapshot.text == NOTE
        assert row.gate_snapshot_id == current("a.md").gate_snapshot_id

    def test_leaves_what_stands_at_the_old_path(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        before = current("a.md").event_id
        move(root, note_path("a.md"), note_path("b.md"))

        carry(root, note_path("a.md"), note_path("b.md"))

        assert current("a.md").event_id == before
        assert Acceptance.objects.count() == 2

    def test_with_another_byte_is_not_carried(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        move(root, note_path("a.md"), note_path("b.md"))
        write_note(root, "b.md", NOTE.rstrip("\n"))

        result = carry(root, note_path("a.md"), note_path("b.md"))

        assert result.carried == []
        assert [item.code for item in result.not_identical] == ["not-identical"]
        assert current("b.md") is None

    def test_that_was_edited_since_its_acceptance_is_not_carried(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", NOTE + "\nNever reviewed.\n")
        move(root, note_path("a.md"), note_path("b.md"))

        assert carry(root, note_path("a.md"), note_path("b.md")).carried == []

    def test_that_is_not_at_the_new_path_is_refused(self, root):
        review_pairs(root, ("a.md", "prose/x"))

        result = carry(root, note_path("a.md"), note_path("b.md"))

        assert [item.code for item in result.refused] == ["vanished"]
        assert Acceptance.objects.count() == 1

    def test_with_an_acceptance_of_its_own_is_refused_by_name(self, root):
        write_note(root, "b.md", NOTE)
        review_pairs(root, ("a.md", "prose/x"))
        review_pairs(root, ("b.md", "prose/x"), review=FAIL)

        result = carry(root, note_path("a.md"), note_path("b.md"))

        assert [(item.code, item.note_path) for item in result.refused] == [
            ("already-accepted", note_path("b.md"))
        ]
        assert "kb/notes/b.md" in result.refused[0].message
        assert current("b.md").decision == Decision.FAIL

    @pytest.mark.parametrize("is_dry", [False, True])
    def test_that_was_reviewed_since_at_the_new_path_is_retired_at_the_old(self, root, is_dry):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        disposition_row(fingerprint=Finding.objects.get().fingerprint, state="rejected")
        move(root, note_path("a.md"), note_path("b.md"))
        review_pairs(root, ("b.md", "prose/x"), review=WARN)

        result = carry(root, note_path("a.md"), note_path("b.md"), dry_run=is_dry)

        (item,) = result.superseded
        assert (item.old_note_path, item.note_path) == (note_path("a.md"), note_path("b.md"))
        assert (item.dispositions, result.refused, result.carried) == (1, [], [])
        assert current("a.md").decision == (Decision.WARN if is_dry else Decision.PASS)
        assert current("b.md").event.kind == AcceptanceKind.FULL_REVIEW

    def test_a_second_time_is_refused_and_writes_nothing(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        move(root, note_path("a.md"), note_path("b.md"))
        carry(root, note_path("a.md"), note_path("b.md"))

        result = carry(root, note_path("a.md"), note_path("b.md"))

        assert [item.code for item in result.refused] == ["already-accepted"]
        assert Acceptance.objects.count() == 2

    def test_keeps_a_stale_gate_stale(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        accepted_gate = current("a.md").gate_snapshot_id
        write_gate(root, "prose/x", make_gate("prose/x", body="Another question.\n"))
        move(root, note_path("a.md"), note_path("b.md"))

        carry(root, note_path("a.md"), note_path("b.md"))

        assert current("b.md").gate_snapshot_id == accepted_gate

    def test_of_one_partition_only_when_that_is_asked_for(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        review_pairs(root, ("a.md", "prose/x"), model_partition=OTHER)
        move(root, note_path("a.md"), note_path("b.md"))

        result = carry(root, note_path("a.md"), note_path("b.md"), model_partition=OTHER)

        assert [item.model_partition for item in result.carried] == [OTHER]
        assert current("b.md") is None

    def test_of_every_partition_otherwise(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        review_pairs(root, ("a.md", "prose/x"), model_partition=OTHER)
        move(root, note_path("a.md"), note_path("b.md"))

        result = carry(root, note_path("a.md"), note_path("b.md"))

        assert {item.model_partition for item in result.carried} == {PARTITION, OTHER}

    def test_that_was_overridden_stays_overridden_by_the_same_person(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=FAIL)
        event = Acceptance.objects.get()
        Acceptance.objects.update(
            kind=AcceptanceKind.OVERRIDE, review_pair=None, actor="human:eva", reason="leave it"
        )
        move(root, note_path("a.md"), note_path("b.md"))

        carry(root, note_path("a.md"), note_path("b.md"))

        copy = current("b.md").event
        assert copy.pk != event.pk
        assert (copy.kind, copy.actor) == (AcceptanceKind.OVERRIDE, "human:eva")
        assert copy.reason.startswith("leave it (carried over from kb/notes/a.md")
        assert "human:ana" in copy.reason

    def test_a_dry_run_names_it_and_writes_nothing(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        move(root, note_path("a.md"), note_path("b.md"))

        result = carry(root, note_path("a.md"), note_path("b.md"), dry_run=True)

        assert (result.dry_run, len(result.carried)) == (True, 1)
        assert Acceptance.objects.count() == 1

    def test_a_review_of_the_new_path_that_lands_in_between_is_not_overwritten(
        self, root, monkeypatch
    ):
        review_pairs(root, ("a.md", "prose/x"))
        move(root, note_path("a.md"), note_path("b.md"))
        (job,) = make_jobs(root, ("b.md", "prose/x"))
        look = carrying._Carrying.plans

        def plans(*args, **kwargs):
            found = look(*args, **kwargs)
            ingest(root, job.review_job_id, review=FAIL)
            return found

        monkeypatch.setattr(carrying._Carrying, "plans", plans)

        result = carry(root, note_path("a.md"), note_path("b.md"))

        assert [item.note_path for item in result.superseded] == [note_path("b.md")]
        assert current("b.md").decision == Decision.FAIL


class TestAFolder:
    def test_takes_along_everything_below_it(self, tmp_path):
        notes = {"old/a.md": NOTE, "old/deep/b.md": NOTE, "older/c.md": NOTE}
        notes = {f"kb/notes/{name}": text for name, text in notes.items()}
        root = make_root(tmp_path, notes=notes)
        review_pairs(root, *((name, "prose/x") for name in notes))
        move(root, "kb/notes/old", "kb/notes/new")

        result = carry(root, "kb/notes/old", "kb/notes/new")

        assert [note for note, _gate in carried(result)] == [
            "kb/notes/new/a.md",
            "kb/notes/new/deep/b.md",
        ]

    def test_that_was_moved_into_itself_takes_along_what_was_moved(self, tmp_path):
        root = make_root(tmp_path, notes={"kb/notes/a.md": NOTE, "kb/notes/archive/old.md": NOTE})
        review_pairs(root, ("kb/notes/a.md", "prose/x"), ("kb/notes/archive/old.md", "prose/x"))
        move(root, "kb/notes/a.md", "kb/notes/archive/a.md")

        result = carry(root, "kb/notes", "kb/notes/archive")

        assert [note for note, _gate in carried(result)] == ["kb/notes/archive/a.md"]
        assert result.refused == []

    def test_is_told_apart_from_one_whose_name_differs_in_case(self, tmp_path):
        root = make_root(tmp_path, notes={"kb/notes/Old/a.md": NOTE, "kb/notes/old/b.md": NOTE})
        review_pairs(root, ("kb/notes/Old/a.md", "prose/x"), ("kb/notes/old/b.md", "prose/x"))
        move(root, "kb/notes/old", "kb/notes/new")

        result = carry(root, "kb/notes/old", "kb/notes/new")

        assert [note for note, _gate in carried(result)] == ["kb/notes/new/b.md"]
        assert (result.refused, result.not_identical) == ([], [])

    def test_one_changed_note_does_not_hold_up_the_others(self, tmp_path):
        root = make_root(tmp_path, notes={"kb/notes/old/a.md": NOTE, "kb/notes/old/b.md": NOTE})
        review_pairs(root, ("kb/notes/old/a.md", "prose/x"), ("kb/notes/old/b.md", "prose/x"))
        move(root, "kb/notes/old", "kb/notes/new")
        write_note(root, "kb/notes/new/a.md", NOTE + "\nEdited on the way.\n")

        result = carry(root, "kb/notes/old", "kb/notes/new")

        assert [note for note, _gate in carried(result)] == ["kb/notes/new/b.md"]
        assert [item.note_path for item in result.not_identical] == ["kb/notes/new/a.md"]

    def test_larger_than_one_transaction_arrives_whole(self, tmp_path, monkeypatch):
        monkeypatch.setattr(carrying, "_CHUNK", 2)
        notes = {f"kb/notes/old/{number}.md": NOTE for number in range(5)}
        root = make_root(tmp_path, notes=notes)
        review_pairs(root, *((name, "prose/x") for name in notes))
        move(root, "kb/notes/old", "kb/notes/new")

        assert len(carry(root, "kb/notes/old", "kb/notes/new").carried) == 5
        assert CurrentAcceptance.objects.count() == 10


class TestAGate:
    def test_that_was_renamed_takes_along_the_acceptances_of_all_notes(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        move(root, gate_path("prose/x"), gate_path("style/z"))

        result = carry(root, gate_path("prose/x"), gate_path("style/z"))

        assert carried(result) == [
            (note_path("a.md"), gate_path("style/z")),
            (note_path("b.md"), gate_path("style/z")),
        ]
        assert current("a.md", "style/z").gate_snapshot.text == make_gate("prose/x")

    def test_in_a_renamed_bundle_is_carried(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        move(root, f"{GATES_FOLDER}/prose", f"{GATES_FOLDER}/style")

        result = carry(root, f"{GATES_FOLDER}/prose", f"{GATES_FOLDER}/style")

        assert carried(result) == [(note_path("a.md"), gate_path("style/x"))]

    def test_that_left_the_gates_folder_is_refused(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        move(root, gate_path("prose/x"), "kb/notes/x.md")

        result = carry(root, gate_path("prose/x"), "kb/notes/x.md")

        assert [item.code for item in result.refused] == ["vanished"]


class TestPaths:
    def test_with_nothing_accepted_there_names_near_ones(self, root):
        review_pairs(root, ("a.md", "prose/x"))

        with refuses("nothing-to-carry") as refused:
            carry(root, "kb/notes/aa.md", "kb/notes/b.md")

        assert "kb/notes/a.md" in refused.value.hint

    def test_that_are_the_same_are_a_usage_error(self, root):
        with pytest.raises(UsageRefused):
            carry(root, "kb/notes/a.md", "./kb/notes/a.md")

    @pytest.mark.parametrize(
        "path", [pytest.param("../a.md", id="outside"), pytest.param("/etc/a.md", id="absolute")]
    )
    def test_that_leave_the_root_are_refused(self, root, path):
        with pytest.raises(BadPath):
            carry(root, note_path("a.md"), path)
