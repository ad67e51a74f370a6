"""`review_doctor`: the file index, the installation, and stores that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import time

import pytest

from review.corpus.index import FileIndex, KindRow, NoteRow
from review.corpus.signature import signature_of
from tests.builders import NOTE, make_root, note_path, write_note
from tests.helpers.commands import run, run_process
from tests.helpers.doctoring import examine, state
from tests.helpers.reviewed import review_pairs


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


@pytest.fixture
def reviewed(root, db):
    """One pair was reviewed."""
    review_pairs(root, ("a.md", "prose/x"))
    return root


def forge_index(root, path):
    """Have the index remember other facts of a note than its file has, behind an equal stat."""
    index = FileIndex(
        root / "kb/reports/review-store.index", root=os.path.realpath(root), clock_ns=time.time_ns
    )
    # Only who has read all rows writes rows.
    assert index.notes is not None
    kind = index.kind_number(KindRow("", (), True))
    signature = signature_of((root / path).stat())
    index.remember_note(path, NoteRow(signature, "0" * 64, "", kind, ()))
    index.save()


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

        done = run_process("review_doctor", "--json", root=make_root(tmp_path), env=env)

        assert done.exit == 0
        (check,) = [item for item in done.json["checks"] if item["name"] == "bytecode"]
        assert check["state"] == "warning"
        assert "compileall" in check["message"]


class TestStore:
    def test_one_that_cannot_be_used_is_a_problem_and_the_rest_is_checked(self, tmp_path):
        root = make_root(tmp_path)
        (root / "kb/reports").mkdir()
        (root / "kb/reports/review-store.sqlite").write_bytes(b"not a database at all" * 100)

        done = run_process("review_doctor", "--json", root=root)

        states = {check["name"]: check["state"] for check in done.json["checks"]}
        assert done.exit == 1
        assert (states["store"], states["store-content"]) == ("problem", "skipped")
        assert states["knowledge-base"] == "ok"

    def test_a_reference_to_nothing_is_found(self, tmp_path):
        root = make_root(tmp_path)
        run_process("review_status", root=root)
        with sqlite3.connect(root / "kb/reports/review-store.sqlite") as store:
            store.execute(
                "INSERT INTO review_file_snapshots"
                " (path_id, content_sha256, byte_size, captured_at, text)"
                " VALUES (99, ?, 0, '2026-01-01', '')", ["0" * 64],
            )  # fmt: skip
        store.close()

        done = run_process("review_doctor", root=root)

        assert done.exit == 1
        assert "problem     integrity: " in done.out
        assert "refers to a row of review_paths that is not there" in done.out

    def test_examining_it_writes_nothing(self, tmp_path):
        root = make_root(tmp_path)
        run_process("review_status", root=root)
        store = root / "kb/reports/review-store.sqlite"
        before = store.read_bytes()

        done = run_process("review_doctor", root=root)

        assert done.exit == 0
        assert store.read_bytes() == before
