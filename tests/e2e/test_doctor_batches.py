"""The doctor reads in batches: a fault is named in whichever it lies, and no other is."""

from __future__ import annotations

import shutil
from contextlib import suppress

import pytest
from django.db import connection, models, transaction
from django.db.models.functions import Upper

from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    JobEvent,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewText,
)
from review.orchestration import job_file_checks, machine_checks, pruning, rebuilding
from review.orchestration import review_text_checks as text_checks
from review.orchestration.finalization import ingest_job
from review.orchestration.ingest_request import IngestRequest
from review.queries import invariants, invariants_texts, store_checks
from tests.builders import (
    NOTE,
    NOW,
    gate_path,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    note_path,
    write_gate,
)
from tests.helpers.commands import run
from tests.helpers.doctoring import examine, forge_index
from tests.helpers.reviewed import WARN, ingest

# Seven jobs, three of which are read at once: the first of a batch, one in the middle, the last one.
JOBS = range(1, 8)
FAULTY = (1, 5, 7)
# Their pairs, two a job, counted from 1: batches of three end in the middle of a job.
FAULTY_PAIRS = (1, 8, 14)
OF_PAIRS = ((1, "x"), (4, "y"), (7, "y"))
BATCH = 3
BATCHES = (
    (store_checks, "_TEXTS_AT_ONCE"),
    (store_checks, "_ROWS_AT_ONCE"),
    (invariants, "_ROWS_AT_ONCE"),
    (invariants_texts, "_KEYS_AT_ONCE"),
    (invariants_texts, "_TEXTS_AT_ONCE"),
    (text_checks, "_PAIRS_AT_ONCE"),
    (job_file_checks, "_JOBS_AT_ONCE"),
    (job_file_checks, "_FOLDERS_AT_ONCE"),
    (pruning, "_AT_ONCE"),
    (rebuilding, "_AT_ONCE"),
)
GATES = ("prose/x", "prose/y")


class _Undo(Exception):
    """Takes back what was broken."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Three at once, of everything, whoever asks for how many."""
    iterate = models.QuerySet.iterator
    monkeypatch.setattr(
        models.QuerySet, "iterator", lambda rows, chunk_size=None: iterate(rows, chunk_size=BATCH)
    )
    for module, name in BATCHES:
        monkeypatch.setattr(module, name, BATCH)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Seven notes by two gates."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    notes = {f"n{number}.md": f"{NOTE}Number {number}.\n" for number in JOBS}
    return make_root(tmp_path, notes=notes, gates={name: make_gate(name) for name in GATES})


@pytest.fixture
def queued(root, db):
    """The folder of seven jobs that wait."""
    made = make_jobs(root, *((f"n{number}.md", gate) for number in JOBS for gate in GATES))
    assert [job.review_job_id for job in made] == list(JOBS)
    return root / "kb" / "reports" / "bundle-reviews"


@pytest.fixture
def reviewed(root, queued):
    """The folder of seven completed jobs, with the outputs of their worker."""
    for number in JOBS:
        output = queued / f"review-job-{number}" / "bundle-output.md"
        output.write_bytes(make_output(number, WARN))
        ingest_job(
            number, request=IngestRequest(actor="agent:test"), config=make_config(root), now=NOW
        )
    return queued


@pytest.fixture
def in_part(root, queued):
    """The folder of seven jobs that failed for a missing pair; the store keeps their outputs."""
    for number in JOBS:
        outputs = {number: make_output(number, WARN, only=(1,))}
        request = IngestRequest(actor="agent:test", outputs=outputs)
        ingest_job(number, request=request, config=make_config(root), now=NOW)
    assert JobOutput.objects.count() == len(JOBS)
    return queued


def details(name, *args):
    """What a check names, with the state of the check."""
    check = examine(*args)[1][name]
    return check["state"], check["details"]


def folder(jobs, number):
    return jobs / f"review-job-{number}"


def result(jobs, number, gate="x"):
    return folder(jobs, number) / f"pair-{1 if gate == 'x' else 2}-n{number}.prose.{gate}.md"


