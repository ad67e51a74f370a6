"""Leases of jobs: extended while a worker lives, taken over when one ran out, late results refused."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from queue import SimpleQueue

import pytest
from django.db import DatabaseError

from review.errors import ReviewError
from review.jobs.leases import JobNotClaimable, LeaseLost, forgotten_jobs, new_lease
from review.models import DatabaseClock, Parent, Provenance, ReviewJob
from review.recovery.close import Closing, move_to_failed
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.sweeps import run_job as running_module
from review.sweeps.run_job import JobStop, Leases, RetryPolicy, Worker, run_job, take_job
from review.vocabulary import FailureCode, JobNote
from tests.builders import NOW, PARTITION, make_config
from tests.helpers.held_worker import FakeExecutor, passes
from tests.helpers.jobs import AX, queued
from tests.helpers.running import FakeProcesses, queue_job, recover_jobs, status, two_by_two

pytestmark = pytest.mark.django_db
LEASE = timedelta(minutes=1)
AY, BX, BY = ("a.md", "prose/y"), ("b.md", "prose/x"), ("b.md", "prose/y")


@pytest.fixture
def root(tmp_path):
    return two_by_two(tmp_path)


def worker(root, *, host, executor=None, alive=(), hands_on=False):
    """A worker of process 1 of a host; the others of its host are there that are in `alive`."""
    return Worker(
        prepare=(executor or FakeExecutor()).prepare,
        in_process=True,
        slots=1,
        actor=f"sweep:{host}:1",
        parent=Parent(host, 1, NOW),
        provenance=Provenance("fake", PARTITION),
        retry=RetryPolicy(runs=1),
        config=make_config(root),
        clock=lambda: NOW,
        stop=threading.Event(),
        hands_on=hands_on,
        processes=FakeProcesses(alive=alive, host=host),
    )


def expire(job_id):
    ReviewJob.objects.filter(pk=job_id).update(leased_until=DatabaseClock() - timedelta(seconds=1))


def run(job_id, by):
    return run_job(job_id, worker=by, on_update=lambda _update: None)


def take(job_id, by):
    return take_job(job_id, new_lease(LEASE), worker=by)


class TestAnotherHost:
    def test_leaves_a_job_to_its_worker_while_the_lease_lasts(self, root):
        job_id = queue_job(root)
        take(job_id, worker(root, host="a"))

        with pytest.raises(JobNotClaimable):
            run(job_id, worker(root, host="b"))

    def test_completes_a_job_whose_lease_ran_out_and_the_late_result_is_refused(self, root):
        job_id, late = queue_job(root), worker(root, host="a")
        taken = take(job_id, late)
        expire(job_id)

        done = run(job_id, worker(root, host="b"))
        with pytest.raises(
            LeaseLost, match=f"lease of job {job_id} ran out: it is taken over by sweep:b:1"
        ):
            run_job(taken, worker=late, on_update=lambda _update: None)

        job = ReviewJob.objects.get(pk=job_id)
        assert (done.document.status, job.claimed_by, job.leased_until) == (
            "completed",
            "sweep:b:1",
            None,
        )
        assert list(job.events.values_list("note", flat=True)) == [
            "created", "claimed", JobNote.TAKEN_OVER, "ingested",
        ]  # fmt: skip

    def test_does_not_take_over_what_was_extended_meanwhile(self, root):
        job_id = queue_job(root)
        lease = take(job_id, worker(root, host="a")).lease
        expire(job_id)
        other = worker(root, host="b")
        extended = replace(
            other,
            prepare=lambda job: ReviewJob.objects.extend({lease.token: job.pk}, lease.length),
        )

        with pytest.raises(JobNotClaimable):
            run(job_id, extended)

    def test_no_transition_is_open_to_a_lost_lease(self, root):
        job_id = queue_job(root)
        lease = take(job_id, worker(root, host="a")).lease
        expire(job_id)
        take(job_id, worker(root, host="b"))
        failed = RunnerFailure(FailureCode.RUNNER_ERROR, "it broke")

        with pytest.raises(ReviewError, match="moved by another process"):
            move_to_failed(
                ReviewJob.objects.get(pk=job_id), failed, actor="sweep:a:1", lease=lease, now=NOW
            )


class TestTheSameHost:
    def test_takes_over_at_once_from_a_process_that_is_gone(self, root):
        job_id = queue_job(root)
        take(job_id, worker(root, host="a"))

        assert run(job_id, worker(root, host="a")).document.status == "completed"

    def test_leaves_a_job_to_a_process_that_is_there(self, root):
        job_id = queue_job(root)
        take(job_id, worker(root, host="a"))

        with pytest.raises(JobNotClaimable):
            run(job_id, worker(root, host="a", alive=[1]))


class TestAJobThatEndsItsWorkers:
    def test_is_given_up_after_five(self, root):
        job_id = queue_job(root)
        for _ in range(6):
            take(job_id, worker(root, host="a"))

        ended = run(job_id, worker(root, host="a"))

        assert ended.document.failure_code == FailureCode.INTERRUPTED
        assert "6 workers were" in ended.document.failure_reason


class TestAWorkerThatIsStopped:
    def test_hands_a_job_on_that_has_no_review_yet(self, root):
        job_id = queue_job(root)
        executor = FakeExecutor()
        stopped = worker(root, host="a", executor=executor, hands_on=True)
        executor.before = lambda _job_id: stopped.stop.set()
        executor.answers = [interrupted]

        left = run(job_id, stopped)

        assert left.reason == "its worker was stopped"
        assert run(job_id, worker(root, host="b")).document.status == "completed"

    def test_completes_a_job_whose_reviews_were_all_written(self, root):
        executor = FakeExecutor()
        stopped = worker(root, host="a", executor=executor, hands_on=True)
        executor.before = lambda _job_id: stopped.stop.set()
        executor.answers = [
            lambda job_id: replace(passes(job_id), failure=interrupted(job_id).failure)
        ]

        assert run(queue_job(root), stopped).document.status == "completed"


def interrupted(_job_id):
    return RunnerOutcome(failure=RunnerFailure(FailureCode.INTERRUPTED, "stopped"))


class OneBeat(threading.Event):
    """Set after the first time that it was waited for."""

    def wait(self, timeout=None):
        was_set = self.is_set()
        self.set()
        return was_set


class TestBeats:
    def test_extend_what_is_held_and_stop_what_is_lost_or_recalled(self, root, monkeypatch):
        held, lost, recalled = (queued(root, pair) for pair in (AX, AY, BX))
        leases = {
            job_id: take(job_id, worker(root, host="a")).lease for job_id in (held, lost, recalled)
        }
        ReviewJob.objects.filter(pk=recalled).update(leased_until=None)
        ReviewJob.objects.filter(pk=lost).update(claim_token="x")
        expire(held)
        monkeypatch.setattr(running_module.connection, "close", lambda: None)
        stops = {job_id: JobStop(threading.Event()) for job_id in leases}
        tokens = {lease.token: (job_id, stops[job_id]) for job_id, lease in leases.items()}

        Leases(tokens)._beat(LEASE, OneBeat())

        assert [stops[job_id].is_set() for job_id in (held, lost, recalled)] == [False, True, True]
        assert not ReviewJob.objects.lapsed().filter(pk=held).exists()

    def test_go_on_while_one_job_runs_with_one_statement_for_all(self, monkeypatch):
        beats: SimpleQueue[set[str]] = SimpleQueue()

        def extend(_jobs, job_ids, _length):
            beats.put(set(job_ids))
            return set(job_ids)

        monkeypatch.setattr(type(ReviewJob.objects), "extend", extend)
        leases, stop = Leases(), threading.Event()
        long, short = (new_lease(timedelta(seconds=0.04)) for _ in range(2))

        with leases.keep(1, long, stop=stop):
            with leases.keep(2, short, stop=stop):
                while beats.get(timeout=10) != {long.token, short.token}:
                    pass
            while beats.get(timeout=10) != {long.token}:
                pass

        assert leases._ended.is_set()


class TestClosings:
    @pytest.fixture
    def late(self, root):
        return worker(root, host="a")

    def wait(self, late, *closings):
        """As threads that have ended their runs, and wait for the store."""
        for closing in closings:
            if closing.outcome.text is not None:
                late.closings.waiting[closing.job.pk] = closing.request(late.actor)

    def test_ingest_together_what_waits_and_refuse_each_job_for_itself(self, root, late):
        first, other, lost, empty = (closing(root, pair, late) for pair in (AX, AY, BX, BY))
        empty = empty._replace(outcome=RunnerOutcome(text=b"I would rather not."))
        ReviewJob.objects.filter(pk=lost.job.pk).update(claim_token="x")
        self.wait(late, other, lost, empty)

        done = late.closings.close(first, worker=late)

        assert done.status == "completed"
        assert status(other.job.pk) == "completed"
        assert late.closings.close(other, worker=late).pairs[0].decision == "pass"
        assert late.closings.close(empty, worker=late).failure_code == FailureCode.NO_OUTPUT
        with pytest.raises(LeaseLost):
            late.closings.close(lost, worker=late)

    def test_give_the_answer_again_where_the_first_one_was_lost(self, root, late):
        first = closing(root, AX, late)
        told = late.closings.close(first, worker=late)

        assert late.closings.close(first, worker=late) == told

    def test_ingest_alone_what_fails_for_the_sake_of_another(self, root, late, monkeypatch):
        first, other = (closing(root, pair, late) for pair in (AX, AY))
        real = running_module.ingest_each
        monkeypatch.setattr(
            running_module,
            "ingest_each",
            lambda ids, of, **how: real(ids, of, **how) if len(ids) == 1 else broken(),
        )
        self.wait(late, other)

        assert late.closings.close(first, worker=late).status == "completed"
        assert status(other.job.pk) == "running"
        assert late.closings.close(other, worker=late).status == "completed"


def closing(root, pair, by):
    taken = take(queued(root, pair), by)
    return Closing(taken.job, passes(taken.job.pk), taken.lease)


def broken():
    raise DatabaseError


class TestForgotten:
    def test_are_jobs_whose_lease_ran_out_and_those_that_wait_for_long(self, root):
        lapsed, fresh, waiting = (queued(root, pair) for pair in (AX, AY, BX))
        for job_id in (lapsed, fresh):
            take(job_id, worker(root, host="a"))
        expire(lapsed)
        ReviewJob.objects.filter(pk=waiting).update(created_at=NOW - timedelta(days=9999))

        assert forgotten_jobs(PARTITION, queued_for=None) == [lapsed]
        assert forgotten_jobs(PARTITION, queued_for=LEASE) == [lapsed, waiting]


class TestRecovery:
    def test_leaves_a_job_alone_whose_worker_elsewhere_keeps_its_lease(self, root):
        job_id = queue_job(root)
        take(job_id, worker(root, host="elsewhere"))

        refused = recover_jobs(root, "fail", job_id).refused
        expire(job_id)
        done = recover_jobs(root, "fail").done

        assert [item.code for item in refused] == ["parent-alive"]
        assert [item.review_job_id for item in done] == [job_id]
        assert status(job_id) == "failed"
