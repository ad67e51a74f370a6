"""Sweeps in one process, with a worker that the test holds: what is made, run, kept and counted."""

from __future__ import annotations

import os
import tempfile
import threading
from datetime import timedelta

import pytest

from review.knowledge_base import Corpus
from review.models import JobOutput, Provenance, ReviewJob, ReviewPair
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.runners.registry import BUILT_IN
from review.sweeps.executors import Executor
from review.sweeps.run_job import RetryPolicy
from review.vocabulary import FailureCode, Grouping, JobStatus
from tests.builders import (
    PARTITION,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    write_gate,
    write_note,
)
from tests.helpers.held_worker import (
    BROKEN,
    GATES,
    OVERLOADED,
    TIMEOUT,
    Sweeper,
    failing,
    passes,
    says,
)

pytestmark = pytest.mark.django_db

THREE_RUNS = RetryPolicy(runs=3, first_pause=timedelta(0))


@pytest.fixture
def root(tmp_path):
    notes = {name: f"# {name}\n\nText of {name}.\n" for name in ("a.md", "b.md", "c.md")}
    return make_root(tmp_path, notes=notes, gates={name: make_gate(name) for name in GATES})


@pytest.fixture
def sweeper(root):
    return Sweeper(root)


class TestSweep:
    def test_makes_runs_and_ingests_a_job_for_each_note_and_lens(self, sweeper):
        answer = sweeper.sweep()

        assert answer.jobs["completed"] == 3
        assert answer.pairs["pass"] == 6
        assert answer.cost.usd == 0.75
        assert answer.targets == 6
        assert sweeper.listener.names()[0] == "selected"

    def test_says_at_the_claim_which_process_sees_to_the_job(self, sweeper):
        sweeper.sweep()

        job = ReviewJob.objects.first()
        assert (job.parent_host, job.parent_pid) == (sweeper.processes.host, os.getpid())
        assert (job.claimed_by, job.runner_model) == ("sweep:here:1", PARTITION)

    def test_keeps_the_telemetry_of_every_job(self, sweeper):
        sweeper.sweep()

        assert ReviewJob.objects.first().telemetry == {"cost_usd": 0.25}

    def test_asks_again_for_fresh_pairs_where_that_is_wanted(self, sweeper):
        sweeper.sweep()

        assert sweeper.sweep().targets == 0
        assert sweeper.sweep(mode="requested").jobs["completed"] == 3

    def test_reviews_the_text_there_is_when_the_job_is_made(self, sweeper, root):
        sweeper.executor.before = lambda job_id: write_note(root, "c.md", "# c\n\nNew text.\n")

        sweeper.sweep(max_jobs=1)
        sweeper.executor.before = lambda job_id: None
        answer = sweeper.sweep()

        assert answer.jobs["completed"] == 2
        assert sweeper.sweep().targets == 0

    def test_leaves_out_a_note_that_is_gone_by_then(self, sweeper, root):
        grouping = Grouping.GATE
        sweeper.sweep()
        write_gate(root, "prose/x", make_gate("prose/x", body="Another test."))
        (root / "kb/notes/b.md").unlink()

        answer = sweeper.sweep(grouping=grouping)

        assert answer.pairs["pass"] == 2