def pair_keys():
    """In the order of jobs; a database may have given others before."""
    return list(ReviewPair.objects.order_by("pk").values_list("pk", flat=True))


def faulty_pairs():
    keys = pair_keys()
    return [keys[number - 1] for number in FAULTY_PAIRS]


def edit(file, old, new):
    before = file.read_text()
    assert old in before
    file.write_text(before.replace(old, new))


def test_without_a_fault_none_is_named(reviewed):
    for args in ((), ("--check",)):
        code, checks = examine(*args)
        assert code == 0
        wrong = {name for name, check in checks.items() if check["state"] != "ok"}
        assert wrong <= {"bytecode"}


class TestRows:
    def test_a_text_that_is_lost(self, reviewed):
        faulty = faulty_pairs()
        ReviewText.objects.filter(pair_id__in=faulty).delete()

        state, said = details("pairs")

        assert state == "problem"
        assert said == [
            f"pair {pair} of job {job} is completed and has no text; its result file is"
            f" kb/reports/bundle-reviews/review-job-{job}/{result(reviewed, job, gate).name}"
            for pair, (job, gate) in zip(faulty, OF_PAIRS, strict=True)
        ]

    def test_a_pair_that_waits_in_a_completed_job(self, queued):
        ReviewJob.objects.filter(pk__in=FAULTY).update(status="completed", completed_at=NOW)

        state, said = details("pairs")

        assert state == "problem"
        pairs = ReviewPair.objects.filter(job_id__in=FAULTY).values_list("pk", "job_id")
        named = {f"pair {pair} is pending, but its job {job} is completed" for pair, job in pairs}
        assert len(named) == 6
        assert set(said) == named

    def test_a_job_that_lost_a_pair(self, queued):
        ReviewJob.objects.filter(pk__in=FAULTY).update(pair_count=3)

        state, said = details("pairs")

        assert state == "problem"
        assert set(said) == {f"job {job} has 2 pairs, but was made with 3" for job in FAULTY}

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param({"text": Upper("text")}, id="text"),
            pytest.param({"byte_size": 1}, id="size"),
        ],
    )
    def test_a_kept_text_that_was_altered(self, reviewed, wrong):
        keys = list(FileSnapshot.objects.order_by("pk").values_list("pk", flat=True))
        assert len(keys) == len(JOBS) + len(GATES)
        altered = (keys[0], keys[4], keys[-1])
        FileSnapshot.objects.filter(pk__in=altered).update(**wrong)

        state, said = details("snapshots")
        thorough, (hashed,) = details("snapshots-have-their-digests", "--check")

        assert state == thorough == "problem"
        assert [line.partition(" of ")[0] for line in said] == [f"snapshot {n}" for n in altered]
        told = [line.partition(" is ")[0] for line in hashed.split("; ")]
        assert told == [f"snapshot {n}" for n in altered]

    def test_kept_texts_that_are_large_are_read_one_by_one(self, reviewed, monkeypatch):
        monkeypatch.setattr(invariants_texts, "_BYTES_AT_ONCE", 1)
        keys = list(FileSnapshot.objects.order_by("pk").values_list("pk", flat=True))
        altered = (keys[0], keys[4], keys[-1])
        FileSnapshot.objects.filter(pk__in=altered).update(byte_size=1)

        (hashed,) = details("snapshots-have-their-digests", "--check")[1]

        told = [line.partition(" is ")[0] for line in hashed.split("; ")]
        assert told == [f"snapshot {n}" for n in altered]

    def test_whatever_was_altered_is_counted(self, in_part):
        FileSnapshot.objects.update(text=Upper("text"))
        JobOutput.objects.update(content_sha256=Upper("content_sha256"))

        checks = examine("--check")[1]

        assert checks["snapshots-have-their-digests"]["message"] == "9 rows break it"
        assert checks["raw-outputs-have-their-digests"]["message"] == "7 rows break it"
        assert len(details("snapshots")[1]) == 9

    def test_a_kept_output_that_was_altered(self, in_part):
        keys = list(JobOutput.objects.order_by("pk").values_list("pk", flat=True))
        altered = [keys[job - 1] for job in FAULTY]
        JobOutput.objects.filter(pk__in=altered).update(raw=b"other")

        state, (hashed,) = details("raw-outputs-have-their-digests", "--check")

        assert state == "problem"
        told = [line.partition(" has ")[0] for line in hashed.split("; ")]
        assert told == [f"output {key}" for key in altered]

    @pytest.mark.parametrize("way", ["missing", "unlike"])
    def test_a_current_acceptance_is_named_and_made_again(self, reviewed, way):
        rows = CurrentAcceptance.objects.order_by("event_id")
        expected = list(rows.values_list("note_id", "gate_id", "event_id", "decision"))
        assert len(expected) == 2 * len(JOBS)
        wrong = {expected[pair - 1][2]: expected[pair - 1][:2] for pair in FAULTY_PAIRS}
        faulty = CurrentAcceptance.objects.filter(event_id__in=wrong)
        if way == "missing":
            faulty.delete()
        else:
            faulty.update(decision="pass")

        state, said = details("current-acceptances")
        repaired = examine("--repair")[1]["current-acceptances"]

        assert state == "problem"
        assert {tuple(line.split(",")[:2]) for line in said} == {
            (f"note {note}", f" gate {gate}") for note, gate in wrong.values()
        }
        assert repaired["message"] == "3 were made again from the events"
        assert list(rows.values_list("note_id", "gate_id", "event_id", "decision")) == expected

    @pytest.mark.parametrize("way", ["missing", "unlike"])
    def test_all_current_acceptances_are_made_again(self, reviewed, way):
        if way == "missing":
            CurrentAcceptance.objects.all().delete()
        else:
            CurrentAcceptance.objects.update(decision="pass")

        repaired = examine("--repair")[1]["current-acceptances"]

        assert repaired["message"] == "14 were made again from the events"
        assert details("current-acceptances") == ("ok", [])

    def test_an_invariant_counts_every_row_that_breaks_it(self, queued):
        ReviewJob.objects.update(pair_count=3)

        check = examine("--check")[1]["jobs-have-the-pairs-they-were-made-with"]

        assert check["message"] == "7 rows break it"
        assert check["details"][0].startswith("job 1 was made with 3 pairs and has 2; job 2 ")

    @pytest.mark.sqlite
    def test_a_reference_to_nothing(self, queued):
        with suppress(_Undo), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("UPDATE review_job_events SET job_id = job_id + 100")
            found = details("integrity")
            raise _Undo

        state, said = found
        assert state == "problem"
        assert said == [
            f"review_job_events row {event} refers to a row of review_jobs that is not there"
            for event in JobEvent.objects.order_by("pk").values_list("pk", flat=True)
        ]


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


