"""When a sweep may start another job, and when a run that failed is tried again."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from review.protocol.telemetry import Usage
from review.runners.outcome import RunnerFailure
from review.sweeps.limits import Limits, StopPolicy, StopReason
from review.sweeps.run_job import RetryPolicy
from review.vocabulary import FailureCode

OVERLOADED = RunnerFailure(FailureCode.RATE_LIMITED, "overloaded", retryable=True)
EXHAUSTED = RunnerFailure(
    FailureCode.ACCOUNT_EXHAUSTED, "hit your limit", retryable=True, exhausted=True
)
UNUSABLE = RunnerFailure(FailureCode.RUNNER_ERROR, "unknown option", unusable=True)
BROKEN = RunnerFailure(FailureCode.RUNNER_ERROR, "it broke")


def policy(*, slots=4, expected=None, **limits):
    return StopPolicy(
        limits=Limits(max_attempts=3, **limits),
        stop=threading.Event(),
        slots=slots,
        expected_cost=expected,
    )


def run(held, *, cost=None, failure=None, code=None):
    """A job that ended: completed, or failed for `failure` or with `code`."""
    code = code or (failure.code if failure else None)
    held.note(Usage(cost_usd=cost), failure=failure, code=code, reason="why" if code else "")


class TestCost:
    def test_while_nothing_is_known_of_it_jobs_run_one_by_one(self):
        held = policy(max_cost_usd=5)

        assert held.may_start(0)
        assert not held.may_start(1)
        assert held.reason is None

    def test_as_many_run_at_once_as_what_is_left_allows(self):
        held = policy(max_cost_usd=5)
        run(held, cost=2.0)

        assert held.may_start(0)
        assert not held.may_start(1)

    def test_many_workers_stay_within_it_though_some_jobs_cost_much_more(self):
        held = policy(slots=16, max_cost_usd=20)
        costs, under_way, spent = iter([0.2, 1.0, *([0.1] * 30), *([1.0] * 99)]), [], 0.0

        while held.reason is None:
            while len(under_way) < 16 and held.may_start(len(under_way)):
                under_way.append(next(costs))
            if under_way:
                cost = under_way.pop(0)
                spent += cost
                run(held, cost=cost)

        assert 19 <= spent <= 20

    def test_past_jobs_tell_what_the_first_ones_may_cost(self):
        held = policy(max_cost_usd=5, expected=1.0)

        assert held.may_start(3)
        assert not held.may_start(5)

    def test_the_sweep_ends_when_one_more_would_be_too_dear(self):
        held = policy(max_cost_usd=5)
        for _ in range(2):
            run(held, cost=2.0)

        assert not held.may_start(0)
        assert held.reason is StopReason.MAX_COST

    def test_a_job_that_does_not_say_is_taken_for_as_dear_as_the_others(self):
        held = policy(max_cost_usd=5)
        run(held, cost=2.0)
        run(held, failure=BROKEN)

        assert not held.may_start(0)
        assert held.reason is StopReason.MAX_COST

    def test_a_success_that_does_not_say_ends_a_sweep_with_a_limit(self):
        held = policy(max_cost_usd=5)
        run(held)

        assert held.reason is StopReason.COST_UNKNOWN

    def test_failures_that_do_not_say_end_it_only_when_there_are_several(self):
        held = policy(max_cost_usd=5)
        run(held, failure=BROKEN)
        assert held.may_start(0)
        run(held, failure=BROKEN)
        run(held, failure=BROKEN)

        assert held.reason is StopReason.COST_UNKNOWN

    def test_without_a_limit_it_does_not_matter(self):
        held = policy()
        run(held)

        assert held.may_start(3)


class TestOtherReasons:
    @pytest.mark.parametrize(
        ("failure", "reason"),
        [
            pytest.param(EXHAUSTED, StopReason.ACCOUNT_EXHAUSTED, id="account"),
            pytest.param(UNUSABLE, StopReason.RUNNER_UNUSABLE, id="runner"),
        ],
    )
    def test_what_concerns_every_job_ends_the_sweep_at_once(self, failure, reason):
        held = policy()
        run(held, failure=failure)

        assert (held.reason, held.because) == (reason, failure.reason)
        assert not held.may_start(0)

    def test_one_job_of_another_model_may_be_an_accident_and_two_in_a_row_are_none(self):
        held = policy()
        run(held, code=FailureCode.PARTITION_MISMATCH)
        run(held)
        run(held, code=FailureCode.PARTITION_MISMATCH)
        assert held.reason is None
        run(held, code=FailureCode.PARTITION_MISMATCH)

        assert held.reason is StopReason.PARTITION_MISMATCH

    def test_failures_alike_from_the_start_end_it(self):
        held = policy()
        for _ in range(10):
            assert held.reason is None
            run(held, failure=BROKEN)

        assert held.reason is StopReason.FAILING

    @pytest.mark.parametrize(
        ("words", "ends"),
        [
            pytest.param(["Bitte melden Sie sich an (request {})"] * 3, True, id="three-alike"),
            pytest.param(["a {}", "b {}", "a {}"], False, id="other-words"),
            pytest.param(["Prompt is too long: {} tokens"] * 3, False, id="of-its-prompt"),
        ],
    )
    def test_words_that_no_model_said_end_it_wherever_they_begin(self, words, ends):
        held = policy()
        run(held)
        for number, said in enumerate(words):
            run(held, failure=replace(BROKEN, reason=said.format(number), is_attempt=False))

        assert held.reason is (StopReason.FAILING if ends else None)

    @pytest.mark.parametrize(
        "before",
        [
            pytest.param(None, id="after-a-success"),
            pytest.param(FailureCode.PAIRS_MISSING, id="not-all-alike"),
        ],
    )
    def test_failures_among_others_do_not(self, before):
        held = policy()
        run(held, code=before)
        for _ in range(30):
            run(held, failure=BROKEN)

        assert held.reason is None

    def test_the_number_of_jobs_counts_those_under_way(self):
        held = policy(max_jobs=2)

        assert held.may_start(1)
        assert not held.may_start(2)
        run(held)
        assert not held.may_start(1)
        run(held)
        assert not held.may_start(0)
        assert held.reason is StopReason.MAX_JOBS

    def test_the_first_reason_stands(self):
        held = policy()
        run(held, failure=EXHAUSTED)
        held.stop.set()
        held.may_start(0)

        assert held.reason is StopReason.ACCOUNT_EXHAUSTED


NOW = datetime(2026, 11, 28, 19, 30, tzinfo=UTC)
RESETS = replace(EXHAUSTED, reason="out of extra usage · resets 9pm (UTC)")
MISREAD = RunnerFailure(FailureCode.NO_OUTPUT, "saw no request", retryable=True, misread=True)


class TestRetries:
    policy = RetryPolicy(runs=4, first_pause=timedelta(seconds=10))

    def test_pauses_grow(self):
        pauses = [self.policy.pause_after([OVERLOADED] * runs, now=NOW) for runs in (1, 2, 3)]

        assert [pause.total_seconds() for pause in pauses] == [10, 30, 90]

    def test_no_pause_is_longer_than_the_longest(self):
        policy = RetryPolicy(runs=99)

        assert policy.pause_after([OVERLOADED] * 90, now=NOW) == policy.longest_pause

    def test_end_with_the_runs_that_are_allowed(self):
        assert self.policy.pause_after([OVERLOADED] * 4, now=NOW) is None

    @pytest.mark.parametrize("failure", [BROKEN, RESETS, UNUSABLE], ids=lambda f: f.reason)
    def test_there_are_none_of_what_would_fail_again(self, failure):
        assert self.policy.pause_after([failure], now=NOW) is None

    def test_what_saw_no_request_is_tried_once_more_whatever_is_allowed(self):
        policy = RetryPolicy(runs=1, first_pause=timedelta(seconds=10))

        assert policy.pause_after([MISREAD], now=NOW) == timedelta(seconds=10)
        assert policy.pause_after([MISREAD, MISREAD], now=NOW) is None

    def test_last_as_long_as_the_service_says(self):
        limited = replace(OVERLOADED, reason="Rate limit reached, try again in 90 s")

        assert self.policy.pause_after([limited], now=NOW) == timedelta(seconds=91)

    @pytest.mark.parametrize(
        ("reason", "over"),
        [("try again in 2 hours", True), ("try again in 20 s", False), ("too many", False)],
    )
    def test_give_way_to_a_limit_that_lasts_longer(self, reason, over):
        assert self.policy.is_over(replace(OVERLOADED, reason=reason), now=NOW) is over


class TestWaitForReset:
    policy = RetryPolicy(runs=1, wait_for_reset=True)

    def test_pauses_until_the_time_that_is_told(self):
        assert self.policy.pause_after([RESETS], now=NOW) == timedelta(hours=1, minutes=31)

    def test_goes_on_at_once_where_it_has_just_passed(self):
        later = NOW.replace(hour=21, minute=2)

        assert self.policy.pause_after([RESETS], now=later) == timedelta(minutes=1)

    def test_does_not_wait_for_a_time_that_nobody_told(self):
        assert self.policy.pause_after([EXHAUSTED], now=NOW) is None

    def test_a_wait_is_no_run(self):
        policy = replace(self.policy, runs=2, first_pause=timedelta(seconds=10))

        assert policy.pause_after([RESETS, RESETS, OVERLOADED], now=NOW) == timedelta(seconds=10)
