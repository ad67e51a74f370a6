"""Recovery touches no job that is at work, loses no review, and makes each decision once."""

from __future__ import annotations

import msgspec
import pytest

from review.ingest import load
from review.ingest.ingest import ingest_job
from review.ingest.load import IngestRequest, JobMoved, JobReplaced
from review.job_files import ArtifactNotWritten, ArtifactStore
from review.models import JobEvent, Parent, ReviewJob, ReviewPair
from review.recovery import recover as recovery
from review.recovery.close import salvage_job
from review.runners.process.run import new_mark
from review.runners.registry import Access
from review.runners.run import RunRecord
from review.vocabulary import FailureCode, Grouping, JobStatus, PairStatus
from tests.builders import (
    NOTE,
    gate_path,
    make_config,
    make_jobs,
    make_output,
    note_path,
    write_note,
)
from tests.helpers.reviewed import UNDECIDED, WARN, current, ingest
from tests.helpers.running import (
    LATER,
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


class TestFail:
    def test_closes_the_job_and_marks_its_pairs_missing(self, root, job_id):
        answer = recover_jobs(root, "fail", job_id, reason="its worker is gone")

        job = ReviewJob.objects.get(pk=job_id)
        assert [item.review_job_id for item in answer.done] == [job_id]
        assert (job.status, job.failure_code) == (JobStatus.FAILED, FailureCode.OPERATOR)
        assert (job.failure_reason, job.completed_at) == ("its worker is gone", LATER)
        assert pair_statuses(job_id) == [PairStatus.MISSING] * 2

    def test_says_who_did_it_in_the_jobs_log(self, root, job_id):
        recover_jobs(root, "fail", job_id)

        event = JobEvent.objects.filter(job_id=job_id).latest("pk")
        assert (event.from_status, event.to_status) == (JobStatus.RUNNING, JobStatus.FAILED)
        assert (event.actor, event.note) == ("human:ana", "given up by human:ana")

    def test_cancels_a_job_that_nobody_took(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))

        recover_jobs(root, "fail", job.review_job_id)

        assert status(job.review_job_id) == JobStatus.FAILED

    def test_refreshes_the_manifest(self, root, job_id):
        recover_jobs(root, "fail", job_id)

        folder = root / "kb/reports/bundle-reviews" / f"review-job-{job_id}"
        assert '"failed"' in (folder / "MANIFEST.json").read_text(encoding="utf-8")

    def test_leaves_a_closed_job_as_it_is(self, root, job_id):
        ingest(root, job_id)

        answer = recover_jobs(root, "fail", job_id)

        assert (answer.done, [item.code for item in answer.refused]) == ([], ["job-closed"])
        assert status(job_id) == JobStatus.COMPLETED

    def test_is_refused_when_the_job_moves_in_between(self, root, job_id, monkeypatch):
        look = recovery._refuse_closed

        def refuse_closed(job):
            look(job)
            ingest(root, job.pk)

        monkeypatch.setattr(recovery, "_refuse_closed", refuse_closed)

        answer = recover_jobs(root, "fail", job_id)

        assert [item.code for item in answer.refused] == ["job-moved"]
        assert status(job_id) == JobStatus.COMPLETED
        assert current().event.review_pair_id

    def test_does_not_take_a_job_from_whoever_claims_it_in_between(self, root, monkeypatch):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        look = recovery._refuse_closed

        def refuse_closed(job):
            look(job)
            start(job.pk)

        monkeypatch.setattr(recovery, "_refuse_closed", refuse_closed)

        answer = recover_jobs(root, "fail", job.review_job_id)

        assert [item.code for item in answer.refused] == ["job-moved"]
        assert status(job.review_job_id) == JobStatus.RUNNING


