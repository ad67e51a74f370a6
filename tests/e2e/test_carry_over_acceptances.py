"""`carry_over_acceptances`, through the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import Acceptance
from tests.builders import NOTE, NOW, PARTITION, make_gate, make_root, note_path, write_note
from tests.helpers.commands import run
from tests.helpers.reviewed import WARN, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
A, B = note_path("a.md"), note_path("b.md")


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = make_root(tmp_path, gates={name: make_gate(name) for name in ("prose/x", "prose/y")})
    monkeypatch.setenv("COMMONPLACE_ROOT", str(folder))
    return folder


@pytest.fixture
def moved(root):
    """A reviewed note that has another name now."""
    review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"), review=WARN)
    (root / A).rename(root / B)
    return root


def carry(*args):
    return run("carry_over_acceptances", *args, now=LATER)


class TestCarryOver:
    def test_makes_the_pairs_fresh_at_the_new_path(self, moved):
        done = carry(A, B)

        assert done.exit == 0
        assert done.out == f"carried over: {B} ({PARTITION}: 2)\n"
        selected = run("review_target_selector", "--all-gates", "--model", PARTITION, "--json")
        assert selected.json["counts"]["fresh"] == 2

    def test_keeps_the_warning_in_the_queue_under_the_new_path(self, moved):
        carry(A, B)

        entries = run("warn_selector", "--json").json["entries"]

        assert {entry["note_path"] for entry in entries} == {B}

    def test_a_rejected_finding_stays_rejected(self, moved):
        for entry in run("warn_selector", "--json").json["deleted_notes"]:
            (finding,) = entry["findings"]
            disposed = run("dispose_finding", finding["fingerprint"], "--as", "rejected")
            assert disposed.exit == 0, disposed.err

        done = carry(A, B)

        assert "decided findings: 2" in done.out
        assert run("warn_selector", "--json").json["entries"] == []

    def test_answers_with_a_document(self, moved):
        document = carry(A, B, "--json").json

        assert document["schema"] == "carry-over-acceptances/1"
        assert (document["old_path"], document["new_path"]) == (A, B)
        assert document["dry_run"] is False
        assert [item["gate_path"].rpartition("/")[2] for item in document["carried"]] == [
            "x.md",
            "y.md",
        ]
        assert (document["refused"], document["not_identical"]) == ([], [])

    def test_a_dry_run_says_what_would_be_carried(self, moved):
        done = carry(A, B, "--dry-run")

        assert done.exit == 0
        assert done.out.startswith(f"would carry over: {B} (")
        assert Acceptance.objects.count() == 2

    def test_another_text_is_a_conflict_that_is_named(self, moved):
        write_note(moved, "b.md", NOTE + "\nEdited.\n")

        done = carry(A, B)

        assert (done.exit, done.out) == (4, "")
        assert done.err == (f"not identical: {B} is not the text that was accepted (pairs: 2)\n")

    def test_a_key_that_is_taken_is_a_conflict_that_is_named(self, moved):
        carry(A, B)

        done = carry(A, B)

        assert (done.exit, done.out) == (4, "")
        for gate in ("prose/x", "prose/y"):
            assert (
                f"refused: {B} kb/instructions/review-gates/{gate}.md ({PARTITION}) has" in done.err
            )

    def test_nothing_accepted_at_the_old_path_is_rejected(self, moved):
        done = carry("kb/notes/none.md", B, "--json")

        assert (done.exit, done.error["code"]) == (5, "nothing-to-carry")

    def test_the_same_path_twice_is_a_usage_error(self, moved):
        assert carry(A, A).exit == 2
