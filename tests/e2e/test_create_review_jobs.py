"""`create_review_jobs`, through the command line: what it answers, and what a kill leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from review.models import ReviewJob
from tests.builders import (
    GATES_FOLDER,
    NOTE,
    make_gate,
    make_root,
    make_selection,
    make_target,
    write_note,
)
from tests.helpers.commands import REPOSITORY, process_environment, run
from tests.helpers.forked import run_forked

AX = ("a.md", "prose/x")
GATES = ("prose/x", "prose/y", "links/z")
ARTIFACTS = "kb/reports/bundle-reviews"


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = make_root(
        tmp_path,
        notes=dict.fromkeys(("a.md", "b.md", "c.md"), NOTE),
        gates={name: make_gate(name) for name in GATES},
    )
    monkeypatch.setenv("COMMONPLACE_ROOT", str(folder))
    return folder


def create(selection: bytes, *options: object, grouping: str = "note"):
    return run(
        "create_review_jobs", "--input", "-", "--grouping", grouping, *options, stdin=selection
    )


@pytest.mark.django_db
class TestCreate:
    def test_answers_with_the_document_of_the_contract(self, root):
        done = create(make_selection(AX, ("a.md", "prose/y")), "--json")

        assert done.exit == 0
        document = done.json
        assert list(document) == ["schema", "dry_run", "jobs", "skipped", "problems", "totals"]
        assert document["totals"] == {
            "jobs": 1,
            "pairs": 2,
            "estimated_prompt_tokens": document["jobs"][0]["estimated_prompt_tokens"],
        }
        assert document["schema"] == "create-review-jobs/1"
        (job,) = document["jobs"]
        assert job["status"] == "queued"
        assert job["prompt_path"] == f"{ARTIFACTS}/review-job-1/prompt.md"
        assert job["bundle_output_path"] == f"{ARTIFACTS}/review-job-1/bundle-output.md"
        assert job["manifest_path"] == f"{ARTIFACTS}/review-job-1/MANIFEST.json"
        assert job["pair_count"] == 2
        assert job["pairs"][1] == {
            "review_pair_id": job["pairs"][1]["review_pair_id"],
            "ordinal": 2,
            "note_path": "kb/notes/a.md",
            "gate_path": f"{GATES_FOLDER}/prose/y.md",
            "gate_id": "prose/y",
            "pair_status": "pending",
            "decision": None,
        }
        assert (root / job["prompt_path"]).is_file()
        assert (root / job["manifest_path"]).is_file()

    def test_shows_people_one_line_a_job_then_what_was_skipped(self, root):
        write_note(root, "b.md", b"caf\xe9")

        done = create(make_selection(AX, ("b.md", "prose/x")))

        lines = done.out.splitlines()
        assert lines[0].startswith(f"job 1: {ARTIFACTS}/review-job-1/prompt.md (pairs: 1, about ")
        assert lines[1] == "skipped: kb/notes/b.md prose/x (not-utf8)"
        assert lines[2].startswith("problem: kb/notes/b.md: ")
        assert len(lines) == 3

    def test_names_the_job_that_has_a_pair_already(self, root):
        create(make_selection(AX))

        again = create(make_selection(AX))
        as_json = create(make_selection(AX), "--json")

        assert again.out.splitlines() == [
            "skipped: kb/notes/a.md prose/x (already-queued, job 1 has it)",
            "no job",
        ]
        assert as_json.json["skipped"] == [
            {
                "note_path": "kb/notes/a.md",
                "gate_id": "prose/x",
                "reason": "already-queued",
                "review_job_id": 1,
            }
        ]

    def test_reads_a_file(self, root, tmp_path):
        (tmp_path / "selection.json").write_bytes(make_selection(AX))

        done = run(
            *("create_review_jobs", "--input", tmp_path / "selection.json"),
            *("--grouping", "gate", "--batch-size", "1", "--json"),
        )

        assert (done.exit, len(done.json["jobs"])) == (0, 1)

    def test_takes_a_pair_twice_with_force(self, root):
        create(make_selection(AX))

        assert len(create(make_selection(AX), "--force", "--json").json["jobs"]) == 1

    def test_makes_nothing_of_an_empty_selection_and_is_done(self, root):
        done = create(make_selection(), "--json")

        assert (done.exit, done.json["jobs"]) == (0, [])

    def test_shows_a_dry_run_and_writes_nothing(self, root):
        selection = make_selection(AX, ("a.md", "prose/y"))

        text = create(selection, "--dry-run")
        document = create(selection, "--dry-run", "--json").json

        assert text.out.startswith("would make: kb/notes/a.md :: prose/x, prose/y (pairs: 2, about")
        assert document["dry_run"] is True
        (job,) = document["jobs"]
        assert [pair["ordinal"] for pair in job["pairs"]] == [1, 2]
        assert job["estimated_prompt_tokens"] > 100
        assert not ReviewJob.objects.exists()
        assert not (root / ARTIFACTS).exists()

    def test_gives_the_same_bytes_twice(self, root):
        selection = make_selection(*((note, gate) for note in ("b.md", "a.md") for gate in GATES))

        first = create(selection, "--dry-run", "--json")
        second = create(selection, "--dry-run", "--json")

        assert first.out == second.out


@pytest.mark.django_db
class TestRefused:
    @pytest.mark.parametrize(
        ("selection", "code"),
        [
            pytest.param(b"[]", "not-this-document", id="list"),
            pytest.param(b"", "not-this-document", id="empty"),
            pytest.param(
                make_selection(AX, model_partition=None), "partition-not-concrete", id="no-model"
            ),
            pytest.param(
                make_selection(AX, model_partition="Opus 4.6"),
                "partition-not-concrete",
                id="not-canonical",
            ),
            pytest.param(make_selection(("/etc/x.md", "prose/x")), "bad-targets", id="absolute"),
            pytest.param(make_selection(("a.md", "prose/xx")), "bad-targets", id="unknown-gate"),
        ],
    )
    def test_exits_5_and_writes_nothing(self, root, selection, code):
        done = create(selection, "--json")

        assert (done.exit, done.out) == (5, "")
        assert done.error["code"] == code
        assert done.error["message"].startswith("standard input: ")
        assert not ReviewJob.objects.exists()
        assert not (root / ARTIFACTS).exists()

    def test_rejects_good_targets_with_a_bad_one_and_names_it(self, root):
        targets = [make_target(*AX), make_target("a.md", "prose/y") | {"gate_id": "prose/z"}]

        done = create(make_selection(targets=targets))

        assert done.exit == 5
        assert "targets[1]" in done.err
        assert "which is 'prose/y'" in done.err

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(["--grouping", "note", "--batch-size", "4"], id="batch-of-a-note"),
            pytest.param(["--grouping", "gate", "--batch-size", "0"], id="batch-zero"),
            pytest.param(["--grouping", "gate", "--batch-size", "-1"], id="batch-negative"),
            pytest.param(["--grouping", "lens"], id="grouping"),
            pytest.param([], id="no-grouping"),
            pytest.param(["--grouping", "note", "--max-prompt-tokens", "0"], id="tokens-zero"),
        ],
    )
    def test_exits_2_for_a_command_line_that_makes_no_sense(self, root, options):
        done = run("create_review_jobs", "--input", "-", *options, "--json", stdin=make_selection())

        assert (done.exit, done.out) == (2, "")
        assert done.error["schema"] == "error/1"

    def test_exits_5_for_a_missing_file(self, root):
        done = run("create_review_jobs", "--input", root / "no.json", "--grouping", "note")

        assert done.exit == 5

    def test_exits_4_for_a_folder_of_another_store(self, root):
        theirs = root / ARTIFACTS / "review-job-1"
        theirs.mkdir(parents=True)
        (theirs / "MANIFEST.json").write_text(json.dumps({"store_id": "f" * 32}))

        done = create(make_selection(AX), "--json")

        assert (done.exit, done.error["code"]) == (4, "foreign-job-folder")
        assert list(theirs.iterdir()) == [theirs / "MANIFEST.json"]

    def test_exits_1_when_the_system_refuses_to_write(self, root):
        (root / ARTIFACTS).parent.mkdir(parents=True)
        (root / ARTIFACTS).write_text("a file where the folder should be")

        done = create(make_selection(AX), "--json")

        assert (done.exit, done.error["code"]) == (1, "artifact-not-written")
        assert not ReviewJob.objects.exists()


class TestTwoStores:
    def test_with_one_root_do_not_overwrite_each_other(self, root):
        second = {"COMMONPLACE_REVIEW_DB": str(root / "kb" / "reports" / "second.sqlite")}
        command = ("create_review_jobs", "--input", "-", "--grouping", "note", "--json")
        run_forked("review_job_list", root=root, env=second)
        made = run_forked(*command, root=root, stdin=make_selection(AX))
        prompt = (root / made.json["jobs"][0]["prompt_path"]).read_bytes()

        refused = run_forked(*command, root=root, stdin=make_selection(AX), env=second)

        assert (refused.exit, refused.error["code"]) == (4, "foreign-job-folder")
        assert (root / made.json["jobs"][0]["prompt_path"]).read_bytes() == prompt

        apart = second | {"COMMONPLACE_REVIEW_ARTIFACTS": str(root / "kb" / "reports" / "second")}
        done = run_forked(*command, root=root, stdin=make_selection(AX), env=apart)
        assert (done.exit, done.json["jobs"][0]["review_job_id"]) == (0, 1)


class TestKilled:
    NOTES = [f"n{number}.md" for number in range(6)]

    @pytest.mark.parametrize(
        ("point", "kept"),
        [
            pytest.param("in-a-folder", 0, id="in-a-folder"),
            pytest.param("before-the-first-commit", 0, id="before-the-first-commit"),
            pytest.param("before-the-second-commit", 2, id="before-the-second-commit"),
        ],
    )
    def test_leaves_nothing_that_a_second_try_trips_over(self, root, tmp_path, point, kept):
        make_root(root, notes=dict.fromkeys(self.NOTES, NOTE))
        selection = tmp_path / "selection.json"
        selection.write_bytes(make_selection(*((name, "prose/x") for name in self.NOTES)))

        died = self.kill(point, selection, root)
        again = run_forked(
            *("create_review_jobs", "--input", selection, "--grouping", "note", "--json"), root=root
        )

        assert died == -signal.SIGKILL
        assert again.exit == 0, again.err
        job_ids = [job["review_job_id"] for job in again.json["jobs"]]
        assert job_ids == list(range(kept + 1, 7))
        assert len(again.json["skipped"]) == kept
        assert {item["reason"] for item in again.json["skipped"]} <= {"already-queued"}
        self.assert_each_job_has_its_own_prompt(root)

    def kill(self, point: str, selection: Path, root: Path) -> int:
        return subprocess.run(
            [sys.executable, "-m", "tests.helpers.killed_creator", point, str(selection)],
            cwd=REPOSITORY,
            env=process_environment(root),
            capture_output=True,
            check=False,
            timeout=60,
        ).returncode

    def assert_each_job_has_its_own_prompt(self, root: Path) -> None:
        jobs = run_forked("review_job_list", "--json", root=root).json["jobs"]
        assert len(jobs) == 6
        for job in jobs:
            prompt = (root / job["prompt_path"]).read_text()
            assert f"/1: {job['pairs'][0]['note_path']} :: prose/x" in prompt
            manifest = json.loads((root / job["manifest_path"]).read_text())
            assert [pair["review_pair_id"] for pair in manifest["pairs"]] == [
                pair["review_pair_id"] for pair in job["pairs"]
            ]
        # What was left of the dead one is out of the way, and no half-made folder stays.
        assert not list((root / ARTIFACTS).glob(".*"))


class TestTwoCreators:
    def test_of_one_selection_request_each_pair_once(self, root):
        notes = [f"n{number}.md" for number in range(120)]
        make_root(root, notes=dict.fromkeys(notes, NOTE))
        selection = make_selection(*((name, "prose/x") for name in notes))
        run_forked("review_job_list", root=root)
        creators = [
            subprocess.Popen(
                [
                    *(sys.executable, str(REPOSITORY / "manage.py"), "create_review_jobs"),
                    *("--input", "-", "--grouping", "note", "--json"),
                ],
                cwd=root,
                env=process_environment(root),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(2)
        ]
        for creator in creators:
            creator.stdin.write(selection)
            creator.stdin.close()
            creator.stdin = None
        documents = [json.loads(creator.communicate(timeout=60)[0]) for creator in creators]

        requested = sorted(
            pair["note_path"]
            for document in documents
            for job in document["jobs"]
            for pair in job["pairs"]
        )
        assert requested == sorted(f"kb/notes/{name}" for name in notes)
        skipped = [item for document in documents for item in document["skipped"]]
        assert len(skipped) == len(notes)
        assert {item["reason"] for item in skipped} == {"already-queued"}
