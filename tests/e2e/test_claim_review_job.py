"""`claim_review_job` and `review_job_list`, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta

import pytest

from review.models import ReviewJob
from review.vocabulary import FailureCode
from tests.builders import NOW, make_gate, make_jobs, make_root, make_selection
from tests.helpers.commands import (
    REPOSITORY,
    process_environment,
    run,
    run_process,
    shared_store,
)
from tests.helpers.planning import fail

LATER = NOW + timedelta(minutes=5)
AX = ("a.md", "prose/x")


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = make_root(tmp_path, gates={name: make_gate(name) for name in ("prose/x", "links/z")})
    monkeypatch.setenv("COMMONPLACE_ROOT", str(folder))
    return folder


@pytest.mark.django_db
class TestClaim:
    def test_answers_with_the_document_of_the_contract(self, root):
        make_jobs(root, AX)

        done = run("claim_review_job", "--next", "--runner", "h", "--json", now=LATER)

        assert done.exit == 0
        document = done.json
        assert document["schema"] == "claim-review-job/1"
        assert document["claimed"] is True
        assert document["validated"] == "none"
        (job,) = document["jobs"]
        assert job["status"] == "running"
        assert job["started_at"] == "2026-01-31T09:35:00.000000Z"
        assert job["runner_model"] is None
        assert (root / job["prompt_path"]).is_file()

    def test_shows_people_what_to_read_and_write(self, root):
        make_jobs(root, AX)

        done = run("claim_review_job", "--next", "--runner", "h")

        assert "claimed: job 1" in done.out
        assert "kb/reports/bundle-reviews/review-job-1/prompt.md" in done.out
        assert "kb/reports/bundle-reviews/review-job-1/bundle-output.md" in done.out

    def test_records_the_actor_that_is_named(self, root):
        make_jobs(root, AX)

        run("claim_review_job", "--next", "--runner", "h", "--actor", "agent:seven")

        assert ReviewJob.objects.get().claimed_by == "agent:seven"

    @pytest.mark.parametrize("as_json", [True, False])
    def test_exits_3_when_nothing_is_queued(self, root, as_json):
        done = run("claim_review_job", "--next", "--runner", "h", *(["--json"] if as_json else []))

        assert done.exit == 3
        assert done.err == ""
        if as_json:
            assert (done.json["claimed"], done.json["jobs"]) == (False, [])
        else:
            assert done.out == "no queued job\n"

    def test_exits_4_for_a_taken_job_and_says_who_has_it(self, root):
        make_jobs(root, AX)
        run("claim_review_job", "--next", "--runner", "h", "--actor", "agent:one", now=LATER)

        done = run("claim_review_job", "--review-job-id", 1, "--runner", "h", "--json")

        assert (done.exit, done.out) == (4, "")
        assert done.error["code"] == "job-not-claimable"
        assert "agent:one took it at 2026-01-31T09:35:00" in done.error["message"]

    def test_exits_4_for_another_model_and_moves_nothing(self, root):
        make_jobs(root, AX)

        done = run("claim_review_job", "--next", "--runner", "h", "--runner-model", "m", "--json")

        assert (done.exit, done.error["code"]) == (4, "partition-mismatch")
        assert ReviewJob.objects.get().status == "queued"

    def test_takes_any_effort_where_the_partition_was_declared_so(self, root):
        settings = '[partitions."claude-opus-4-6"]\nany_effort = true\n'
        make_root(root, settings=settings)
        make_jobs(root, AX)
        model = ("--runner-model", "claude-opus-4-6", "--runner-effort", "high")

        done = run("claim_review_job", "--next", "--runner", "h", *model, "--json")

        assert (done.exit, done.json["validated"]) == (0, "full")
        assert ReviewJob.objects.get().runner_effort == "high"

    def test_exits_5_for_an_unknown_id(self, root):
        done = run("claim_review_job", "--review-job-id", 99, "--runner", "h", "--json")

        assert (done.exit, done.error["code"]) == (5, "unknown-job")

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(["--runner", "h"], id="neither"),
            pytest.param(["--next", "--review-job-id", "1", "--runner", "h"], id="both"),
            pytest.param(["--next"], id="no-runner"),
            pytest.param(["--next", "--runner", " "], id="blank-runner"),
            pytest.param(["--next", "--runner", "a\x1b[2Jb"], id="runner-with-an-escape"),
            pytest.param(["--review-job-id", "0", "--runner", "h"], id="zero"),
            pytest.param(["--review-job-id", "1", "--limit", "2", "--runner", "h"], id="limit"),
            pytest.param(
                ["--review-job-id", "1", "--model-partition", "m", "--runner", "h"], id="partition"
            ),
            pytest.param(["--next", "--limit", "0", "--runner", "h"], id="limit-zero"),
            pytest.param(["--next", "--runner", "h", "--effort-unknown"], id="effort-of-no-model"),
            pytest.param(
                [
                    *("--next", "--runner", "h", "--runner-model", "m"),
                    *("--runner-effort", "e", "--effort-unknown"),
                ],
                id="effort-named-and-unknown",
            ),
        ],
    )
    def test_exits_2_for_a_command_line_that_makes_no_sense(self, root, options):
        make_jobs(root, AX)

        done = run("claim_review_job", *options, "--json")

        assert (done.exit, done.out) == (2, "")
        assert done.error["schema"] == "error/1"
        assert ReviewJob.objects.get().status == "queued"


@pytest.mark.django_db
class TestJobList:
    @pytest.fixture
    def jobs(self, root):
        make_jobs(root, AX, ("a.md", "links/z"))
        make_jobs(root, AX, model_partition="gpt-5")
        fail(1, code=FailureCode.OPERATOR, reason="stopped\x1b[2J by hand", now=LATER)

    def listed(self, *options) -> list[int]:
        done = run("review_job_list", *options, "--json")
        assert done.exit == 0
        assert done.json["schema"] == "review-job-list/1"
        return [job["review_job_id"] for job in done.json["jobs"]]

    def test_lists_all_oldest_first(self, jobs):
        assert self.listed() == [1, 2, 3]

    def test_lists_by_state(self, jobs):
        assert self.listed("--status", "failed") == [1]
        assert self.listed("--status", "queued", "failed", "--limit", 2) == [1, 2]

    def test_lists_by_partition(self, jobs):
        assert self.listed("--model-partition", "gpt-5") == [3]

    def test_says_why_a_job_failed_in_letters_that_cannot_act(self, jobs):
        done = run("review_job_list", "--status", "failed")

        assert "operator: stopped\\x1b[2J by hand" in done.out
        assert "\x1b" not in done.out

    def test_lists_nothing_in_an_empty_store(self, root):
        assert self.listed() == []

    def test_refuses_a_state_that_there_is_not(self, root):
        assert run("review_job_list", "--status", "paused").exit == 2


@pytest.mark.django_db(transaction=True)
class TestTwoProcesses:
    JOBS = 200

    def test_each_of_200_jobs_is_claimed_exactly_once(self, root):
        notes = {f"n{number}.md": f"# Note {number}\n\nText.\n" for number in range(self.JOBS)}
        make_root(root, notes=notes)
        environment = shared_store()
        selection = make_selection(*((name, "prose/x") for name in notes))
        made = run_process(
            *("create_review_jobs", "--input", "-", "--grouping", "note", "--json"),
            root=root,
            stdin=selection,
            env=environment,
        )
        assert made.exit == 0, made.err

        taken = claim_at_once(["agent:one", "agent:two"], root=root, environment=environment)

        all_taken = sorted(taken["agent:one"] + taken["agent:two"])
        assert all_taken == [job["review_job_id"] for job in made.json["jobs"]]
        listed = run_process("review_job_list", "--json", root=root, env=environment).json
        by_actor = {job["review_job_id"]: job["claimed_by"] for job in listed["jobs"]}
        assert by_actor == {job: actor for actor, jobs in taken.items() for job in jobs}


def claim_at_once(actors, *, root, environment) -> dict[str, list[int]]:
    """Let a process for each actor claim until nothing is queued; all start together."""
    workers = {
        actor: subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.claimer", actor],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env=process_environment(root) | environment,
        )
        for actor in actors
    }
    for worker in workers.values():
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers.values():
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return {
        actor: json.loads(worker.communicate(timeout=60)[0]) for actor, worker in workers.items()
    }
