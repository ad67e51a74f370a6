"""Sweeps in one process, with a worker that the test holds: what is made, run, kept and counted."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from review.corpus import Corpus
from review.domain.parents import Parent
from review.models import JobOutput, Provenance, ReviewJob, ReviewPair
from review.orchestration.dispatching import SerialDispatcher
from review.orchestration.failing import FailRequest, fail_job
from review.orchestration.ingest_request import JobMoved, RunFailed
from review.orchestration.mirroring import finish_mirrors
from review.orchestration.retries import RetryPolicy
from review.orchestration.running import Worker
from review.orchestration.sweep_request import Limits, SweepRequest
from review.orchestration.sweep_surroundings import Surroundings
from review.orchestration.sweeping import sweep
from review.queries.targets import SelectionRequest
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.vocabulary import FailureCode, Grouping, JobStatus
from tests.builders import (
    NOW,
    PARTITION,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    write_gate,
    write_note,
)
from tests.helpers.running import FakeProcesses, start

pytestmark = pytest.mark.django_db

GATES = ("prose/x", "prose/y")
BROKEN = RunnerFailure(FailureCode.RUNNER_ERROR, "it broke")
OVERLOADED = RunnerFailure(FailureCode.RATE_LIMITED, "overloaded", retryable=True)
TIMEOUT = RunnerFailure(FailureCode.RUNNER_TIMEOUT, "not done within 9 seconds")


@dataclass
class FakeExecutor:
    """Answers each run as the test says: by default with a review that passes."""

    answers: list[Callable[[int], RunnerOutcome]] = field(default_factory=list)
    before: Callable[[int], None] = lambda job_id: None
    runs: list[int] = field(default_factory=list)
    in_process: bool = True

    def prepare(self, job):
        return FakeExecution(self, job.pk)


@dataclass
class FakeExecution:
    executor: FakeExecutor
    job_id: int

    def run(self, number, *, stop):
        executor = self.executor
        executor.before(self.job_id)
        executor.runs.append(self.job_id)
        answer = executor.answers.pop(0) if executor.answers else passes
        return answer(self.job_id)

    def forget(self, number):
        pass


def passes(job_id):
    return RunnerOutcome(text=make_output(job_id), telemetry={"cost_usd": 0.25})


def failing(failure, *, only=(), telemetry=None):
    """A run that fails, with the blocks of `only` there before."""

    def answer(job_id):
        text = make_output(job_id, only=only) if only else None
        return RunnerOutcome(text=text, failure=failure, telemetry=telemetry)

    return answer


def says(data):
    return lambda job_id: RunnerOutcome(text=data, telemetry={})


class Listener:
    """Keeps what a sweep tells."""

    def __init__(self):
        self.events = []

    def tell(self, event, tally):
        self.events.append(event)

    def names(self):
        return [event.name for event in self.events]


@dataclass
class Sweeper:
    """A knowledge base to sweep, with everything that a test may want to hold."""

    root: object
    executor: FakeExecutor = field(default_factory=FakeExecutor)
    listener: Listener = field(default_factory=Listener)
    stop: threading.Event = field(default_factory=threading.Event)
    processes: FakeProcesses = field(default_factory=lambda: FakeProcesses(alive=(os.getpid(),)))

    def sweep(self, *, runs=1, mode="stale", grouping=Grouping.NOTE, **limits):
        config = make_config(self.root)
        clock = ticking()
        worker = Worker(
            executor=self.executor,
            actor="sweep:here:1",
            parent=Parent(self.processes.host, os.getpid(), NOW),
            provenance=Provenance("fake", PARTITION),
            retry=RetryPolicy(runs=runs, first_pause=timedelta(0)),
            config=config,
            clock=clock,
        )
        request = SweepRequest(
            selection=SelectionRequest(all_gates=True, model_partition=PARTITION, mode=mode),
            grouping=grouping,
            limits=Limits(**({"max_attempts": 3} | limits)),
        )
        return sweep(
            request,
            corpus=Corpus(config),
            dispatcher=SerialDispatcher(worker, stop=self.stop),
            provenance=worker.provenance,
            around=Surroundings(
                config, self.processes, self.listener, "sweep:here:1", self.stop, clock
            ),
        )


def ticking():
    """A clock that goes on by a second each time it is read."""
    ticks = iter(range(1, 10**9))
    return lambda: NOW + timedelta(hours=1, seconds=next(ticks))


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

        answer = sweeper.sweep(runs=3)

        assert answer.jobs["completed"] == 3
        assert sweeper.executor.runs[:3] == [1, 1, 1]
        telemetry = ReviewJob.objects.get(pk=1).telemetry
        assert telemetry == {"cost_usd": 0.35, "runs": 3, "runs_without_cost": 1}
        assert answer.cost.jobs_without_cost == 1

    def test_keep_the_best_of_several_answers(self, sweeper):
        sweeper.executor.answers = [
            failing(OVERLOADED, only=(1, 2)),
            failing(OVERLOADED, only=(1,)),
            failing(OVERLOADED),
        ]

        sweeper.sweep(runs=3)

        job = ReviewJob.objects.get(pk=1)
        assert (job.status, job.failure_code) == ("failed", "rate-limited")
        assert set(job.pairs.values_list("status", flat=True)) == {"completed"}

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
        sweeper.listener.tell = lambda event, tally: None
        sweeper.executor.before = lambda job_id: sweeper.stop.set()

        sweeper.sweep(runs=3)

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


class TestOthers:
    def test_a_job_that_another_parent_takes_meanwhile_is_left_to_it(self, sweeper):
        sweeper.executor.before = lambda job_id: start(2) if job_id == 1 else None

        answer = sweeper.sweep()

        assert answer.jobs["completed"] == 2
        assert answer.jobs["taken"] == 1
        assert answer.skipped == {"already-queued": 2}
        assert ReviewJob.objects.get(pk=2).claimed_by == "agent:gone"

    def test_what_another_parent_failed_at_meanwhile_is_looked_at_once_more(self, sweeper, root):
        def somebody_else_fails(job_id):
            if job_id == 1:
                start(2)
            elif job_id == 3:
                fail(root, 2, leaving=JobStatus.RUNNING)

        sweeper.executor.before = somebody_else_fails

        answer = sweeper.sweep()

        assert answer.jobs["completed"] == 3
        assert answer.skipped == {}

    def test_what_another_sweep_reviewed_meanwhile_is_not_asked_for_again(self, sweeper, root):
        """The jobs of the first notes were made before, and those of the last were not."""
        for number in range(9):
            write_note(root, f"n{number}.md", f"# Note {number}\n")
        other = Sweeper(root)
        sweeper.executor.before = lambda job_id: other.sweep() if job_id == 1 else None

        answer = sweeper.sweep()

        assert sweeper.executor.runs == [1]
        assert answer.jobs["taken"] == 9
        assert answer.skipped == {"fresh": 22}
        assert ReviewPair.objects.filter(status="completed").count() == 24

    def test_a_queued_job_of_somebody_is_run_for_its_pairs(self, sweeper, root):
        make_jobs(root, ("b.md", "prose/x"), ("b.md", "prose/y"))

        answer = sweeper.sweep()

        assert answer.jobs["completed"] == 3
        assert sorted(sweeper.executor.runs) == [1, 2, 3]

    def test_a_queued_job_of_an_older_text_is_replaced_before_it_is_run(self, sweeper, root):
        make_jobs(root, ("b.md", "prose/x"), ("b.md", "prose/y"))
        write_note(root, "b.md", "# b\n\nNew text.\n")

        answer = sweeper.sweep()

        assert answer.jobs["completed"] == 3
        assert ReviewJob.objects.get(pk=1).failure_code == "replaced"
        assert 1 not in sweeper.executor.runs
        assert sweeper.sweep().targets == 0


class TestDeadParents:
    def test_a_job_without_a_run_is_failed_and_its_pairs_are_reviewed(self, sweeper, root):
        make_jobs(root, ("a.md", "prose/x"))
        start(1, parent=77)

        answer = sweeper.sweep()

        (salvaged,) = answer.salvaged
        assert (salvaged.review_job_id, salvaged.failure_code) == (1, "interrupted")
        assert "process 77" in ReviewJob.objects.get(pk=1).failure_reason
        assert answer.pairs["pass"] == 6

    def test_an_output_that_is_there_is_taken_in(self, sweeper, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        start(1, parent=77)
        (root / job.bundle_output_path).write_bytes(make_output(1))

        answer = sweeper.sweep()

        assert [(item.status, item.pairs_kept) for item in answer.salvaged] == [("completed", 1)]
        assert 1 not in sweeper.executor.runs

    @pytest.mark.parametrize(
        ("parent", "host"),
        [
            pytest.param(88, None, id="alive"),
            pytest.param(77, "elsewhere", id="another-host"),
            pytest.param(None, None, id="no-parent-named"),
        ],
    )
    def test_a_job_whose_parent_may_be_there_is_never_touched(self, sweeper, root, parent, host):
        sweeper.processes = FakeProcesses(alive=(88,))
        make_jobs(root, ("a.md", "prose/x"))
        start(1, parent=parent, **({"host": host} if host else {}))

        answer = sweeper.sweep()

        assert answer.salvaged == []
        assert ReviewJob.objects.get(pk=1).status == JobStatus.RUNNING
        assert answer.skipped == {"already-queued": 1}

    def test_files_that_it_could_not_write_any_more_are_written(self, sweeper, root):
        sweeper.sweep()
        folder = root / "kb/reports/bundle-reviews/review-job-1"
        manifest = folder / "MANIFEST.json"
        manifest.write_text(manifest.read_text().replace('"completed"', '"queued"'))
        for result in folder.glob("pair-*"):
            result.unlink()

        mended = finish_mirrors(config=make_config(root))

        assert mended == [1]
        assert len(list(folder.glob("pair-*"))) == 2
        assert finish_mirrors(config=make_config(root)) == []


class TestFailing:
    def test_moves_only_a_job_that_is_still_where_it_was(self, root):
        make_jobs(root, ("a.md", "prose/x"))

        with pytest.raises(JobMoved):
            fail(root, 1, leaving=JobStatus.RUNNING)

        assert ReviewJob.objects.get(pk=1).status == JobStatus.QUEUED


def fail(root, job_id, *, leaving):
    request = FailRequest(
        failure=RunFailed(FailureCode.RUNNER_ERROR, "it broke"), actor="agent:x", leaving=leaving
    )
    return fail_job(job_id, request=request, config=make_config(root), now=NOW)
