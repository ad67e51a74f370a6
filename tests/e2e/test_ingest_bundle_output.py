"""`ingest_bundle_output` and `run_review_jobs` as an agent meets them."""

from __future__ import annotations

import json

import pytest

from review.models import CurrentAcceptance, ReviewJob
from tests.builders import PASS, make_gate, make_jobs, make_output, make_root, write_note
from tests.helpers.commands import run

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, monkeypatch):
    gates = {name: make_gate(name) for name in ("prose/x", "prose/y")}
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_ACTOR", "agent:test")
    return make_root(tmp_path, gates=gates)


@pytest.fixture
def job(root):
    return make_jobs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))[0]


def ingest(*args, stdin=None):
    return run("ingest_bundle_output", *args, "--json", stdin=stdin)


class TestIngest:
    def test_takes_an_output_from_stdin(self, job):
        output = make_output(job.review_job_id)

        result = ingest("--review-job-id", job.review_job_id, "--input-file", "-", stdin=output)

        assert result.exit == 0
        assert result.json["schema"] == "ingest-bundle-output/1"
        pair = result.json["jobs"][0]["pairs"][0]
        assert pair["pair_status"] == "completed"
        assert pair["decision"] == "pass"
        assert pair["decision_source"] == "result-line"
        assert pair["accepted"] is True
        assert pair["not_accepted_because"] is None
        assert pair["findings"] == []

    def test_a_missing_pair_is_exit_1(self, job):
        output = make_output(job.review_job_id, only=(1,))

        result = ingest("--review-job-id", job.review_job_id, "--input-file", "-", stdin=output)

        assert result.exit == 1
        assert result.json["jobs"][0]["failure_code"] == "pairs-missing"

    def test_blocks_that_go_nowhere_are_named(self, job):
        first, second = (make_output(job.review_job_id, only=(number,)) for number in (1, 2))
        token = ReviewJob.objects.get().sentinel_token.encode()
        wanted = ("--review-job-id", job.review_job_id, "--input-file", "-")

        mistyped = ingest(*wanted, stdin=first + second.replace(token, b"0badc0de"))
        renumbered = ingest(*wanted, stdin=second.replace(token + b"/2", token + b"/1"))

        (told,) = mistyped.json["jobs"][0]["problems"]
        assert told == "a block with token 0badc0de, which no job has, was not taken"
        (told,) = renumbered.json["jobs"][0]["problems"]
        assert "pair 1, which has its review, was not taken: its sentinel names" in told

    def test_who_gives_the_blocks_is_told_to_give_them_again(self, job):
        wanted = ("--review-job-id", job.review_job_id, "--input-file", "-")

        assert "to this command again" in ingest(*wanted, stdin=b"I could not.").error["hint"]

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            pytest.param((), 2, id="neither-id-nor-ready"),
            pytest.param(("--ready", "--review-job-id", 1), 2, id="both"),
            pytest.param(("--ready", "--input-file", "-"), 2, id="input-with-ready"),
            pytest.param(
                ("--review-job-id", 1, "--input-file", "-", "--telemetry-json", "-"),
                2,
                id="one-stream-for-two",
            ),
            pytest.param(("--review-job-id", 1, "--all-actors"), 2, id="all-actors-without-ready"),
            pytest.param(("--review-job-id", 0), 2, id="no-job-number"),
            pytest.param(("--review-job-id", 99), 5, id="unknown-job"),
            pytest.param(("--review-job-id", 1), 5, id="no-output-yet"),
            pytest.param(
                ("--review-job-id", 1, "--runner-model", "m"), 2, id="model-without-runner"
            ),
        ],
    )
    def test_refuses_by_name(self, job, arguments, code):
        result = ingest(*arguments)

        assert result.exit == code
        assert result.error["schema"] == "error/1"
        assert result.error["exit"] == code
        assert result.out == ""

    def test_a_second_ingest_is_a_conflict(self, job):
        output = make_output(job.review_job_id)
        ingest("--review-job-id", job.review_job_id, "--input-file", "-", stdin=output)

        result = ingest("--review-job-id", job.review_job_id, "--input-file", "-", stdin=output)

        assert (result.exit, result.error["code"]) == (4, "job-already-completed")

    @pytest.mark.parametrize("option", [(), ("--review-job-id",)], ids=["listed", "repeated"])
    def test_many_jobs_are_ingested_at_once(self, root, option):
        write_note(root, "b.md")
        jobs = make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        for job in jobs:
            (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))
        first, second = (job.review_job_id for job in jobs)

        result = ingest("--review-job-id", first, *option, second)

        assert result.exit == 0
        assert [job["review_job_id"] for job in result.json["jobs"]] == [first, second]

    def test_many_jobs_are_ingested_though_one_is_refused(self, root):
        write_note(root, "b.md")
        first, second = make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        (root / second.bundle_output_path).write_bytes(make_output(second.review_job_id))

        result = ingest("--review-job-id", first.review_job_id, second.review_job_id)

        assert result.exit == 5
        assert [job["review_job_id"] for job in result.json["jobs"]] == [second.review_job_id]
        assert result.json["refused"][0]["code"] == "no-output"

    @pytest.mark.parametrize(
        "telemetry",
        [
            pytest.param("[1]", id="a-list"),
            pytest.param("{", id="broken"),
            pytest.param("", id="empty"),
            pytest.param('{"cost": NaN}', id="no-number"),
            pytest.param('{"cost": 1e400}', id="a-number-too-large"),
            pytest.param('{"model": "\\ud800"}', id="half-a-character"),
            pytest.param('{"a":' * 3000, id="nested-deeply"),
        ],
    )
    def test_telemetry_must_be_an_object(self, job, telemetry):
        result = ingest(
            "--review-job-id", job.review_job_id, "--telemetry-json", "-", stdin=telemetry
        )

        assert (result.exit, result.error["code"]) == (5, "bad-telemetry")

    @pytest.mark.parametrize(
        ("telemetry", "warned"),
        [
            pytest.param('{"model": 5}', True, id="a-number"),
            pytest.param('{"models": [5, " "]}', True, id="a-list-without-a-name"),
            pytest.param('{"model": 5, "modelUsage": {"claude-opus-4-6": {}}}', False, id="named"),
            pytest.param('{"model": null, "modelUsage": {}}', False, id="not-said"),
        ],
    )
    def test_says_that_a_model_could_not_be_read(self, root, job, telemetry, warned):
        (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))

        result = ingest(
            "--review-job-id", job.review_job_id, "--telemetry-json", "-", stdin=telemetry
        )

        assert result.exit == 0
        assert ("its model is no name" in result.err) is warned

    def test_telemetry_that_was_cut_off_is_told_with_the_place(self, job):
        result = ingest(
            "--review-job-id", job.review_job_id, "--telemetry-json", "-", stdin='{"a": 1,\n"b'
        )

        assert "in the middle of a value, in line 2 (byte 11)" in result.error["message"]

    def test_text_names_pairs_and_what_was_not_accepted(self, job):
        output = make_output(job.review_job_id, "no verdict", PASS)

        result = run(
            "ingest_bundle_output",
            "--review-job-id",
            job.review_job_id,
            "--input-file",
            "-",
            stdin=output,
        )

        assert result.out == (
            f"job {job.review_job_id}: completed\n"
            "  kb/notes/a.md prose/x: unknown (not accepted: decision-unknown)\n"
            "  kb/notes/a.md prose/y: pass\n"
        )