class TestRunsThatFail:
    def test_keep_what_was_complete_and_give_the_runner_s_reason(self, sweeper):
        sweeper.executor.answers = [failing(TIMEOUT, only=(1,), telemetry={"cost_usd": 1})]

        answer = sweeper.sweep()

        job = ReviewJob.objects.get(pk=sweeper.executor.runs[0])
        assert (job.status, job.failure_code) == ("failed", "runner-timeout")
        assert job.failure_reason == TIMEOUT.reason
        assert job.telemetry == {"cost_usd": 1}
        statuses = job.pairs.order_by("ordinal").values_list("status", flat=True)
        assert list(statuses) == ["completed", "missing"]
        assert JobOutput.objects.filter(job=job).exists()
        assert answer.pairs["pass"] == 5
        assert answer.pairs["missing"] == 1

    def test_are_done_again_where_that_can_help(self, sweeper):
        sweeper.executor.answers = [
            failing(OVERLOADED, telemetry={"cost_usd": 0.1}),
            failing(OVERLOADED),
        ]

        answer = sweeper.sweep(retry=THREE_RUNS)

        assert answer.jobs["completed"] == 3
        assert sweeper.executor.runs[:3] == [1, 1, 1]
        telemetry = ReviewJob.objects.get(pk=1).telemetry
        assert telemetry == {"cost_usd": 0.35, "runs": 3, "runs_without_cost": 1}
        assert answer.cost.jobs_without_cost == 1

    @pytest.mark.parametrize("failure", [OVERLOADED, TIMEOUT], ids=lambda failure: failure.reason)
    def test_with_every_review_whole_are_complete(self, sweeper, failure):
        sweeper.executor.answers = [failing(failure, only=(1, 2))]

        answer = sweeper.sweep(retry=THREE_RUNS)

        assert sweeper.executor.runs == [1, 2, 3]
        assert answer.jobs["completed"] == 3
        assert answer.pairs["pass"] == 6

    def test_keep_the_reviews_that_are_whole_and_run_only_the_rest_again(self, sweeper):
        sweeper.executor.answers = [failing(OVERLOADED, only=(1,))]

        answer = sweeper.sweep(retry=THREE_RUNS)

        assert (answer.jobs["in-part"], answer.jobs["completed"]) == (1, 3)
        assert (answer.jobs["failed"], answer.failures) == (0, [])
        assert (answer.pairs["pass"], answer.pairs["missing"]) == (6, 0)
        rest = ReviewJob.objects.get(pk=4)
        assert [pair.note.path for pair in rest.pairs.all()] == ["kb/notes/a.md"]
        assert ReviewPair.objects.filter(status="completed").count() == 6

    def test_that_leave_reviews_each_do_not_end_the_sweep_as_failing(self, sweeper, root):
        for number in range(9):
            write_note(root, f"n{number}.md", f"# n{number}\n")
        sweeper.executor.answers = [failing(OVERLOADED, only=(1,))] * 12

        answer = sweeper.sweep(retry=THREE_RUNS)

        assert (answer.stopped, answer.pairs["pass"]) == (None, 24)

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            pytest.param(failing(BROKEN), "runner-error", id="no-text"),
            pytest.param(says(b""), "no-output", id="empty"),
            pytest.param(says(b"  \n\t\n"), "no-output", id="blank"),
            pytest.param(says(b"Sorry, I can't help with that.\n"), "no-output", id="apology"),
        ],
    )
    def test_without_a_review_leave_the_pairs_missing_and_stale(self, sweeper, answer, code):
        sweeper.executor.answers = [answer]

        sweeper.sweep(max_jobs=1)

        job = ReviewJob.objects.get(pk=1)
        assert (job.status, job.failure_code) == ("failed", code)
        assert set(job.pairs.values_list("status", flat=True)) == {"missing"}

    def test_that_are_cut_off_in_their_first_block_say_so_of_each_pair(self, sweeper):
        sweeper.executor.answers = [
            lambda job_id: RunnerOutcome(text=make_output(job_id, only=(1,)).rpartition(b"===")[0])
        ]

        sweeper.sweep(max_jobs=1)

        job = ReviewJob.objects.get(pk=1)
        assert job.failure_code == "pairs-missing"
        assert "max_prompt_tokens" in job.failure_reason
        problems = list(job.pairs.order_by("ordinal").values_list("problem", flat=True))
        assert problems[0].startswith("unclosed: its START on line")
        assert problems[1] == "no block for this pair"

    def test_keep_even_what_is_no_review(self, sweeper):
        sweeper.executor.answers = [says(b"Sorry, I can't help with that.\n")]

        sweeper.sweep(max_jobs=1)

        assert bytes(JobOutput.objects.get().raw) == b"Sorry, I can't help with that.\n"

    def test_of_another_model_are_kept_and_not_accepted(self, sweeper):
        other = {"models": ["gpt-5"], "cost_usd": 1.0}
        sweeper.executor.answers = [
            lambda job_id: RunnerOutcome(text=make_output(job_id), telemetry=other)
        ]

        answer = sweeper.sweep(max_jobs=1)

        assert answer.failures[0].failure_code == "partition-mismatch"
        assert answer.pairs["not-accepted"] == 2

    def test_that_nobody_reviews_are_given_up_after_so_many_jobs(self, sweeper):
        for _ in range(2):
            sweeper.executor.answers = [failing(BROKEN)] * 3
            sweeper.sweep(max_attempts=2)

        answer = sweeper.sweep(max_attempts=2)

        assert answer.skipped == {"too-many-attempts": 6}
        assert answer.jobs["completed"] == 0

    def test_do_not_count_as_tries_when_nobody_judged(self, sweeper):
        for _ in range(3):
            sweeper.executor.answers = [failing(OVERLOADED)] * 3
            sweeper.sweep(max_attempts=2)

        assert sweeper.sweep(max_attempts=2).jobs["completed"] == 3

    def test_an_undecided_review_counts_as_a_try(self, sweeper):
        for _ in range(2):
            sweeper.executor.answers = [
                lambda job_id: RunnerOutcome(text=make_output(job_id, "I cannot say."))
            ] * 3
            sweeper.sweep(max_attempts=2)

        assert sweeper.sweep(max_attempts=2).skipped == {"too-many-attempts": 6}


