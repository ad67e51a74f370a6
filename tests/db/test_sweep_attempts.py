"""What counts as an attempt at a pair, and what a sweep waits for."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from review.models import ReviewJob
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.sweeps.run_job import RetryPolicy
from review.vocabulary import FailureCode
from tests.builders import NOW, PARTITION, make_gate, make_output, make_root
from tests.helpers.held_worker import BROKEN, GATES, Sweeper, failing

pytestmark = pytest.mark.django_db

SILENT = RunnerFailure(FailureCode.RUNNER_ERROR, "it broke", is_attempt=False)
LOGGED_OUT = RunnerFailure(
    FailureCode.RUNNER_ERROR,
    "your refresh token was already used",
    unusable=True,
    is_attempt=False,
)
MISREAD = RunnerFailure(
    FailureCode.NO_OUTPUT,
    "the model saw no request: I don't see a request.",
    retryable=True,
    misread=True,
    is_attempt=False,
)
RESETS = RunnerFailure(
    FailureCode.ACCOUNT_EXHAUSTED,
    f"out of extra usage · resets at {(NOW + timedelta(hours=4)).isoformat()}",
    retryable=True,
    exhausted=True,
    is_attempt=False,
)


class Waits(threading.Event):
    """An event that nobody waits for: it keeps how long they would have."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    def wait(self, timeout=None):
        self.pauses.append(timeout)
        return self.is_set()


@pytest.fixture
def sweeper(tmp_path):
    notes = {name: f"# {name}\n\nText of {name}.\n" for name in ("a.md", "b.md", "c.md")}
    root = make_root(tmp_path, notes=notes, gates={name: make_gate(name) for name in GATES})
    return Sweeper(root, stop=Waits())


class TestAttempts:
    @pytest.mark.parametrize("failure", [SILENT, LOGGED_OUT, MISREAD], ids=lambda f: f.reason)
    def test_are_none_where_no_model_had_answered(self, sweeper, failure):
        for _ in range(3):
            sweeper.executor.answers = [failing(failure)] * 6
            sweeper.sweep(max_attempts=1)
        sweeper.executor.answers = []

        answer = sweeper.sweep(max_attempts=1)

        assert answer.skipped == {}
        assert answer.jobs["completed"] == 3

    def test_are_counted_by_what_the_job_keeps(self, sweeper):
        sweeper.executor.answers = [failing(SILENT, telemetry={"cost_usd": 0}), failing(BROKEN)]
        sweeper.sweep()

        kept = list(ReviewJob.objects.order_by("pk").values_list("telemetry", flat=True))
        assert kept[:2] == [{"cost_usd": 0, "model_answered": False}, None]

    @pytest.mark.parametrize("telemetry", [None, {}, {"duration_seconds": 1.0}])
    def test_are_those_of_whom_nothing_else_is_known(self, sweeper, telemetry):
        sweeper.executor.answers = [failing(BROKEN, telemetry=telemetry)] * 3
        sweeper.sweep()

        assert sweeper.sweep(max_attempts=1).skipped == {"too-many-attempts": 6}

    def test_one_run_that_was_answered_is_enough(self, sweeper):
        again = RunnerFailure(FailureCode.RUNNER_ERROR, "cut", retryable=True)
        sweeper.executor.answers = [failing(again), failing(SILENT)]

        sweeper.sweep(retry=RetryPolicy(runs=2, first_pause=timedelta(0)), max_jobs=1)

        assert sweeper.sweep(max_attempts=1).skipped == {"too-many-attempts": 2}

    def test_what_saw_no_request_is_run_once_more(self, sweeper):
        sweeper.executor.answers = [failing(MISREAD)]

        answer = sweeper.sweep()

        assert sweeper.executor.runs == [1, 1, 2, 3]
        assert answer.jobs["completed"] == 3

    def test_a_login_that_fails_ends_the_sweep_at_the_first_job(self, sweeper):
        sweeper.executor.answers = [failing(LOGGED_OUT)]

        answer = sweeper.sweep()

        assert answer.stopped == "runner-unusable"
        assert sweeper.executor.runs == [1]


class TestReset:
    def test_is_waited_for_and_the_sweep_goes_on(self, sweeper):
        sweeper.executor.answers = [failing(RESETS)]

        answer = sweeper.sweep(retry=RetryPolicy(runs=1, wait_for_reset=True))

        (pause,) = sweeper.stop.pauses
        assert timedelta(hours=3) - timedelta(minutes=2) < timedelta(seconds=pause)
        assert timedelta(seconds=pause) < timedelta(hours=3, minutes=2)
        assert (answer.stopped, answer.jobs["completed"]) == (None, 3)
        assert sweeper.listener.names().count("run-again") == 1

    def test_without_waiting_the_answer_says_when_to_come_back(self, sweeper):
        sweeper.executor.answers = [failing(RESETS)]

        answer = sweeper.sweep()

        assert answer.stopped == "account-exhausted"
        assert answer.resets_at.startswith((NOW + timedelta(hours=4)).isoformat()[:16])
        assert sweeper.executor.runs == [1]

    def test_reviews_that_were_whole_by_then_are_kept(self, sweeper):
        sweeper.executor.answers = [failing(RESETS, only=(1,)), failing(RESETS)]

        answer = sweeper.sweep(retry=RetryPolicy(runs=1, wait_for_reset=True))

        assert answer.stopped is None
        assert (answer.pairs["pass"], answer.jobs["in-part"]) == (6, 1)


class TestWriters:
    def ran(self, sweeper, *, own, other):
        usage = {PARTITION: {"output_tokens": own}, "gemini-2.5-flash": {"output_tokens": other}}
        telemetry = {"models": list(usage), "models_usage": usage}
        sweeper.executor.answers = [
            lambda job_id: RunnerOutcome(text=make_output(job_id), telemetry=telemetry)
        ]
        return sweeper.sweep(max_jobs=1)

    @pytest.mark.parametrize(
        ("own", "other"),
        [
            pytest.param(0, 500, id="errors-of-the-wanted-model"),
            pytest.param(1, 99, id="hardly-anything"),
            pytest.param(50, 50, id="half"),
        ],
    )
    def test_another_model_that_wrote_half_makes_it_evidence_only(self, sweeper, own, other):
        answer = self.ran(sweeper, own=own, other=other)

        assert answer.failures[0].failure_code == "partition-mismatch"
        assert answer.pairs["not-accepted"] == 2

    def test_a_smaller_share_is_accepted(self, sweeper):
        answer = self.ran(sweeper, own=60, other=40)

        assert (answer.jobs["completed"], answer.pairs["not-accepted"]) == (1, 0)
