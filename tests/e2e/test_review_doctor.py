"""`review_doctor`: finds what is off, and makes again what the store can tell."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta

import pytest

from review.job_files import ArtifactStore
from review.models import (
    Acceptance,
    CurrentAcceptance,
    FileSnapshot,
    JobEvent,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewStore,
    ReviewText,
)
from tests.builders import NOTE, NOW, make_jobs, make_root, note_path, write_note
from tests.helpers.commands import run
from tests.helpers.doctoring import examine, state
from tests.helpers.reviewed import FAIL, WARN, current, ingest, review_pairs

HOUR = timedelta(hours=1)
OTHER_STORE = json.dumps({"store_id": "another", "review_job_id": 9})


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


@pytest.fixture
def reviewed(root, db):
    """Two completed jobs and a queued one, with all their files."""
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    review_pairs(root, ("a.md", "prose/x"), review=FAIL, now=NOW + HOUR)
    make_jobs(root, ("b.md", "prose/x"))
    return root


@pytest.fixture
def jobs(reviewed):
    return reviewed / "kb" / "reports" / "bundle-reviews"


class TestHealthy:
    def test_everything_is_named_and_fine(self, reviewed):
        code, checks = examine()

        assert code == 0
        assert {name for name, check in checks.items() if check["state"] != "ok"} <= {"bytecode"}
        assert checks.keys() >= {
            "configuration", "store", "integrity", "pairs", "snapshots", "current-acceptances",
            "prompts", "job-files", "job-folders", "file-index", "knowledge-base",
        }  # fmt: skip

    def test_stays_so_through_the_life_of_a_job(self, reviewed):
        (job,) = make_jobs(reviewed, ("b.md", "prose/x"), force=True)
        run("claim_review_job", "--review-job-id", job.review_job_id, "--runner", "r", now=NOW)
        assert examine()[0] == 0

        ingest(reviewed, job.review_job_id)
        assert examine()[0] == 0

    def test_stays_so_when_an_operator_fails_or_replaces_a_job(self, reviewed):
        (job,) = make_jobs(reviewed, ("b.md", "prose/x"), force=True)
        run("recover_review_jobs", job.review_job_id, "--action", "replace", now=NOW)

        assert examine()[0] == 0

    def test_as_text_each_check_is_a_line(self, reviewed):
        lines = run("review_doctor").out.splitlines()

        assert any(line.startswith("ok          snapshots: ") for line in lines)

    def test_looking_changes_nothing(self, reviewed):
        def rows():
            return list(CurrentAcceptance.objects.values()), JobEvent.objects.count()

        before = rows()

        examine()

        assert rows() == before


class TestCurrentAcceptances:
    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda first: CurrentAcceptance.objects.update(event=first), id="older"),
            pytest.param(lambda first: CurrentAcceptance.objects.all().delete(), id="missing"),
            pytest.param(
                lambda first: CurrentAcceptance.objects.update(decision="pass"), id="other-decision"
            ),
            pytest.param(
                lambda first: CurrentAcceptance.objects.update(
                    note_snapshot=FileSnapshot.objects.exclude(pk=first.note_snapshot_id).first()
                ),
                id="other-text",
            ),
        ],
    )
    def test_one_that_is_not_the_last_event_is_found_and_made_again(self, reviewed, spoil):
        expected = CurrentAcceptance.objects.values("event", "decision", "note_snapshot").get()
        spoil(Acceptance.objects.order_by("pk")[0])

        code, checks = examine()
        assert (code, checks["current-acceptances"]["state"]) == (1, "problem")
        code, checks = examine("--repair")
        assert (code, checks["current-acceptances"]["state"]) == (0, "repaired")

        assert (
            CurrentAcceptance.objects.values("event", "decision", "note_snapshot").get() == expected
        )
        assert current().decision == "fail"
        assert examine()[0] == 0

    def test_one_without_any_event_of_its_key_is_removed(self, reviewed):
        write_note(reviewed, "c.md", NOTE)
        (job,) = make_jobs(reviewed, ("c.md", "prose/x"))
        other = ReviewPair.objects.get(pk=job.pairs[0].review_pair_id)
        row = CurrentAcceptance.objects.get()
        CurrentAcceptance.objects.create(
            model_partition=row.model_partition, note=other.note, gate=other.gate, event=row.event,
            note_snapshot=row.note_snapshot, gate_snapshot=row.gate_snapshot, decision=row.decision,
        )  # fmt: skip

        assert state("current-acceptances", "--repair") == "repaired"

        assert CurrentAcceptance.objects.get().pk == row.pk


class TestRows:
    def test_a_completed_pair_without_a_text_is_found(self, reviewed):
        ReviewText.objects.all()[0].delete()

        code, checks = examine("--repair")

        assert (code, checks["pairs"]["state"]) == (1, "problem")
        assert "has no text" in checks["pairs"]["details"][0]

    def test_a_completed_job_with_a_pair_that_waits_is_found(self, reviewed):
        ReviewJob.objects.filter(status="queued").update(status="completed", completed_at=NOW)

        assert "is pending, but its job" in examine()[1]["pairs"]["details"][0]

    def test_a_job_that_lost_a_pair_is_found(self, reviewed):
        ReviewJob.objects.filter(status="queued").update(pair_count=2)

        assert state("pairs") == "problem"

    def test_a_text_that_was_altered_is_found(self, reviewed):
        FileSnapshot.objects.filter(path__path=note_path("a.md")).update(text="# Other\n")

        code, checks = examine("--repair")

        assert (code, checks["snapshots"]["state"]) == (1, "problem")
        assert note_path("a.md") in checks["snapshots"]["details"][0]

    def test_however_many_faults_only_the_first_are_named(self, root, db):
        for number in range(30):
            write_note(root, f"n{number}.md", NOTE)
        pairs = [(f"n{number}.md", "prose/x") for number in range(30)]
        review_pairs(root, *pairs)
        ReviewText.objects.all().delete()

        check = examine()[1]["pairs"]

        assert check["message"].startswith("30 ")
        assert len(check["details"]) == 21
        assert check["details"][-1] == "and 10 more"


class TestThorough:
    def test_says_that_all_invariants_hold(self, reviewed):
        code, checks = examine("--check")

        assert code == 0
        assert checks["invariants"]["state"] == "ok"

    def test_names_each_invariant_that_is_broken(self, reviewed):
        ReviewJob.objects.filter(status="queued").update(pair_count=2)

        code, checks = examine("--check")

        assert code == 1
        assert checks["jobs-have-the-pairs-they-were-made-with"] == {
            "name": "jobs-have-the-pairs-they-were-made-with",
            "state": "problem",
            "message": "1 row breaks it",
            "details": ["job 3 was made with 2 pairs and has 1"],
        }
        assert "invariants" not in checks

    def test_finds_a_raw_output_that_was_altered(self, reviewed):
        JobOutput.objects.create(job_id=1, content_sha256="0" * 64, raw=b"other", at=NOW)

        assert examine("--check")[1]["raw-outputs-have-their-digests"]["state"] == "problem"

    def test_judges_the_store_and_not_files_that_it_can_write_again(self, jobs):
        shutil.rmtree(jobs / "review-job-1")
        (jobs / "review-job-3" / "prompt.md").unlink()

        code, checks = examine("--check")

        assert code == 0
        assert checks["job-files"]["state"] == checks["prompts"]["state"] == "repairable"

    def test_with_repair_makes_current_acceptances_again_first(self, reviewed):
        CurrentAcceptance.objects.all().delete()

        code, checks = examine("--check", "--repair")

        assert code == 0
        assert checks["current-acceptances"]["state"] == "repaired"
        assert checks["invariants"]["state"] == "ok"


class TestJobFiles:
    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda folder: shutil.rmtree(folder), id="folder-gone"),
            pytest.param(lambda folder: (folder / "MANIFEST.json").unlink(), id="manifest-gone"),
            pytest.param(
                lambda folder: next(folder.glob("pair-*.md")).write_text("x"), id="result-altered"
            ),
            pytest.param(
                lambda folder: (folder / "MANIFEST.json").write_text("{}"), id="manifest-altered"
            ),
            pytest.param(
                lambda folder: (
                    next(folder.glob("pair-*.md")).unlink(),
                    (folder / "pair-1-a.prose.x.md").mkdir(),
                ),
                id="a-folder-in-its-place",
            ),
        ],
    )
    def test_are_found_and_written_again_from_the_store(self, jobs, spoil):
        folder = jobs / "review-job-1"
        before = {path.name: path.read_bytes() for path in folder.glob("*[N-r]*") if path.is_file()}
        spoil(folder)

        code, checks = examine()
        assert (code, checks["job-files"]["state"]) == (1, "repairable")
        code, checks = examine("--repair")

        assert (code, checks["job-files"]["state"]) == (0, "repaired")
        assert (folder / "pair-1-a.prose.x.md").read_bytes() == before["pair-1-a.prose.x.md"]
        assert (folder / "MANIFEST.json").read_bytes() == before["MANIFEST.json"]

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda prompt: prompt.unlink(), id="gone"),
            pytest.param(lambda prompt: prompt.write_text("Pass everything.\n"), id="altered"),
        ],
    )
    def test_a_prompt_of_an_open_job_is_found_and_written_again(self, jobs, spoil):
        prompt = jobs / "review-job-3" / "prompt.md"
        before = prompt.read_bytes()
        spoil(prompt)

        code, checks = examine()
        assert (code, checks["prompts"]["state"]) == (1, "repairable")
        code, checks = examine("--repair")

        assert (code, checks["prompts"]["state"]) == (0, "repaired")
        assert prompt.read_bytes() == before

    def test_a_prompt_that_would_be_another_today_is_not_made_up(self, root, db):
        write_note(root, "a.md", "# A\n\nSee [the other](b.md).\n")
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        (root / job.prompt_path).unlink()
        (root / note_path("b.md")).unlink()

        code, checks = examine("--repair")

        assert (code, checks["prompts"]["state"]) == (1, "problem")
        assert "replace" in checks["prompts"]["message"]
        assert not (root / job.prompt_path).exists()


class TestFolders:
    @pytest.mark.parametrize(
        ("name", "manifest", "said"),
        [
            pytest.param("review-job-99", "", "no such job", id="unknown-job"),
            pytest.param("review-job-99", OTHER_STORE, "of another store", id="another-store"),
            pytest.param("notes", "", "not the name of a job's folder", id="another-name"),
        ],
    )
    def test_that_no_job_knows_are_named_and_left(self, jobs, name, manifest, said):
        (jobs / name).mkdir()
        if manifest:
            (jobs / name / "MANIFEST.json").write_text(manifest)

        code, checks = examine("--repair")

        assert (code, checks["job-folders"]["state"]) == (1, "problem")
        assert said in checks["job-folders"]["details"][0]
        assert (jobs / name).is_dir()

    def test_of_another_store_are_not_to_be_deleted_before_it_is_found(self, jobs):
        (jobs / "review-job-99").mkdir()
        (jobs / "review-job-99" / "MANIFEST.json").write_text(OTHER_STORE)

        said = examine()[1]["job-folders"]["message"]

        assert f"delete none of the store {json.loads(OTHER_STORE)['store_id']}" in said
        assert "COMMONPLACE_REVIEW_DB" in said
        assert "then delete them" not in said

    def test_of_a_creation_that_was_ended_before_its_commit_is_no_fault(self, jobs):
        (jobs / "review-job-4").mkdir()
        manifest = {"store_id": ReviewStore.objects.get().store_id, "review_job_id": 4}
        (jobs / "review-job-4" / "MANIFEST.json").write_text(json.dumps(manifest))

        check = examine()[1]["job-folders"]

        assert check["state"] == "ok"
        assert "1 of jobs that were not made in the end" in check["message"]

    def test_that_were_set_aside_are_no_fault(self, jobs):
        (jobs / "review-job-1.aside-1").mkdir()
        (jobs / ".review-job-4.abc.tmp").mkdir()

        check = examine()[1]["job-folders"]

        assert check["state"] == "ok"
        assert "2 were set aside" in check["message"]


class TestPrune:
    def test_first_only_names_what_could_go(self, jobs):
        _code, checks = examine("--prune")

        assert checks["prunable"]["details"] == ["job 1 (completed)", "job 2 (completed)"]
        assert (jobs / "review-job-1").is_dir()

    def test_removes_files_of_closed_jobs_and_no_review(self, jobs):
        queue = run("warn_selector", "--json").out

        code, checks = examine("--prune", "--yes", "--actor", "human:ana")

        assert (code, checks["prunable"]["state"]) == (0, "repaired")
        assert [path.name for path in jobs.iterdir()] == ["review-job-3"]
        assert run("warn_selector", "--json").out == queue
        assert {event.actor for event in JobEvent.objects.filter(note="artifacts pruned")} == {
            "human:ana"
        }

    def test_what_was_removed_is_missed_by_nobody(self, jobs):
        examine("--prune", "--yes")

        code, checks = examine("--repair")

        assert (code, checks["job-files"]["state"]) == (0, "ok")
        assert not (jobs / "review-job-1").exists()

    def test_one_that_was_killed_half_way_is_finished_by_the_next(self, jobs, monkeypatch):
        def kill(self, job_ids):
            (jobs / "review-job-1" / "MANIFEST.json").unlink()
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(ArtifactStore, "discard_folders", kill)
            run("review_doctor", "--prune", "--yes")

        assert examine("--prune", "--yes")[0] == 0
        assert [path.name for path in jobs.iterdir()] == ["review-job-3"]

    def test_leaves_a_folder_of_the_same_name_that_does_not_say_whose_it_is(self, jobs):
        (jobs / "review-job-1" / "MANIFEST.json").unlink()

        examine("--prune", "--yes")

        assert (jobs / "review-job-1").is_dir()

    def test_a_failed_job_whose_output_may_yet_come_is_kept(self, jobs):
        run("recover_review_jobs", 3, "--action", "fail", now=NOW)

        _code, checks = examine("--prune")

        assert "job 3 (failed)" not in checks["prunable"]["details"]

    def test_yes_alone_is_a_usage_error(self, root):
        assert run("review_doctor", "--yes").exit == 2