class TestReady:
    def test_takes_only_finished_outputs_of_this_actor(self, root):
        for name in ("b.md", "c.md", "d.md"):
            write_note(root, name)
        jobs = make_jobs(root, *((note, "prose/x") for note in ("a.md", "b.md", "c.md", "d.md")))
        mine, unfinished, theirs, unclaimed = jobs
        for job, actor in ((mine, "agent:test"), (unfinished, "agent:test"), (theirs, "agent:b")):
            run(
                "claim_review_job",
                "--review-job-id",
                job.review_job_id,
                "--runner",
                "r",
                "--actor",
                actor,
            )
        for job in (mine, theirs, unclaimed):
            (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))
        (root / unfinished.bundle_output_path).write_bytes(
            make_output(unfinished.review_job_id)[:-30]
        )

        taken = [job["review_job_id"] for job in ingest("--ready").json["jobs"]]
        rest = [job["review_job_id"] for job in ingest("--ready", "--all-actors").json["jobs"]]

        assert taken == [mine.review_job_id]
        assert rest == [theirs.review_job_id, unclaimed.review_job_id]
        assert ReviewJob.objects.get(pk=unfinished.review_job_id).status == "running"

    def test_a_folder_in_an_output_s_place_stops_no_other_job(self, root):
        write_note(root, "b.md")
        blocked, ready = make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        (root / blocked.bundle_output_path).mkdir()
        (root / ready.bundle_output_path).write_bytes(make_output(ready.review_job_id))

        result = ingest("--ready", "--all-actors")

        assert [job["review_job_id"] for job in result.json["jobs"]] == [ready.review_job_id]

    def test_nothing_ready_is_done(self, root):
        result = ingest("--ready")

        assert (result.exit, result.json["jobs"]) == (0, [])


