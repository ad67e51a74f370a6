"""`review_doctor --check` on texts of reviews, which have no digest."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from review.ingest.ingest import ingest_job
from review.ingest.request import IngestRequest
from review.models import JobOutput, ReviewText
from tests.builders import NOTE, NOW, make_config, make_gate, make_jobs, make_output, make_root
from tests.helpers.doctoring import examine, state
from tests.helpers.reviewed import FAIL, WARN, review_pairs


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    gates = {name: make_gate(name) for name in ("prose/x", "prose/y")}
    return make_root(tmp_path, notes={"a.md": NOTE}, gates=gates)


@pytest.fixture
def jobs(root, db):
    """The folder of two completed jobs."""
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    review_pairs(root, ("a.md", "prose/x"), review=FAIL, now=NOW + timedelta(hours=1))
    return root / "kb" / "reports" / "bundle-reviews"


class TestReviewTexts:
    """A review has no digest; what its worker wrote, and its result file, are witnesses."""

    def alter(self, old="no source", new="a source"):
        text = ReviewText.objects.order_by("pk").first()
        text.text = text.text.replace(old, new)
        text.save()
        return text.pk

    def test_are_what_the_files_say(self, jobs):
        code, checks = examine("--check")

        assert (code, checks["review-texts"]["state"]) == (0, "ok")
        assert checks["review-texts"]["message"].startswith("2 reviews are what")

    @pytest.mark.parametrize(
        "gone",
        [
            pytest.param((), id="both-files-there"),
            pytest.param(("pair-1-a.prose.x.md",), id="the-output-alone"),
            pytest.param(("bundle-output.md",), id="the-result-alone"),
        ],
    )
    def test_one_that_was_altered_is_found(self, jobs, gone):
        for name in gone:
            (jobs / "review-job-1" / name).unlink()
        pair_id = self.alter()

        code, checks = examine("--check")

        assert (code, checks["review-texts"]["state"]) == (1, "problem")
        (detail,) = checks["review-texts"]["details"]
        assert detail.startswith(f"pair {pair_id} of job 1: unlike ")
        names = {"pair-1-a.prose.x.md", "bundle-output.md"}
        assert {name for name in names if name in detail} == names - set(gone)

    def test_is_found_by_an_output_that_the_store_keeps(self, root, db):
        (job,) = make_jobs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        request = IngestRequest(actor="a", outputs={1: make_output(1, WARN, only=(1,))})
        ingest_job(1, request=request, config=make_config(root), now=NOW)
        shutil.rmtree(root / job.prompt_path.rpartition("/")[0])
        assert state("review-texts", "--check") == "ok"
        pair_id, output = self.alter(), JobOutput.objects.get().pk

        _code, checks = examine("--check")

        said = f"pair {pair_id} of job 1: unlike output {output}"
        assert checks["review-texts"]["details"] == [said]

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda folder: shutil.rmtree(folder), id="nothing-is-kept"),
            pytest.param(
                lambda folder: (folder / "bundle-output.md").write_text("again"), id="other-output"
            ),
            pytest.param(
                lambda folder: edit(folder / "pair-1-a.prose.x.md", "no source", "a source"),
                id="result-file-edited",
            ),
            pytest.param(
                lambda folder: edit(folder / "bundle-output.md", "no source", "a source"),
                id="output-edited",
            ),
        ],
    )
    def test_a_file_that_was_edited_is_no_fault_of_the_store(self, jobs, spoil):
        spoil(jobs / "review-job-1")

        code, checks = examine("--check")

        assert (code, checks["review-texts"]["state"]) == (0, "ok")

    @pytest.mark.parametrize(
        ("gone", "witness"),
        [
            pytest.param((), "pair-1-a.prose.x.md", id="both-files-there"),
            pytest.param(("bundle-output.md",), "pair-1-a.prose.x.md", id="the-result-alone"),
            pytest.param(("pair-1-a.prose.x.md",), "bundle-output.md", id="the-output-alone"),
        ],
    )
    def test_no_repair_takes_the_witness_away(self, jobs, gone, witness):
        for name in gone:
            (jobs / "review-job-1" / name).unlink()
        before = (jobs / "review-job-1" / witness).read_bytes()
        self.alter()

        code, checks = examine("--repair", "--check")

        assert (code, checks["job-files"]["state"]) == (1, "problem")
        assert "left as" in checks["job-files"]["details"][0]
        assert (jobs / "review-job-1" / witness).read_bytes() == before
        assert state("review-texts", "--check") == "problem"

    def test_without_repair_it_is_not_called_repairable(self, jobs):
        self.alter()

        assert examine()[1]["job-files"]["state"] == "problem"

    def test_the_rest_of_the_job_is_written_again(self, jobs):
        (jobs / "review-job-1" / "MANIFEST.json").unlink()
        (jobs / "review-job-2" / "pair-1-a.prose.x.md").unlink()
        self.alter()

        examine("--repair")

        assert (jobs / "review-job-1" / "MANIFEST.json").exists()
        assert (jobs / "review-job-2" / "pair-1-a.prose.x.md").exists()

    @pytest.mark.parametrize("size", [-1, -40, 300])
    def test_a_torn_file_is_no_witness(self, jobs, size):
        (jobs / "review-job-1" / "bundle-output.md").unlink()
        file = jobs / "review-job-1" / "pair-1-a.prose.x.md"
        whole = file.read_bytes()
        file.write_bytes(whole[:size])

        assert state("review-texts", "--check") == "ok"
        assert state("job-files", "--repair") == "repaired"
        assert file.read_bytes() == whole

    def test_who_takes_the_store_s_word_removes_the_copies(self, jobs):
        self.alter()
        for name in ("pair-1-a.prose.x.md", "bundle-output.md"):
            (jobs / "review-job-1" / name).unlink()

        assert state("job-files", "--repair") == "repaired"
        assert "a source" in (jobs / "review-job-1" / "pair-1-a.prose.x.md").read_text()

    def test_a_result_file_that_the_output_belies_is_written_again(self, jobs):
        edit(jobs / "review-job-1" / "pair-1-a.prose.x.md", "no source", "a source")

        assert state("job-files", "--repair") == "repaired"
        assert "no source" in (jobs / "review-job-1" / "pair-1-a.prose.x.md").read_text()

    def test_says_of_how_many_nothing_is_kept(self, jobs):
        shutil.rmtree(jobs / "review-job-1")

        message = examine("--check")[1]["review-texts"]["message"]

        assert message.startswith("1 reviews are")
        assert message.endswith("of 1 neither is kept")


def edit(file, old, new):
    file.write_text(file.read_text().replace(old, new))
