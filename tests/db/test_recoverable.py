"""The list of what wants recovering says why, and how much of an output is there."""

from __future__ import annotations

import pytest

from review.models import ReviewJob
from review.recovery.recover import list_recoverable
from tests.builders import make_output
from tests.helpers.reviewed import UNDECIDED, ingest, open_corpus, review_pairs
from tests.helpers.running import (
    HOURS,
    LATER,
    NOBODY,
    FakeProcesses,
    queue_job,
    recover_jobs,
    start,
    two_by_two,
    write_output,
)

pytestmark = pytest.mark.django_db
DETAIL = "1 kept, 1 missing: pair 2: unclosed: its START on line 10 has no END"


@pytest.fixture
def root(tmp_path):
    return two_by_two(tmp_path)


@pytest.fixture
def job_id(root) -> int:
    """A queued job of two pairs."""
    return queue_job(root)


def found(root, *, processes=NOBODY, now=LATER):
    return list_recoverable(
        older_than=2 * HOURS, processes=processes, corpus=open_corpus(root), now=now
    )


def cut_off(root, job_id: int) -> None:
    """The worker wrote its first block, and did not close the second."""
    write_output(root, job_id)
    path = root / ReviewJob.objects.get(pk=job_id).bundle_output_path
    lines = path.read_text(encoding="utf-8").rstrip().split("\n")
    path.write_text("\n".join(lines[:-1]), encoding="utf-8")


def ids(entries) -> list[int]:
    return [entry.review_job_id for entry in entries]


class TestAbandoned:
    def test_is_a_job_that_runs_for_too_long(self, root, job_id):
        start(job_id)

        (entry,) = found(root).abandoned

        assert entry.review_job_id == job_id
        assert entry.because == "it has been running since 2026-01-31T09:30:00.000000Z"
        assert (entry.claimed_by, entry.pairs_without_review) == ("agent:gone", 2)

    def test_is_no_young_job(self, root, job_id):
        start(job_id, at=LATER - HOURS)

        assert found(root).abandoned == []

    def test_is_no_queued_job_however_old(self, root, job_id):
        assert found(root).abandoned == []

    def test_is_no_job_whose_parent_is_alive(self, root, job_id):
        start(job_id, parent=77)

        assert found(root, processes=FakeProcesses(alive={77})).abandoned == []

    def test_is_a_job_whose_parent_is_gone_and_says_so(self, root, job_id):
        start(job_id, parent=77, at=LATER)

        (entry,) = found(root).abandoned

        assert entry.because == "its parent, process 77, is gone"

    def test_is_a_question_and_changes_nothing(self, root, job_id):
        start(job_id)
        before = ReviewJob.objects.values().get(pk=job_id)

        found(root)

        assert ReviewJob.objects.values().get(pk=job_id) == before


class TestOutput:
    @pytest.mark.parametrize(
        ("write", "state"),
        [
            pytest.param(lambda _path, _id: None, "none", id="no-file"),
            pytest.param(lambda path, _id: path.write_bytes(b" \n"), "none", id="blank"),
            pytest.param(lambda path, _id: path.mkdir(), "unreadable", id="a-folder-in-its-place"),
            pytest.param(
                lambda path, _id: path.write_text("Sorry, I cannot help.", encoding="utf-8"),
                "foreign",
                id="no-block",
            ),
            pytest.param(
                lambda path, job_id: path.write_bytes(make_output(job_id, only=[2])),
                "partial",
                id="one-of-two",
            ),
            pytest.param(
                lambda path, job_id: path.write_bytes(make_output(job_id, UNDECIDED)),
                "complete",
                id="all",
            ),
        ],
    )
    def test_is_told_apart(self, root, job_id, write, state):
        start(job_id)
        write(root / ReviewJob.objects.get(pk=job_id).bundle_output_path, job_id)

        answer = found(root)

        assert [entry.output for entry in answer.abandoned] == [state]
        assert ids(answer.ready) == ([job_id] if state == "complete" else [])

    def test_of_a_part_says_what_is_kept_and_why_the_rest_is_missing(self, root, job_id):
        cut_off(root, start(job_id))

        (entry,) = found(root).abandoned

        assert entry.output_detail == DETAIL

    def test_of_a_part_is_told_by_the_preview_of_an_ingest_too(self, root, job_id):
        cut_off(root, start(job_id))

        (plan,) = recover_jobs(root, "ingest", job_id, dry_run=True).done

        assert (plan.status, plan.problems) == ("failed", [DETAIL])

    def test_of_a_job_that_nobody_took_can_be_ready_too(self, root, job_id):
        write_output(root, job_id)

        assert ids(found(root).ready) == [job_id]


class TestFailed:
    def test_with_missing_pairs_says_why_and_how_many(self, root, job_id):
        write_output(root, job_id, only=[1])
        recover_jobs(root, "ingest", job_id)

        (entry,) = found(root).failed

        assert entry.because.startswith("pairs-missing: pair 2")
        assert (entry.pairs_without_review, entry.pair_count) == (1, 2)

    def test_is_not_listed_once_it_was_completed(self, root, job_id):
        write_output(root, job_id, only=[1])
        recover_jobs(root, "ingest", job_id)
        ingest(root, job_id)

        assert found(root).failed == []

    def test_is_not_listed_once_it_was_replaced(self, root, job_id):
        recover_jobs(root, "replace", job_id)

        assert found(root).failed == []

    def test_is_not_listed_once_its_pairs_were_reviewed_elsewhere(self, root, job_id):
        recover_jobs(root, "fail", job_id)
        assert ids(found(root).failed) == [job_id]

        review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"), now=LATER + HOURS)

        assert found(root).failed == []
