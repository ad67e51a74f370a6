"""A note or gate edited at every point of a review: what is accepted is exactly what was judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from review.models import CurrentAcceptance, ReviewPair
from review.upkeep.checks import broken_invariants
from tests.builders import PARTITION, gate_path, make_output, make_root, note_path
from tests.helpers.commands import run
from tests.helpers.edits import EDITS, Door

pytestmark = pytest.mark.django_db
NOTE, GATE = note_path("a.md"), gate_path("prose/x")
BETWEEN = ("selected", "created", "claimed", "worked", "ingested")


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path)


@pytest.fixture
def door(root, monkeypatch) -> Door:
    door = Door(root)
    door.watch(monkeypatch)
    return door


def command(name, *args, stdin=None):
    done = run(name, *args, "--json", stdin=stdin)
    assert done.exit == 0, done.err
    return done.json


def select():
    return command("review_target_selector", "--all-gates", "--model", PARTITION)


class Review:
    """One review from the selection to its ingest; `edits` happen after the steps they name."""

    def __init__(self, root, edits=None):
        self.root = root
        self.edits = edits or {}

    def run(self):
        """The document of the ingest; None when nothing could be requested."""
        selected = self.then("selected", json.dumps(select()))
        create = ("create_review_jobs", "--input", "-", "--grouping", "note", "--json")
        made = run(*create, stdin=selected)
        self.then("created", None)
        # A gate that was renamed is named, and the whole selection is to be made again.
        assert made.exit == 0 or "did you mean prose/moved-x" in made.err
        if made.exit or not made.json["jobs"]:
            return None
        (job,) = made.json["jobs"]
        job_id = job["review_job_id"]
        command("claim_review_job", "--review-job-id", job_id, "--runner", "test")
        self.then("claimed", None)
        (self.root / job["bundle_output_path"]).write_bytes(make_output(job_id))
        self.then("worked", None)
        done = command("ingest_bundle_output", "--review-job-id", job_id)
        return self.then("ingested", done)

    def then(self, step, value):
        if step in self.edits:
            self.edits[step]()
        return value


def check_pins(root):
    """What is accepted is what the prompt showed, byte for byte, in the frame of its name."""
    for pair in ReviewPair.objects.select_related("job", "note_snapshot", "gate_snapshot"):
        prompt = (root / pair.job.prompt_path).read_bytes().decode()
        for text in (pair.note_snapshot.text, pair.gate_snapshot.text):
            assert prompt.count(text) == 1
        accepted = CurrentAcceptance.objects.get()
        assert accepted.note_snapshot_id == pair.note_snapshot_id
        assert accepted.gate_snapshot_id == pair.gate_snapshot_id
    assert broken_invariants() == ()


def expected_reason(root):
    """What a selector must say, told from nothing but the bytes that are accepted and on disk."""
    files = [root / NOTE, root / GATE]
    if not all(file.exists() for file in files):
        return None
    accepted = CurrentAcceptance.objects.select_related("note_snapshot", "gate_snapshot").first()
    if accepted is None:
        return "missing-review"
    if accepted.gate_snapshot.text.encode() != files[1].read_bytes():
        return "gate-changed"
    return "note-changed" if accepted.note_snapshot.text.encode() != files[0].read_bytes() else None


def said_reason():
    reasons = [
        target["reason"]
        for target in select()["targets"]
        if (target["note_path"], target["gate_path"]) == (NOTE, GATE)
    ]
    return reasons[0] if reasons else None


@pytest.mark.parametrize("path", [NOTE, GATE], ids=["note", "gate"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
class TestAnEdit:
    @pytest.mark.parametrize("step", BETWEEN)
    def test_between_two_steps_never_makes_what_nobody_judged_fresh(self, root, path, edit, step):
        done = Review(root, {step: lambda: edit(root / path)}).run()

        if done is None:
            assert step == "selected"
            assert not (root / path).exists()
            assert not CurrentAcceptance.objects.exists()
        else:
            assert done["jobs"][0]["pairs"][0]["accepted"]
            check_pins(root)
        assert said_reason() == expected_reason(root)

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_within_a_creation_is_in_the_prompt_or_not_but_never_half(
        self, root, door, path, edit, when
    ):
        review = Review(root, {"selected": lambda: door.edit(when, path, 1, edit)})

        done = review.run()

        assert door.is_over
        if done is not None:
            check_pins(root)
        assert said_reason() == expected_reason(root)

    def test_of_what_was_accepted_is_seen_whatever_the_file_s_times_say(self, root, path, edit):
        Review(root).run()
        assert said_reason() is None

        edit(root / path)

        assert said_reason() == expected_reason(root)


class TestASecondReview:
    def test_of_the_edited_note_takes_the_place_of_the_first(self, root):
        first = Review(root, {"claimed": lambda: EDITS["rewritten"](root / NOTE)}).run()
        assert said_reason() == "note-changed"

        second = Review(root).run()

        assert first["jobs"][0]["pairs"][0]["accepted"]
        assert second["jobs"][0]["pairs"][0]["accepted"]
        assert said_reason() is None
