"""`review_doctor`: the file index, the installation, and stores that cannot be used."""

from __future__ import annotations

import sqlite3

import pytest

from tests.builders import NOTE, make_root, note_path, write_note
from tests.helpers.commands import run, run_process
from tests.helpers.doctoring import examine, forge_index, state
from tests.helpers.forked import run_forked
from tests.helpers.reviewed import review_pairs
from tests.helpers.servers import new_database, url_of


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


@pytest.fixture
def reviewed(root, db):
    """One pair was reviewed."""
    review_pairs(root, ("a.md", "prose/x"))
    return root


class TestJobFolders:
    def test_one_that_leads_elsewhere_is_not_called_repairable(self, reviewed, tmp_path_factory):
        folder = reviewed / "kb/reports/bundle-reviews/review-job-1"
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "job"
        folder.rename(elsewhere)
        folder.symlink_to(elsewhere)

        looked = examine()[1]["job-files"]
        repaired = examine("--repair")[1]["job-files"]

        for check in (looked, repaired):
            assert check["state"] == "problem"
            assert "--repair writes them again" not in check["message"]
        assert all("remove it" in detail for detail in looked["details"])

    def test_once_the_link_is_removed_is_written_again(self, reviewed, tmp_path_factory):
        folder = reviewed / "kb/reports/bundle-reviews/review-job-1"
        folder.rename(tmp_path_factory.mktemp("elsewhere") / "job")
        folder.symlink_to("nowhere")
        folder.unlink()

        assert examine("--repair")[1]["job-files"]["state"] == "repaired"
        assert state("job-files") == "ok"


class TestFileIndex:
    def test_one_that_remembers_wrong_is_found_and_removed(self, reviewed):
        forge_index(reviewed, note_path("a.md"))

        code, checks = examine()
        assert (code, checks["file-index"]["state"]) == (1, "problem")
        assert note_path("a.md") in checks["file-index"]["details"][0]
        code, checks = examine("--repair")

        assert (code, checks["file-index"]["state"]) == (0, "repaired")
        assert state("file-index") == "ok"

    def test_a_damaged_one_is_slower_and_never_wrong(self, reviewed):
        run("review_status")
        (reviewed / "kb/reports/review-store.index").write_bytes(b"rubbish")

        assert state("file-index") == "ok"


class TestSurroundings:
    def test_a_problem_with_a_note_is_a_warning(self, reviewed):
        write_note(reviewed, "bad.md", b"\xff\xfe")

        code, checks = examine()

        assert (code, checks["knowledge-base"]["state"]) == (0, "warning")

    def test_settings_that_are_not_understood_are_a_problem(self, root):
        (root / "kb/review.toml").write_text("[notes]\nrotos = []\n")

        code, checks = examine()

        assert (code, checks["configuration"]["state"]) == (1, "problem")
        assert "store" not in checks

    def test_modules_that_are_never_compiled_are_a_warning(self, tmp_path):
        env = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path / "none")}

        run_forked("review_status", root=make_root(tmp_path))

        done = run_process("review_doctor", "--json", root=tmp_path, env=env)

        assert done.exit == 0
        (check,) = [item for item in done.json["checks"] if item["name"] == "bytecode"]
        assert check["state"] == "warning"
        assert "compileall" in check["message"]


class TestStore:
    def test_one_that_cannot_be_used_is_a_problem_and_the_rest_is_checked(self, tmp_path):
        root = make_root(tmp_path)
        (root / "kb/reports").mkdir()
        (root / "kb/reports/review-store.sqlite").write_bytes(b"not a database at all" * 100)

        done = run_forked("review_doctor", "--json", root=root)

        states = {check["name"]: check["state"] for check in done.json["checks"]}
        assert done.exit == 1
        assert (states["store"], states["store-content"]) == ("problem", "skipped")
        assert states["knowledge-base"] == "ok"

    @pytest.mark.parametrize("option", [(), ("--check",), ("--repair",), ("--prune", "--yes")])
    @pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
    def test_one_that_is_not_there_is_a_problem_and_is_not_made(self, tmp_path, option, content):
        make_root(tmp_path)
        store = tmp_path / "elsewhere" / "typo.sqlite"
        if content is not None:
            store.parent.mkdir()
            store.write_bytes(content)

        done = run_forked(
            "review_doctor", *option, "--json",
            root=tmp_path, env={"COMMONPLACE_REVIEW_DB": str(store)},
        )  # fmt: skip

        checks = {check["name"]: check for check in done.json["checks"]}
        assert done.exit == 1
        assert checks["store"]["state"] == "problem"
        assert f"{store} is missing or empty" in checks["store"]["message"]
        assert "COMMONPLACE_REVIEW_DB" in checks["store"]["details"][0]
        assert checks["store-content"]["state"] == "skipped"
        assert "invariants" not in checks
        assert list(store.parent.glob("*")) == ([] if content is None else [store])
        assert store.exists() is (content is not None)
        assert not (tmp_path / "kb/reports/review-store.sqlite").exists()

    @pytest.mark.postgresql
    def test_a_database_that_is_not_there_is_a_problem(self, tmp_path):
        done = run_forked(
            "review_doctor", "--check", "--json",
            root=make_root(tmp_path), env={"COMMONPLACE_REVIEW_DB": url_of("no_such_database")},
        )  # fmt: skip

        (said,) = [check for check in done.json["checks"] if check["name"] == "store"]
        assert (done.exit, said["state"]) == (1, "problem")
        assert "no_such_database" in said["message"]

    @pytest.mark.postgresql
    def test_an_empty_database_is_a_problem_and_stays_empty(self, tmp_path):
        make_root(tmp_path)
        with new_database() as url:
            for _ in range(2):
                done = run_forked(
                    "review_doctor", "--check", root=tmp_path, env={"COMMONPLACE_REVIEW_DB": url}
                )

                assert done.exit == 1
                assert "is missing or empty: no store was made yet" in done.out

    @pytest.mark.parametrize("option", [(), ("--check",)], ids=["look", "check"])
    def test_a_server_that_does_not_answer_is_a_problem_that_may_pass(self, tmp_path, option):
        url = "postgres://ana:hunter2@127.0.0.1:1/kb"

        done = run_forked(
            "review_doctor", *option, "--json",
            root=make_root(tmp_path), env={"COMMONPLACE_REVIEW_DB": url},
        )  # fmt: skip

        checks = {check["name"]: check for check in done.json["checks"]}
        assert done.exit == 75
        assert checks["store"]["state"] == "problem"
        assert "cannot be reached" in checks["store"]["message"]
        assert checks["knowledge-base"]["state"] == "ok"
        assert "hunter2" not in done.out + done.err

    def test_a_reference_to_nothing_is_found(self, tmp_path):
        root = make_root(tmp_path)
        run_forked("review_status", root=root)
        with sqlite3.connect(root / "kb/reports/review-store.sqlite") as store:
            store.execute(
                "INSERT INTO review_file_snapshots"
                " (path_id, content_sha256, byte_size, captured_at, text)"
                " VALUES (99, ?, 0, '2026-01-01', '')", ["0" * 64],
            )  # fmt: skip
        store.close()

        done = run_forked("review_doctor", root=root)

        assert done.exit == 1
        assert "problem     integrity: " in done.out
        assert "refers to a row of review_paths that is not there" in done.out

    def test_examining_it_writes_nothing(self, tmp_path):
        root = make_root(tmp_path)
        run_forked("review_status", root=root)
        store = root / "kb/reports/review-store.sqlite"
        before = store.read_bytes()

        done = run_forked("review_doctor", root=root)

        assert done.exit == 0
        assert store.read_bytes() == before
