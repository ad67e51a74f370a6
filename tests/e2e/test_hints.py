"""Hints of refusals can be typed as they stand: the values that are known stand in them."""

from __future__ import annotations

import shlex
import shutil

import pytest

from review.models import ReviewPair
from tests.builders import NOTE, PARTITION, make_gate, make_root, note_path
from tests.helpers.commands import run
from tests.helpers.reviewed import review_pairs

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE}, gates={"prose/x": make_gate("prose/x")})


def run_hint(text):
    """Run the command lines of a hint, each with the answer of the one before it as its input."""
    out = None
    for part in text.split(" | "):
        program, name, *arguments = shlex.split(part)
        assert program == "commonplace"
        done = run(name, *arguments, stdin=out)
        out = done.out
    return done


def test_a_claim_of_a_job_that_somebody_has_names_how_to_take_another(root):
    (pair_id,) = review_pairs(root, ("a.md", "prose/x"))
    job_id = ReviewPair.objects.get(pk=pair_id).job_id

    done = run("claim_review_job", "--review-job-id", job_id, "--runner", "r", "--json")
    again = run_hint(done.error["hint"].removeprefix("take another: "))

    assert done.exit == 4
    assert again.exit == 3  # no other job is queued: the command line was understood


def test_an_ack_without_a_review_names_how_to_get_one(root):
    done = run("ack_gate_review", "--model", PARTITION, note_path("a.md"), "prose/x", "--json")
    again = run_hint(done.error["hint"])

    assert done.exit == 4
    assert again.exit == 0
    assert "prose/x" in run("review_job_list", "--status", "queued", "--json").out


@pytest.mark.parametrize(
    ("command", "value", "option"),
    [
        ("warn_selector", "prose/x", "--gate"),
        ("warn_selector", "kb/notes/a.md", "--note"),
        ("render_review", "kb/notes/a.md", "--note"),
    ],
)
def test_a_gate_or_a_note_in_the_wrong_place_names_its_option(root, command, value, option):
    done = run(command, value, "--json")

    assert done.exit == 2
    assert done.error["hint"] == f"{option} takes it: {option} {value}"


@pytest.mark.parametrize(
    "command",
    [
        ("review_sweep", "--all-gates", "--runner", "rules", "--model", "rules"),
        ("review_status", "--next"),
        ("warn_selector",),
        ("next_review_job", "--all-gates", "--model", "m", "--runner", "r"),
    ],
    ids=lambda command: command[0],
)
def test_an_empty_answer_says_that_notes_or_gates_are_missing(root, command):
    shutil.rmtree(root / "kb/notes")
    without_notes = run(*command)
    shutil.rmtree(root / "kb/instructions")
    without_both = run(*command)

    where_notes_belong = "no note was found below kb/notes, kb/reference: put Markdown files there"
    assert where_notes_belong in without_notes.out + without_notes.err
    for said in (where_notes_belong, "commonplace review_init adds the starter gates"):
        assert said in without_both.out + without_both.err


def test_gates_behind_the_notes_are_pointed_out_by_a_check(root):
    done = run("review_check", "--note", note_path("a.md"), "prose", "--json")

    assert done.error["hint"] == f"gates stand before --note: prose --note {note_path('a.md')}"


def test_a_report_goes_into_a_folder_that_is_there(root):
    done = run("review_check", "--format", "sarif", "--output", root / "none/x.sarif")
    missing = (done.exit, (root / "none").exists())

    assert missing == (5, False)
