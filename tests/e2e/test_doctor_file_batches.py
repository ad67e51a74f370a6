"""The doctor reads files of jobs in batches: a fault is named in whichever it lies, and no other is."""

from __future__ import annotations

import shutil

import pytest

from tests.builders import NOW
from tests.helpers.commands import run
from tests.helpers.doctor_batches import (
    FAULTY,
    JOBS,
    details,
    edit,
    folder,
    make_batches_small,
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