class TestReplace:
    def test_makes_a_queued_job_for_the_same_pairs_from_todays_text(self, root, job_id):
        write_note(root, "a.md", NOTE + "\nEdited.\n")

        (done,) = recover_jobs(root, "replace", job_id).done

        old, new = ReviewJob.objects.get(pk=job_id), ReviewJob.objects.get(pk=done.replaced_by)
        assert (old.status, old.failure_code) == (JobStatus.FAILED, FailureCode.REPLACED)
        assert (new.status, new.replaces_id) == (JobStatus.QUEUED, job_id)
        assert new.bundle_output_path != old.bundle_output_path
        texts = new.pairs.values_list("gate__path", "note_snapshot__text")
        assert sorted(texts) == [
            (gate_path("prose/x"), NOTE + "\nEdited.\n"),
            (gate_path("prose/y"), NOTE + "\nEdited.\n"),
        ]
        assert pair_statuses(job_id) == [PairStatus.MISSING] * 2

    def test_refuses_what_the_late_worker_writes(self, root, job_id):
        recover_jobs(root, "replace", job_id)

        with pytest.raises(JobReplaced):
            ingest(root, job_id)

        assert pair_statuses(job_id) == [PairStatus.MISSING] * 2
        assert current() is None

    def test_the_late_output_is_no_output_of_the_new_job(self, root, job_id):
        (done,) = recover_jobs(root, "replace", job_id).done
        late = make_output(job_id)
        new = ReviewJob.objects.get(pk=done.replaced_by)
        (root / new.bundle_output_path).write_bytes(late)

        answer = recover_jobs(root, "ingest", new.pk)

        assert [item.code for item in answer.refused] == ["no-blocks"]
        assert status(new.pk) == JobStatus.QUEUED

    def test_leaves_out_and_names_pairs_whose_note_is_gone(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"), grouping=Grouping.GATE)
        (root / note_path("b.md")).unlink()

        (done,) = recover_jobs(root, "replace", job.review_job_id).done

        assert [(item.note_path, item.reason) for item in done.left_out] == [
            (note_path("b.md"), "vanished")
        ]
        assert ReviewJob.objects.get(pk=done.replaced_by).pair_count == 1

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_with_no_pair_left_is_refused_and_moves_nothing(self, root, job_id, dry_run):
        (root / note_path("a.md")).unlink()

        answer = recover_jobs(root, "replace", job_id, dry_run=dry_run)

        assert [item.code for item in answer.refused] == ["nothing-to-replace"]
        assert status(job_id) == JobStatus.RUNNING
        assert pair_statuses(job_id) == [PairStatus.PENDING] * 2

    def test_twice_makes_one_job(self, root, job_id):
        recover_jobs(root, "replace", job_id)

        answer = recover_jobs(root, "replace", job_id)

        assert [item.code for item in answer.refused] == ["job-closed"]
        assert "job 2 replaces it" in answer.refused[0].message
        assert ReviewJob.objects.count() == 2

    def test_when_the_folder_cannot_be_made_moves_nothing(self, root, job_id, monkeypatch):
        def full(*_args, **_kwargs):
            raise ArtifactNotWritten("cannot write: No space left on device")

        monkeypatch.setattr(ArtifactStore, "make_folder", full)

        answer = recover_jobs(root, "replace", job_id)

        assert [item.code for item in answer.refused] == ["artifact-not-written"]
        assert status(job_id) == JobStatus.RUNNING
        assert ReviewJob.objects.count() == 1


class TestIngest:
    def test_takes_in_what_the_vanished_worker_wrote(self, root, job_id):
        write_output(root, job_id, WARN)

        (done,) = recover_jobs(root, "ingest", job_id).done

        assert (done.status, status(job_id)) == (JobStatus.COMPLETED, JobStatus.COMPLETED)
        assert current().decision == "warn"

    def test_keeps_the_pairs_that_are_there(self, root, job_id):
        write_output(root, job_id, only=[1])

        (done,) = recover_jobs(root, "ingest", job_id).done

        assert (done.status, done.ingested.failure_code) == ("failed", "pairs-missing")
        assert pair_statuses(job_id) == [PairStatus.COMPLETED, PairStatus.MISSING]

    def test_brings_the_missing_pairs_of_a_failed_job(self, root, job_id):
        write_output(root, job_id, only=[1])
        recover_jobs(root, "ingest", job_id)
        write_output(root, job_id)

        (done,) = recover_jobs(root, "ingest", job_id).done

        assert done.status == JobStatus.COMPLETED

    def test_without_an_output_moves_nothing(self, root, job_id):
        answer = recover_jobs(root, "ingest", job_id)

        assert [item.code for item in answer.refused] == ["no-output"]
        assert status(job_id) == JobStatus.RUNNING

    def test_of_a_job_whose_reviews_were_stored_already_stores_nothing_twice(self, root, job_id):
        write_output(root, job_id, UNDECIDED)
        recover_jobs(root, "ingest", job_id)

        answer = recover_jobs(root, "ingest", job_id)

        assert [item.code for item in answer.refused] == ["job-already-completed"]
        assert ReviewPair.objects.completed().count() == 2


def left_run(root, job_id, name, *, runner="codex", only=()):
    """A run whose parent is gone: its record and its output; gives its folder."""
    folder = (root / ReviewJob.objects.get(pk=job_id).prompt_path).parent / name
    folder.mkdir()
    (folder / "output.md").write_bytes(make_output(job_id, WARN, only=only))
    record = RunRecord(runner, Access.WRITE, new_mark(), "", "none.md", 0, 60.0)
    (folder / "run.json").write_bytes(msgspec.json.encode(record))
    return folder


class TestSalvage:
    def test_keeps_the_fullest_of_the_outputs_that_runs_have_left(self, root, job_id):
        write_output(root, job_id, only=[1])
        folders = [left_run(root, job_id, "run-1"), left_run(root, job_id, "run-2", only=[2])]

        parent = Parent("here", 1, LATER)
        answer = salvage_job(
            job_id, actor="agent:next", parent=parent, config=make_config(root), now=LATER
        )

        assert answer.status == JobStatus.COMPLETED
        assert {pair.decision for pair in ReviewPair.objects.all()} == {"warn"}
        assert not any(folder.exists() for folder in folders)

    def test_by_a_runner_that_is_declared_no_more_waits_for_its_declaration(self, root, job_id):
        folder = left_run(root, job_id, "run-1", runner="gone")

        (refused,) = recover_jobs(root, "ingest", job_id).refused
        assert "gone" in refused.message
        assert status(job_id) == JobStatus.RUNNING

        recover_jobs(root, "fail", job_id)
        assert status(job_id) == JobStatus.FAILED
        assert (folder / "output.md").exists()


class TestLateWorkers:
    def test_an_ingest_that_read_the_job_before_it_was_replaced_is_refused(
        self, root, job_id, monkeypatch
    ):
        judge = load.make_reviews

        def make_reviews(*args, **kwargs):
            recover_jobs(root, "replace", job_id)
            return judge(*args, **kwargs)

        monkeypatch.setattr(load, "make_reviews", make_reviews)
        request = IngestRequest(actor="agent:late", output=make_output(job_id))

        with pytest.raises(JobMoved):
            ingest_job(job_id, request=request, config=make_config(root), now=LATER)

        assert status(job_id) == JobStatus.FAILED
        assert pair_statuses(job_id) == [PairStatus.MISSING] * 2
        assert current() is None
