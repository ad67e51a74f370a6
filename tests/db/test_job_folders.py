"""Folders of jobs, when an id is used again, the disk is full, or a job is replaced."""

from __future__ import annotations

import json

import pytest

from review.job_files import ArtifactNotWritten, ArtifactStore, ForeignJobFolder
from review.models import JobEvent, ReviewJob, ReviewPair, ReviewStore
from review.protocol.output import parse_output
from review.protocol.sentinels import ExpectedPair
from tests.builders import (
    make_jobs,
    make_output,
    make_selection,
)
from tests.helpers.planning import AX, create, packed, planning_root

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path):
    return planning_root(tmp_path)


class TestFolders:
    def test_what_a_rolled_back_id_left_is_moved_aside(self, root):
        store_id = ReviewStore.objects.get().store_id
        left = root / "kb/reports/bundle-reviews/review-job-1"
        left.mkdir(parents=True)
        (left / "MANIFEST.json").write_text(json.dumps({"store_id": store_id}))
        (left / "bundle-output.md").write_text("from another life")

        (job,) = create(root, make_selection(AX)).jobs

        assert not (root / job.bundle_output_path).exists()
        (aside,) = left.parent.glob("review-job-1.aside-*")
        assert (aside / "bundle-output.md").read_text() == "from another life"

    def test_another_store_s_folder_is_refused_and_nothing_is_written(self, root):
        other = root / "kb/reports/bundle-reviews/review-job-1"
        other.mkdir(parents=True)
        (other / "MANIFEST.json").write_text(json.dumps({"store_id": "f" * 32}))
        (other / "prompt.md").write_text("theirs")

        with pytest.raises(ForeignJobFolder):
            create(root, make_selection(AX))

        assert (other / "prompt.md").read_text() == "theirs"
        assert not ReviewJob.objects.exists()

    def test_of_a_transaction_that_fails_are_removed(self, root, monkeypatch):
        artifacts = root / "kb/reports/bundle-reviews"
        artifacts.mkdir(parents=True)
        refuse_at(monkeypatch, job_id=2)

        with pytest.raises(ArtifactNotWritten):
            create(root, make_selection(AX, ("b.md", "prose/x")))

        assert list(artifacts.iterdir()) == []
        assert not ReviewJob.objects.exists()

    def test_jobs_of_earlier_transactions_stay_and_are_counted(self, root, monkeypatch):
        monkeypatch.setattr("review.jobs.create.JOBS_PER_TRANSACTION", 1)
        refuse_at(monkeypatch, job_id=2)
        selection = make_selection(AX, ("b.md", "prose/x"), ("c.md", "prose/x"))

        with pytest.raises(ArtifactNotWritten, match="1 jobs were made before"):
            create(root, selection)
        monkeypatch.undo()

        result = create(root, selection)
        assert packed(result) == [["b.md prose/x"], ["c.md prose/x"]]
        assert [job.review_job_id for job in result.jobs] == [2, 3]

    def test_ids_are_not_used_again_when_the_newest_job_is_gone(self, root):
        make_jobs(root, AX)
        JobEvent.objects.all().delete()
        ReviewPair.objects.all().delete()
        ReviewJob.objects.all().delete()

        (job,) = create(root, make_selection(AX)).jobs

        assert job.review_job_id == 2


def refuse_at(monkeypatch, *, job_id: int) -> None:
    """Let the disk be full when the folder of `job_id` is made."""
    real = ArtifactStore.make_folder

    def make_folder(self, made_id, **fields):
        if made_id == job_id:
            raise ArtifactNotWritten("No space left on device")
        return real(self, made_id, **fields)

    monkeypatch.setattr(ArtifactStore, "make_folder", make_folder)


class TestOutputBuilder:
    def test_writes_blocks_that_the_parser_takes(self, root):
        (job,) = make_jobs(root, AX, ("a.md", "prose/y"))
        expected = [ExpectedPair(p.ordinal, p.note_path, p.gate_id) for p in job.pairs]
        token = ReviewJob.objects.get(pk=job.review_job_id).sentinel_token

        parsed = parse_output(make_output(job.review_job_id), token=token, expected=expected)

        assert set(parsed.blocks) == {1, 2}
        assert parsed.problems == ()
