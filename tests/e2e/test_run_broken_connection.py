"""Runs whose connection breaks right after a commit: the next try finds its own work and goes on."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from review.jobs.claim import JobNotClaimable
from review.models import ReviewJob
from review.store import retry as patience
from review.sweeps import run_job as running
from tests.builders import make_gate, make_jobs, make_root
from tests.helpers.commands import run

pytestmark = pytest.mark.django_db

RULE = make_gate("sentence/twice", rule="repeated-words", watches="[body]")


class Broken(Exception):
    """What a driver says of a connection that is gone."""

    sqlite_errorcode = 5
    sqlstate = "57P01"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """The id of a job that a rule can judge."""
    root = make_root(
        tmp_path, notes={"a.md": "# A\n\nThe the words.\n"}, gates={"sentence/twice": RULE}
    )
    monkeypatch.setenv("COMMONPLACE_ROOT", str(root))
    monkeypatch.setattr(patience, "_PAUSES", (0.0, 0.0))
    (made,) = make_jobs(root, ("a.md", "sentence/twice"), model_partition="rules")
    return made.review_job_id


def break_after(monkeypatch, name):
    """Let the first call of a step do its work, and then lose the connection."""
    real, calls = getattr(running, name), []

    def broken(*args, **kwargs):
        calls.append(None)
        answer = real(*args, **kwargs)
        if len(calls) == 1:
            raise OperationalError("the connection was closed") from Broken()
        return answer

    monkeypatch.setattr(running, name, broken)
    return calls


class TestRunReviewJobs:
    @pytest.mark.parametrize("step", ["claim", "ingest_job"])
    def test_finds_its_own_work_and_goes_on(self, job, monkeypatch, step):
        calls = break_after(monkeypatch, step)

        done = run("run_review_jobs", "--all", "--runner", "rules", "--json")

        assert len(calls) == 2
        assert (done.exit, done.json["refused"]) == (0, [])
        assert [item["status"] for item in done.json["jobs"]] == ["completed"]
        assert [pair["accepted"] for pair in done.json["jobs"][0]["pairs"]] == [True]

    def test_a_job_that_somebody_else_took_meanwhile_is_theirs(self, job, monkeypatch):
        real = running.claim

        def overtaken(*args, **kwargs):
            ReviewJob.objects.filter(pk=job, status="queued").update(
                status="running", started_at=kwargs["now"], claimed_by="agent:bo"
            )
            monkeypatch.setattr(running, "claim", real)
            raise OperationalError("the connection was closed") from Broken()

        monkeypatch.setattr(running, "claim", overtaken)

        done = run("run_review_jobs", "--all", "--runner", "rules", "--json")

        assert [item["code"] for item in done.json["refused"]] == [JobNotClaimable.code]