class TestRules:
    def rule_gate(self, rule):
        return make_gate(f"prose/{rule}", rule=rule)

    @pytest.fixture
    def jobs(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        gates = {
            "prose/placeholder-text": self.rule_gate("placeholder-text"),
            "prose/repeated-paragraphs": self.rule_gate("repeated-paragraphs"),
            "semantic/x": make_gate("semantic/x"),
        }
        root = make_root(tmp_path, notes={"a.md": "# A\n\nTODO: write this.\n"}, gates=gates)
        pairs = [("a.md", gate_id) for gate_id in gates]
        return make_jobs(root, *pairs, model_partition="rules")

    def test_judges_its_jobs_through_the_ordinary_ingest(self, jobs, tmp_path):
        result = run("run_review_jobs", "--all", "--runner", "rules", "--json")

        done = result.json["jobs"][0]
        assert result.exit == 0
        assert [pair["decision"] for pair in done["pairs"]] == ["warn", "pass"]
        assert done["pairs"][0]["findings"][0]["line"] == 3
        output = (tmp_path / jobs[0].bundle_output_path).read_text()
        assert output.count("=== PAIR REVIEW START") == 2
        row = ReviewJob.objects.get(pk=done["review_job_id"])
        assert (row.runner, row.runner_model) == ("rules", "rules")

    def test_leaves_a_job_without_a_rule_queued_and_says_so(self, jobs):
        result = run("run_review_jobs", "--all", "--runner", "rules", "--json")

        left = result.json["left_queued"]
        assert [item["reason"] for item in left] == ["no rule judges semantic/x"]
        assert ReviewJob.objects.get(pk=left[0]["review_job_id"]).status == "queued"

    def test_never_takes_a_model_s_job(self, root, job):
        result = run("run_review_jobs", job.review_job_id, "--runner", "rules", "--json")

        assert result.exit == 4
        assert result.json["refused"][0]["code"] == "partition-mismatch"
        assert ReviewJob.objects.get(pk=job.review_job_id).status == "queued"
        assert not CurrentAcceptance.objects.exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            pytest.param(("--runner", "rules"), id="no-jobs"),
            pytest.param(("--runner", "rules", "--all", 1), id="jobs-and-all"),
            pytest.param(("--all",), id="no-runner"),
        ],
    )
    def test_refuses_what_makes_no_sense(self, root, arguments):
        assert run("run_review_jobs", *arguments, "--json").exit == 2

    def test_prints_json_that_parses(self, jobs):
        result = run("run_review_jobs", "--all", "--runner", "rules", "--json")

        assert json.loads(result.out)["schema"] == "run-review-jobs/1"
