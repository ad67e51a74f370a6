"""`override_acceptance`, `set_decision` and `dispose_finding`, through the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import Acceptance, DecisionEvent, Disposition, Finding
from tests.builders import NOTE, NOW, PARTITION, make_jobs, make_root, note_path, write_note
from tests.helpers.commands import run
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
A = note_path("a.md")
SIGNED = ("--reason", "I read it", "--actor", "human:ana")


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = make_root(tmp_path)
    monkeypatch.setenv("COMMONPLACE_ROOT", str(folder))
    monkeypatch.setenv("COMMONPLACE_ACTOR", "agent:harness")
    return folder


def counts() -> dict[str, int]:
    return run("review_target_selector", "--all-gates", "--model", PARTITION, "--json").json[
        "counts"
    ]


class TestOverride:
    def override(self, *args):
        return run("override_acceptance", "--model", PARTITION, A, "prose/x", *args, now=LATER)

    def test_takes_a_pair_out_of_the_queue_and_makes_it_fresh(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=FAIL)

        done = self.override(*SIGNED)

        assert (done.exit, done.out) == (0, f"overridden: {A} prose/x ({PARTITION})\n")
        assert run("warn_selector", "--json").json["entries"] == []
        assert counts()["fresh"] == 1

    def test_holds_until_the_note_changes(self, root):
        self.override(*SIGNED)
        write_note(root, "a.md", NOTE + "\nEdited.\n")

        assert counts()["note-changed"] == 1

    def test_answers_with_a_document(self, root):
        document = self.override(*SIGNED, "--json").json

        assert document["schema"] == "override-acceptance/1"
        assert [item["gate_id"] for item in document["overridden"]] == ["prose/x"]
        assert (document["reason"], document["actor"]) == ("I read it", "human:ana")

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param((), id="neither"),
            pytest.param(("--actor", "human:ana"), id="no-reason"),
            pytest.param(("--reason", "r"), id="no-actor"),
            pytest.param(("--reason", "  ", "--actor", "human:ana"), id="blank-reason"),
            pytest.param(("--reason", "r", "--actor", ""), id="blank-actor"),
        ],
    )
    def test_without_who_and_why_is_a_usage_error(self, root, args):
        done = self.override(*args)

        assert (done.exit, done.out) == (2, "")
        assert not Acceptance.objects.exists()


class TestSetDecision:
    def decide(self, pair_id, decision="pass", *args):
        return run(
            "set_decision", "--review-pair-id", pair_id, "--as", decision, *SIGNED, *args, now=LATER
        )

    def test_accepts_a_review_that_could_not_be_read(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        assert run("warn_selector", "--needs-a-look", "--json").json["needs_a_look"]

        done = self.decide(pair_id)

        assert (done.exit, done.out) == (0, f"pass (was unknown), accepted: {A} prose/x\n")
        assert counts()["fresh"] == 1
        assert run("warn_selector", "--needs-a-look", "--json").json["needs_a_look"] == []

    def test_answers_with_a_document(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        document = self.decide(pair_id, "warn", "--json").json

        assert document["schema"] == "set-decision/1"
        assert (document["review_pair_id"], document["decision"]) == (pair_id, "warn")
        assert (document["accepted"], document["not_accepted_because"]) == (True, None)

    def test_superseded_is_a_conflict_and_keeps_the_decision(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        write_note(root, "a.md", NOTE + "\nEdited.\n")
        review_pairs(root, ("a.md", "prose/x"), now=NOW + timedelta(minutes=1))

        done = self.decide(pair_id, "fail", "--json")

        assert done.exit == 4
        assert done.json["not_accepted_because"] == "superseded"
        assert "superseded" in done.err
        assert DecisionEvent.objects.count() == 1

    def test_of_a_pair_without_a_review_is_a_conflict(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))

        done = self.decide(job.pairs[0].review_pair_id, "pass", "--json")

        assert (done.exit, done.error["code"]) == (4, "pair-not-completed")

    def test_of_an_unknown_pair_is_rejected(self, root):
        assert self.decide(4711).exit == 5

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param(("--as", "unknown", *SIGNED), id="no-decision"),
            pytest.param(("--as", "pass", "--actor", "human:ana"), id="no-reason"),
            pytest.param(("--as", "pass", "--reason", "r"), id="no-actor"),
        ],
    )
    def test_that_says_too_little_is_a_usage_error(self, root, args):
        assert run("set_decision", "--review-pair-id", 1, *args).exit == 2


class TestDisposeFinding:
    def dispose(self, mark, state, *args, now=LATER):
        return run("dispose_finding", mark, "--as", state, *args, now=now)

    def test_takes_a_finding_out_of_the_queue_and_back(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        mark = Finding.objects.get().fingerprint

        done = self.dispose(mark, "rejected", "--reason", "it has one")

        assert (done.exit, done.out) == (0, f"rejected: {A} prose/x: the claim has no source\n")
        assert run("warn_selector", "--json").json["entries"] == []
        assert self.dispose(mark, "open").out.startswith("open (was rejected): ")
        assert len(run("warn_selector", "--json").json["entries"]) == 1

    def test_deferred_holds_until_the_note_changes(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        self.dispose(Finding.objects.get().fingerprint.upper(), "deferred")
        assert run("warn_selector", "--json").json["entries"] == []

        write_note(root, "a.md", NOTE + "\nEdited.\n")

        assert len(run("warn_selector", "--json").json["entries"]) == 1

    def test_answers_with_a_document_and_records_the_actor(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        mark = Finding.objects.get().fingerprint

        document = self.dispose(mark, "fixed", "--json").json

        assert document["schema"] == "dispose-finding/1"
        assert (document["fingerprint"], document["disposition"]) == (mark, "fixed")
        assert document["was"] is None
        assert Disposition.objects.get().actor == "agent:harness"

    def test_an_unknown_fingerprint_is_rejected_with_near_ones(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        mark = Finding.objects.get().fingerprint

        done = self.dispose(f"{mark[:-2]}zz", "fixed", "--json")

        assert (done.exit, done.error["code"]) == (5, "unknown-finding")
        assert mark in done.error["hint"]

    def test_an_unknown_state_is_a_usage_error(self, root):
        assert self.dispose("0" * 16, "done").exit == 2
