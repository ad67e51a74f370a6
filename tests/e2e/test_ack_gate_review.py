"""`ack_gate_review` and `ack_trivial_changes`, through the command line."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest

from review.models import Acceptance
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    make_gate,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.forked import run_forked
from tests.helpers.reviewed import current, review_pairs
from tests.helpers.workers import write_worker_output

LATER = NOW + timedelta(hours=1)
EDITED = NOTE + "\nOne more line.\n"
NOTE_A = note_path("a.md")
X_CHANGED = make_gate("prose/x", body="It asks for something else.\n")


@pytest.fixture
def root(tmp_path, monkeypatch):
    gates = {"prose/x": make_gate("prose/x"), "prose/y": make_gate("prose/y", watches="[title]")}
    folder = make_root(tmp_path, gates=gates)
    monkeypatch.setenv("COMMONPLACE_ROOT", str(folder))
    monkeypatch.setenv("COMMONPLACE_ACTOR", "agent:harness")
    return folder


@pytest.fixture
def edited(root):
    """A note that was edited after both of its gates passed it."""
    review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
    write_note(root, "a.md", EDITED)
    return root


def ack(*args, **kwargs):
    return run("ack_gate_review", *args, **{"now": LATER} | kwargs)


def select(*args):
    return run("review_target_selector", "--all-gates", "--model", PARTITION, "--json", *args)


@pytest.mark.django_db
class TestAckGateReview:
    def test_prints_a_line_for_each_pair_and_the_pairs_are_fresh(self, edited):
        done = ack("--model", PARTITION, NOTE_A, "prose/x", "prose/y")

        assert done.exit == 0
        assert done.out == f"acked: {NOTE_A} prose/x\nacked: {NOTE_A} prose/y\n"
        assert done.err == ""
        assert select().json["counts"]["fresh"] == 2

    def test_says_that_a_fresh_pair_is_fresh(self, root):
        review_pairs(root, ("a.md", "prose/x"))

        done = ack("--model", PARTITION, NOTE_A, "prose/x")

        assert (done.exit, done.out) == (0, f"already fresh: {NOTE_A} prose/x\n")

    def test_answers_with_a_document(self, edited):
        done = ack("--model", PARTITION, NOTE_A, "prose/x", "--json")

        assert done.json == {
            "schema": "ack-gate-review/1",
            "model_partition": PARTITION,
            "acked": [
                {
                    "note_path": NOTE_A,
                    "gate_path": "kb/instructions/review-gates/prose/x.md",
                    "gate_id": "prose/x",
                    "review_pair_id": current().event.review_pair_id,
                    "decision": "pass",
                }
            ],
            "already_fresh": [],
            "refused": [],
            "ignored": 0,
        }

    def test_takes_a_model_name_for_its_partition(self, edited):
        assert ack("--model", "anthropic/Claude-Opus-4.6[1m]", NOTE_A, "prose/x").exit == 0

    def test_records_who_did_it_and_why(self, edited):
        ack("--model", PARTITION, "--reason", "spelling only", NOTE_A, "prose/x")

        event = current().event
        assert (event.actor, event.reason) == ("agent:harness", "spelling only")

    def test_another_text_than_expected_is_a_conflict(self, edited):
        done = ack("--model", PARTITION, "--expect-note-sha", "0" * 64, NOTE_A, "prose/x", "--json")

        assert done.exit == 4
        assert (done.out, done.error["code"]) == ("", "note-edited")
        assert hashlib.sha256(EDITED.encode()).hexdigest() in done.error["message"]

    def test_a_changed_gate_is_a_conflict_that_names_the_option(self, edited):
        write_gate(edited, "prose/x", X_CHANGED)

        done = ack("--model", PARTITION, NOTE_A, "prose/x")

        assert done.exit == 4
        assert "kb/notes/a.md prose/x" in done.err
        assert "--accept-gate-change" in done.err

    def test_no_review_is_a_conflict(self, root):
        done = ack("--model", PARTITION, NOTE_A, "prose/x", "--json")

        assert (done.exit, done.error["code"]) == (4, "no-evidence")

    def test_an_unknown_gate_is_rejected_with_near_names(self, edited):
        done = ack("--model", PARTITION, NOTE_A, "prose/xx")

        assert done.exit == 5
        assert "prose/x" in done.err

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param((), id="nothing"),
            pytest.param(("--model", PARTITION, NOTE_A), id="no-gate"),
            pytest.param((NOTE_A, "prose/x"), id="no-model"),
            pytest.param(("--model", PARTITION, "--input", "-"), id="input-and-model"),
            pytest.param(("--input", "-", NOTE_A, "prose/x"), id="input-and-pairs"),
            pytest.param(("--input", "-", "--accept-gate-change"), id="input-and-gate-change"),
            pytest.param(
                ("--model", PARTITION, "--expect-note-sha", "abc", NOTE_A, "prose/x"),
                id="short-sha",
            ),
            pytest.param(
                ("--model", PARTITION, "--reason", " ", NOTE_A, "prose/x"), id="blank-reason"
            ),
        ],
    )
    def test_a_command_line_that_says_too_little_or_too_much(self, root, args):
        assert ack(*args, stdin=b"{}").exit == 2


@pytest.mark.django_db
class TestAckOfASelection:
    def test_takes_one_gate_edit_for_all_notes(self, root):
        write_note(root, "b.md", NOTE)
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        write_gate(root, "prose/x", X_CHANGED)
        selection = run(
            "review_target_selector",
            "prose/x",
            "--reason",
            "gate-changed",
            "--model",
            PARTITION,
            "--json",
        )

        done = ack("--input", "-", stdin=selection.out)

        assert done.exit == 0
        assert done.out == "acked: kb/notes/a.md prose/x\nacked: kb/notes/b.md prose/x\n"

    def test_names_what_was_edited_between_and_acks_the_rest(self, root):
        write_note(root, "b.md", NOTE)
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        write_note(root, "a.md", EDITED)
        write_note(root, "b.md", EDITED)
        selection = select("--reason", "note-changed")
        write_note(root, "a.md", NOTE + "\nNobody looked at this.\n")

        done = ack("--input", "-", stdin=selection.out)

        assert done.exit == 4
        assert done.out == "acked: kb/notes/b.md prose/x\n"
        assert "refused: kb/notes/a.md prose/x" in done.err
        assert current("a.md").note_snapshot.text == NOTE

    def test_lists_what_was_refused_in_the_document(self, edited):
        selection = select("--reason", "note-changed")
        write_note(edited, "a.md", NOTE + "\nNobody looked at this.\n")

        done = ack("--input", "-", "--json", stdin=selection.out)

        assert done.exit == 4
        assert [item["code"] for item in done.json["refused"]] == ["note-edited"] * 2

    def test_counts_what_it_leaves(self, root):
        selection = select()

        done = ack("--input", "-", stdin=selection.out)

        assert (done.exit, done.out) == (0, "")
        assert "cannot settle: 2" in done.err

    def test_another_document_is_rejected(self, root):
        done = ack("--input", "-", "--json", stdin=json.dumps({"schema": "x/1"}))

        assert (done.exit, done.error["code"]) == (5, "not-this-document")


@pytest.mark.django_db
class TestAckTrivialChanges:
    def trivial(self, *args, **kwargs):
        return run("ack_trivial_changes", "--model", PARTITION, *args, **{"now": LATER} | kwargs)

    def test_acks_what_the_gate_does_not_watch(self, edited):
        done = self.trivial("--all-gates")

        assert (done.exit, done.out) == (0, f"acked: {NOTE_A} prose/y\n")
        assert current("a.md", "prose/y").event.kind == "auto-ack"
        assert current("a.md", "prose/x").event.kind == "full-review"

    def test_a_dry_run_says_what_would_be_acked(self, edited):
        done = self.trivial("--all-gates", "--dry-run")

        assert (done.exit, done.out) == (0, f"would ack: {NOTE_A} prose/y\n")
        assert Acceptance.objects.count() == 2

    def test_answers_with_a_document(self, edited):
        document = self.trivial("prose", "--note", "kb/notes", "--dry-run", "--json").json

        assert document["schema"] == "ack-trivial-changes/1"
        assert document["dry_run"] is True
        assert [item["gate_id"] for item in document["acked"]] == ["prose/y"]
        assert (document["left"], document["refused"], document["problems"]) == ([], [], [])

    def test_says_when_there_is_none(self, root):
        done = self.trivial("--all-gates")

        assert (done.exit, done.out) == (0, "")
        assert "no trivial change" in done.err

    def test_without_gates_is_a_usage_error(self, root):
        assert self.trivial().exit == 2


class TestTheWholeWay:
    def test_from_an_edit_to_a_fresh_pair_in_processes_of_their_own(self, tmp_path):
        root = make_root(tmp_path)
        select = ("review_target_selector", "--all-gates", "--model", PARTITION, "--json")
        stale = run_forked(*select, root=root)
        created = run_forked(
            "create_review_jobs", "--input", "-", "--grouping", "note", "--json",
            root=root, stdin=stale.out,
        )  # fmt: skip
        (job,) = created.json["jobs"]
        write_worker_output(root, job)
        ingested = run_forked(
            "ingest_bundle_output", "--review-job-id", job["review_job_id"], root=root
        )
        assert ingested.exit == 0, ingested.err
        write_note(root, "a.md", EDITED)
        changed = run_forked(*select, root=root)

        done = run_forked("ack_gate_review", "--input", "-", root=root, stdin=changed.out)

        assert (done.exit, done.out) == (0, f"acked: {NOTE_A} prose/x\n")
        counts = run_forked(*select, root=root).json["counts"]
        assert (counts["fresh"], counts["note-changed"]) == (1, 0)
