"""`run_review_jobs` with runners that are processes of their own."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import replace

import pytest

from tests.helpers.scripted import MODEL, is_running, make_scripted, note
from tests.helpers.sweeping import command, listed, start, wait_for

pytestmark = pytest.mark.own_stores(on_server="soak")

JOBS = ("run_review_jobs", "--json")


def queue(base, *, partition=MODEL, grouping="note"):
    """Queued jobs for all that is stale."""
    selection = command(
        base, "review_target_selector", "--all-gates", "--model", partition, "--json"
    )
    created = command(
        base, "create_review_jobs", "--input", "-", "--grouping", grouping, "--json",
        stdin=selection.out,
    )  # fmt: skip
    return [job["review_job_id"] for job in created.json["jobs"]]


class TestAnotherMachine:
    def test_renders_the_prompt_and_stores_the_reviews(self, tmp_path):
        base = make_scripted(tmp_path, notes=2)
        queue(base)
        store = {"COMMONPLACE_REVIEW_DB": str(base.root / "kb/reports/review-store.sqlite")}
        there = replace(base, root=tmp_path / "there" / "base", store=store | base.store)
        shutil.copytree(base.root, there.root, ignore=shutil.ignore_patterns("reports"))
        base.books.rename(there.books)

        done = command(there, *JOBS, "--all", "--runner", "scripted")

        assert [job["status"] for job in done.json["jobs"]] == ["completed", "completed"]
        assert command(base, "review_status", "--json").json["uncovered"] == 0
        assert command(base, "review_doctor", "--repair").exit == 0
        assert len(list(base.root.glob("kb/reports/bundle-reviews/*/pair-*.md"))) == 2


class TestProcesses:
    def test_are_run_several_at_once_and_their_answers_taken_in(self, tmp_path):
        base = make_scripted(tmp_path, notes=6, script={"*": "hold"})
        job_ids = queue(base)

        process = start(base, *JOBS, "--all", "--runner", "scripted", "--jobs", "6")
        wait_for(lambda: base.calls().total() == 6)
        base.let_go()
        out, _err = process.communicate(timeout=60)

        assert process.returncode == 0
        done = json.loads(out)["jobs"]
        assert [job["review_job_id"] for job in done] == job_ids
        assert {pair["decision"] for job in done for pair in job["pairs"]} == {"pass"}
        job = listed(base)[job_ids[0]]
        assert (job["runner"], job["runner_model"], job["status"]) == (
            "scripted", MODEL, "completed",
        )  # fmt: skip

    def test_what_a_run_left_is_dropped_once_its_output_is_taken_in(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)
        queue(base)

        done = command(base, *JOBS, "--all", "--runner", "scripted")

        assert done.exit == 0, done.err
        folder = base.root / "kb/reports/bundle-reviews/review-job-1"
        assert not list(folder.glob("run-*"))
        assert (folder / "bundle-output.md").is_file()

    def test_a_run_that_fails_keeps_what_it_said_and_the_job_says_why(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, script={note(0): "broken"})
        queue(base)

        done = command(base, *JOBS, "--all", "--runner", "scripted")

        assert done.exit == 1
        first, second = done.json["jobs"]
        assert (first["status"], first["failure_code"]) == ("failed", "runner-error")
        assert "it broke" in first["failure_reason"]
        assert [pair["pair_status"] for pair in first["pairs"]] == ["missing"]
        assert second["status"] == "completed"
        folder = base.root / "kb/reports/bundle-reviews/review-job-1/run-1"
        assert (folder / "stderr").read_text() == "it broke\n"

    def test_one_that_shows_that_none_will_succeed_ends_the_work(self, tmp_path):
        base = make_scripted(tmp_path, notes=3, script={"*": "bad-flag"})
        queue(base)

        done = command(base, *JOBS, "--all", "--runner", "scripted", "--jobs", "1")

        assert done.exit == 1
        assert len(done.json["jobs"]) == 1
        assert "unknown option" in done.json["stopped_because"]
        assert [job["status"] for job in listed(base).values()] == ["failed", "queued", "queued"]

    def test_half_an_answer_in_the_time_there_is_keeps_its_complete_reviews(self, tmp_path):
        gates = ("prose/x", "prose/y")
        base = make_scripted(tmp_path, notes=1, gates=gates, script={"*": "half"})
        queue(base)

        done = command(base, *JOBS, "--all", "--runner", "scripted", "--timeout", "1s")

        (job,) = done.json["jobs"]
        assert (job["status"], job["failure_code"]) == ("failed", "runner-timeout")
        assert [pair["pair_status"] for pair in job["pairs"]] == ["completed", "missing"]
        assert [pair["accepted"] for pair in job["pairs"]] == [True, False]
        assert not any(is_running(pid) for pid in base.pids())

    def test_the_first_that_finds_no_room_for_its_files_leaves_the_others_queued(self, tmp_path):
        base = make_scripted(tmp_path, notes=3)
        for job_id in queue(base):
            run = base.root / f"kb/reports/bundle-reviews/review-job-{job_id}/run-1"
            run.mkdir()
            (run / "prompt.md").symlink_to("/dev/full")

        done = command(base, *JOBS, "--all", "--runner", "scripted", "--jobs", "1")

        assert done.exit == 1
        (job,) = done.json["jobs"]
        assert (job["status"], job["failure_code"]) == ("failed", "runner-error")
        assert "No space left on device" in done.json["stopped_because"]
        assert [job["status"] for job in listed(base).values()].count("queued") == 2

    def test_an_answer_without_one_of_the_pairs_fails_the_job_and_keeps_the_others(self, tmp_path):
        gates = ("prose/x", "prose/y")
        base = make_scripted(tmp_path, notes=1, gates=gates, script={"*": "first-only"})
        queue(base)

        done = command(base, *JOBS, "--all", "--runner", "scripted")

        (job,) = done.json["jobs"]
        assert (job["status"], job["failure_code"]) == ("failed", "pairs-missing")
        assert [pair["pair_status"] for pair in job["pairs"]] == ["completed", "missing"]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
    def test_ctrl_c_ends_the_children_and_keeps_what_they_had(self, tmp_path, number):
        gates = ("prose/x", "prose/y")
        base = make_scripted(tmp_path, notes=2, gates=gates, script={"*": "half"})
        queue(base)
        process = start(base, *JOBS, "--all", "--runner", "scripted")
        wait_for(lambda: len(base.blocks()) == 2)

        process.send_signal(number)
        out, _err = process.communicate(timeout=20)

        assert process.returncode == 130
        assert out.startswith('{"schema":"run-review-jobs/1"')
        assert not any(is_running(pid) for pid in base.pids())
        for job in listed(base).values():
            assert (job["status"], job["failure_code"]) == ("failed", "interrupted")
            assert [pair["pair_status"] for pair in job["pairs"]] == ["completed", "missing"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "code", "exit_code"),
        [
            pytest.param(("--runner", "scriptet"), "unknown-runner", 5, id="unknown"),
            pytest.param(("--runner", "llm"), "runner-not-installed", 5, id="not-installed"),
            pytest.param(
                ("--runner", "scripted", "--runner-model", "other", "--model-partition", MODEL),
                "partition-mismatch", 4, id="another-model",
            ),
            pytest.param(
                ("--runner", "rules", "--model-partition", MODEL),
                "partition-mismatch", 4, id="rules-for-a-model",
            ),
            pytest.param(
                ("--runner", "scripted", "--runner-effort", "high"),
                "runner-cannot", 2, id="no-place-for-an-effort",
            ),
        ],
    )  # fmt: skip
    def test_come_before_anything_is_claimed(self, tmp_path, arguments, code, exit_code):
        base = make_scripted(tmp_path, notes=1)
        queue(base)

        done = command(base, *JOBS, "--all", *arguments)

        assert (done.exit, done.error["code"]) == (exit_code, code)
        assert [job["status"] for job in listed(base).values()] == ["queued"]

    def test_jobs_of_two_partitions_are_not_run_as_one(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)
        queue(base)
        queue(base, partition="other-2")

        done = command(base, *JOBS, "--all", "--runner", "scripted")

        assert done.exit == 2
        assert "other-2, scripted-1" in done.error["message"]

    def test_a_prompt_that_was_changed_is_not_run(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)
        queue(base)
        prompt = base.root / "kb/reports/bundle-reviews/review-job-1/prompt.md"
        prompt.write_text(prompt.read_text().replace("The text", "Another text"))

        done = command(base, *JOBS, "--all", "--runner", "scripted")

        (left,) = done.json["left_queued"]
        assert "not what the job was made with" in left["reason"]
        assert not base.pids()

    def test_no_jobs_and_no_all_is_a_usage_error(self, tmp_path, monkeypatch):
        base = make_scripted(tmp_path, notes=1)
        monkeypatch.setenv("COMMONPLACE_ROOT", str(base.root))

        assert command(base, *JOBS, "--runner", "scripted").exit == 2

    def test_a_job_that_is_not_there_is_named(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)

        done = command(base, *JOBS, "99", "--runner", "scripted")

        assert (done.exit, done.error["code"]) == (5, "unknown-job")

    def test_nothing_queued_is_nothing_to_do(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)

        done = command(base, *JOBS, "--all", "--runner", "scripted")

        assert done.exit == 0
        assert done.json["jobs"] == []