class TestProcess:
    def test_a_scratch_folder_that_cannot_be_made_concerns_every_job(
        self, root, tmp_path, monkeypatch
    ):
        config = make_config(root)
        make_jobs(root, ("a.md", "prose/x"))
        execution = Executor(
            BUILT_IN["claude-code"],
            Provenance("claude-code", PARTITION),
            timedelta(minutes=1),
            linker=Corpus(config).linker,
            config=config,
        ).prepare(ReviewJob.objects.get())
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

        failure = execution(threading.Event()).failure

        assert failure.concerns_all


class TestStopped:
    def test_the_running_job_keeps_what_it_had_and_the_others_are_put_away(self, sweeper):
        interrupted = RunnerFailure(FailureCode.INTERRUPTED, "interrupted by its parent")
        sweeper.executor.before = lambda job_id: sweeper.stop.set()
        sweeper.executor.answers = [failing(interrupted, only=(1,))]

        answer = sweeper.sweep()

        assert answer.stopped == "interrupted"
        assert answer.pairs["pass"] == 1
        assert answer.jobs["not-started"] == 2
        assert set(ReviewJob.objects.values_list("status", "failure_code")) == {
            ("failed", "interrupted")
        }
        assert not ReviewPair.objects.filter(status="pending").exists()

    def test_in_a_pause_the_job_says_what_it_waited_for(self, sweeper):
        sweeper.executor.answers = [failing(OVERLOADED)]
        sweeper.executor.before = lambda job_id: sweeper.stop.set()

        sweeper.sweep(retry=THREE_RUNS)

        job = ReviewJob.objects.get(pk=1)
        assert job.failure_code == "interrupted"
        assert "overloaded" in job.failure_reason

    def test_a_fault_of_ours_is_raised_and_loses_nothing(self, sweeper):
        def crash(job_id):
            raise ZeroDivisionError

        sweeper.executor.answers = [passes, crash]

        with pytest.raises(ZeroDivisionError):
            sweeper.sweep()

        assert ReviewJob.objects.filter(status=JobStatus.COMPLETED).count() == 1
        assert ReviewJob.objects.filter(status=JobStatus.RUNNING).count() == 1
