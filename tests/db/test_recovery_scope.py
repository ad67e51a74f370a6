"""Which jobs a recovery takes: never one whose parent is alive."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import ReviewJob
from review.recovery.recover import RecoveryAction
from review.vocabulary import JobStatus, PairStatus
from tests.builders import NOW, make_jobs
from tests.helpers.running import (
    HOST,
    HOURS,
    LATER,
    FakeProcesses,
    pair_statuses,
    queue_job,
    recover_jobs,
    start,
    status,
    two_by_two,
    write_output,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path):
    return two_by_two(tmp_path)


@pytest.fixture
def job_id(root) -> int:
    """A job of two pairs that has been running for five hours."""
    return start(queue_job(root))


class TestWhichJobs:
    def test_all_abandoned_ones_when_none_is_named(self, root):
        old, young = (
            job.review_job_id for job in make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        )
        start(old, at=NOW)
        start(young, at=LATER - HOURS)

        answer = recover_jobs(root, "fail")

        assert [item.review_job_id for item in answer.done] == [old]
        assert status(young) == JobStatus.RUNNING

    def test_the_limit_itself_is_not_too_long(self, root, job_id):
        assert recover_jobs(root, "fail", now=NOW + 2 * HOURS).done == []
        assert recover_jobs(root, "fail", now=NOW + 2 * HOURS + timedelta(seconds=1)).done

    def test_a_named_one_although_it_is_young(self, root, job_id):
        assert recover_jobs(root, "fail", job_id, now=NOW + timedelta(seconds=1)).done

    def test_one_refusal_holds_up_no_other(self, root, job_id):
        answer = recover_jobs(root, "fail", 4711, job_id)

        assert [item.review_job_id for item in answer.done] == [job_id]
        assert [(item.review_job_id, item.code) for item in answer.refused] == [
            (4711, "unknown-job")
        ]

    def test_a_job_that_is_named_twice_is_recovered_once(self, root, job_id):
        answer = recover_jobs(root, "fail", job_id, job_id)

        assert (len(answer.done), answer.refused) == (1, [])

    @pytest.mark.parametrize("action", list(RecoveryAction))
    def test_a_dry_run_moves_nothing(self, root, job_id, action):
        write_output(root, job_id)

        answer = recover_jobs(root, action, dry_run=True)

        assert answer.dry_run
        assert [item.review_job_id for item in answer.done] == [job_id]
        assert status(job_id) == JobStatus.RUNNING
        assert ReviewJob.objects.count() == 1


class TestParents:
    @pytest.mark.parametrize("action", list(RecoveryAction))
    @pytest.mark.parametrize("named", [False, True])
    def test_a_job_whose_parent_is_alive_is_never_touched(self, root, job_id, action, named):
        start(job_id, parent=77)
        write_output(root, job_id)
        processes = FakeProcesses(alive={77})

        answer = recover_jobs(root, action, *([job_id] if named else []), processes=processes)

        assert answer.done == []
        assert [item.code for item in answer.refused] == (["parent-alive"] if named else [])
        assert status(job_id) == JobStatus.RUNNING
        assert pair_statuses(job_id) == [PairStatus.PENDING] * 2

    def test_a_job_whose_parent_here_is_gone_is_abandoned_at_once(self, root, job_id):
        start(job_id, parent=77)

        answer = recover_jobs(root, "replace", now=NOW + timedelta(seconds=1))

        assert len(answer.done) == 1

    @pytest.mark.parametrize("alive", [set(), {77}])
    def test_of_a_parent_elsewhere_only_the_time_tells(self, root, job_id, alive):
        start(job_id, parent=77, host=f"not-{HOST}")
        processes = FakeProcesses(alive=alive)

        assert recover_jobs(root, "fail", processes=processes, now=NOW + HOURS).done == []
        assert recover_jobs(root, "fail", processes=processes, now=LATER).done

    def test_the_start_time_is_asked_for_too(self, root, job_id):
        start(job_id, parent=77)
        asked = []

        class Processes(FakeProcesses):
            def is_alive(self, pid, *, started_at):
                asked.append((pid, started_at))
                return True

        recover_jobs(root, "fail", processes=Processes())

        assert asked == [(77, NOW)]