class TestQuick:
    @pytest.fixture(autouse=True)
    def small_sample(self, monkeypatch):
        monkeypatch.setattr(machine_checks, "SAMPLE", BATCH)

    def test_of_notes_it_looks_at_a_sample_and_no_more(self, root, db):
        for number in JOBS:
            forge_index(root, note_path(f"n{number}.md"))

        state, said = details("file-index", "--quick")

        assert state == "problem"
        assert len(said) == BATCH
        assert all("in a way that no stat shows" in line for line in said)

    def test_and_at_all_gates(self, root, db):
        bad = [f"prose/g{number}" for number in JOBS]
        for name in bad:
            write_gate(root, name, b"\xff\xfe")

        state, said = details("knowledge-base", "--quick")

        assert state == "warning"
        assert [line.split(":")[0] for line in said] == [gate_path(name) for name in bad]

    def test_and_at_all_running_jobs(self, queued):
        ReviewJob.objects.filter(pk__in=FAULTY).update(
            status="running", started_at="2020-01-01T00:00:00Z", claimed_by="agent:a"
        )
        assert run("recover_review_jobs", 2, "--action", "fail", now=NOW).exit == 0

        check = examine("--quick")[1]["jobs"]

        assert check["state"] == "warning"
        assert "3 queued, 3 running, 1 failed" in check["message"]
        assert [line.split(":")[0] for line in check["details"]] == [f"job {job}" for job in FAULTY]
