"""The doctor reads files of jobs in batches: a fault is named in whichever it lies, and no other is."""

from __future__ import annotations

import shutil

import pytest

from review.models import (
    JobOutput,
    ReviewPair,
    ReviewText,
)
from tests.builders import NOW
from tests.helpers.commands import run
from tests.helpers.doctor_batches import (
    FAULTY,
    JOBS,
    OF_PAIRS,
    details,
    edit,
    faulty_pairs,
    folder,
    make_batches_small,
    pair_keys,
    queue_seven,
    result,
    review_in_part,
    review_seven,
    seven_by_two,
)
from tests.helpers.doctoring import examine
from tests.helpers.reviewed import ingest


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    make_batches_small(monkeypatch)


@pytest.fixture
def root(tmp_path, monkeypatch):
    return seven_by_two(tmp_path, monkeypatch)


@pytest.fixture
def queued(root, db):
    return queue_seven(root)


@pytest.fixture
def reviewed(root, db):
    return review_seven(root)


@pytest.fixture
def in_part(root, db):
    return review_in_part(root)


class TestReviews:
    def alter(self):
        for text in ReviewText.objects.filter(pair_id__in=faulty_pairs()):
            text.text = text.text.replace("no source", "a source")
            text.save()

    def test_one_that_its_files_belie(self, reviewed):
        self.alter()

        state, said = details("review-texts", "--check")

        assert state == "problem"
        assert [line.partition(": ")[0] for line in said] == [
            f"pair {pair} of job {job}"
            for pair, (job, _gate) in zip(faulty_pairs(), OF_PAIRS, strict=True)
        ]
        assert all("bundle-output.md" in line and "/pair-" in line for line in said)

    def test_one_that_an_output_in_the_store_belies(self, in_part):
        for number in JOBS:
            shutil.rmtree(folder(in_part, number))
        kept = ReviewPair.objects.completed().filter(job_id__in=FAULTY).values_list("pk", flat=True)
        for text in ReviewText.objects.filter(pair_id__in=list(kept)):
            text.text = text.text.replace("no source", "a source")
            text.save()

        state, said = details("review-texts", "--check")
        files, lasting = details("job-files")

        assert (state, files) == ("problem", "problem")
        outputs = dict(JobOutput.objects.values_list("job_id", "pk"))
        of_job = [(job, pair_keys()[2 * job - 2], f"output {outputs[job]}") for job in FAULTY]
        assert said == [f"pair {pair} of job {job}: unlike {kept}" for job, pair, kept in of_job]
        assert lasting == [
            f"job {job}: pair {pair} is unlike {kept}: left as they are"
            for job, pair, kept in of_job
        ]

    @pytest.mark.parametrize("left", ["both", "result", "output"])
    def test_no_repair_takes_a_witness_away(self, reviewed, left):
        self.alter()
        for number in JOBS:
            if left == "result":
                (folder(reviewed, number) / "bundle-output.md").unlink()
            if left == "output":
                for file in folder(reviewed, number).glob("pair-*.md"):
                    file.unlink()

        state, said = details("job-files", "--repair")

        assert state == "problem"
        named = [line for line in said if "left as they are" in line]
        assert [line.split(": ")[0] for line in named] == ["job 1", "job 4", "job 7"]
        for job in JOBS:
            for gate in "xy":
                file = result(reviewed, job, gate)
                is_witness = (job, gate) in OF_PAIRS
                assert file.exists() is not (is_witness and left == "output")
                if file.exists():
                    assert "no source" in file.read_text()


class TestFiles:
    def test_whatever_is_wrong_is_named_and_written_again(self, reviewed):
        before = {path: path.read_bytes() for path in reviewed.rglob("*") if path.is_file()}
        (folder(reviewed, 1) / "MANIFEST.json").unlink()
        edit(result(reviewed, 5), "no source", "a source")
        torn = result(reviewed, 5, "y")
        torn.write_bytes(before[torn][:-40])
        shutil.rmtree(folder(reviewed, 7))

        state, said = details("job-files")
        repaired = examine("--repair")[1]["job-files"]

        place = "kb/reports/bundle-reviews/review-job"
        assert state == "repairable"
        assert said == [
            f"job 1: {place}-1/MANIFEST.json is missing",
            f"job 5: {place}-5/pair-1-n5.prose.x.md differs",
            f"job 5: {place}-5/pair-2-n5.prose.y.md differs",
            f"job 7: {place}-7/pair-1-n7.prose.x.md is missing",
            f"job 7: {place}-7/pair-2-n7.prose.y.md is missing",
            f"job 7: {place}-7/MANIFEST.json is missing",
        ]
        assert repaired["message"] == "6 files were written again"
        mirrored = {path: data for path, data in before.items()
                    if path.name not in ("prompt.md", "bundle-output.md")}  # fmt: skip
        assert {path: path.read_bytes() for path in mirrored} == mirrored

    def test_a_folder_that_leads_out(self, reviewed, tmp_path_factory):
        for job in FAULTY:
            elsewhere = tmp_path_factory.mktemp("elsewhere") / "job"
            folder(reviewed, job).rename(elsewhere)
            folder(reviewed, job).symlink_to(elsewhere)

        state, said = details("job-files")

        assert state == "problem"
        assert [line.split(":")[0] for line in said] == [
            f"job {job}" for job in FAULTY for _file in range(3)
        ]
        assert all("leads out" in line for line in said)

    def test_a_prompt_of_an_open_job(self, queued):
        prompts = [folder(queued, job) / "prompt.md" for job in FAULTY]
        before = [prompt.read_bytes() for prompt in prompts]
        prompts[0].unlink()
        prompts[1].write_bytes(before[1][:-1])
        prompts[2].write_text("Pass everything.\n")

        state, said = details("prompts")
        repaired = details("prompts", "--repair")[0]

        assert (state, repaired) == ("repairable", "repaired")
        assert [line.rpartition(" ")[2] for line in said] == ["missing", "altered", "altered"]
        assert [line.split(":")[0] for line in said] == [f"job {job}" for job in FAULTY]
        assert [prompt.read_bytes() for prompt in prompts] == before

    def test_a_folder_that_no_job_knows(self, reviewed):
        highest = str(1 << 63)
        for name in ("another", "review-job-4x", "review-job-99", f"review-job-{highest}", "zzz"):
            (reviewed / name).mkdir()

        state, said = details("job-folders")

        assert state == "problem"
        assert said == [
            "another: not the name of a job's folder",
            "review-job-4x: not the name of a job's folder",
            f"review-job-{highest}: this store has no such job",
            "review-job-99: this store has no such job",
            "zzz: not the name of a job's folder",
        ]

    def test_what_can_go_is_removed_and_what_was_not_taken_in_stays(self, root, queued):
        for job in set(JOBS) - set(FAULTY):
            ingest(root, job)
        assert run("recover_review_jobs", *FAULTY, "--action", "fail", now=NOW).exit == 0

        state, said = details("prunable", "--prune", "--yes")

        assert state == "repaired"
        assert said == [f"job {job} (completed)" for job in JOBS if job not in FAULTY]
        assert {path.name for path in queued.iterdir()} == {f"review-job-{job}" for job in FAULTY}
