"""Hints of refusals can be typed as they stand: the values that are known stand in them."""

from __future__ import annotations

import shlex

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
