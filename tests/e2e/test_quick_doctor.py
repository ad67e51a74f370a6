"""`review_doctor --quick`: a look that costs the same at any size, and says what it left out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from review.models import ReviewJob
from tests.builders import NOTE, NOW, make_jobs, make_root, make_selection, note_path
from tests.helpers.commands import run
from tests.helpers.doctoring import examine, forge_index
from tests.helpers.forked import run_forked
from tests.helpers.reviewed import review_pairs

LONG_AGO = NOW - timedelta(days=2)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


@pytest.fixture
def reviewed(root, db):
    review_pairs(root, ("a.md", "prose/x"))
    make_jobs(root, ("b.md", "prose/x"))
    return root


class TestQuick:
    def test_everything_is_named_and_fine(self, reviewed):
        code, checks = examine("--quick")

        assert code == 0
        assert list(checks) == [
            "bytecode", "configuration", "store", "write-lock", "jobs", "knowledge-base",
            "file-index", "left-out",
        ]  # fmt: skip
        assert {check["state"] for name, check in checks.items() if name != "bytecode"} == {"ok"}
        assert checks["jobs"]["message"] == "1 queued, 0 running, 0 failed"

    def test_it_says_in_text_what_it_left_out(self, reviewed):
        out = run("review_doctor", "--quick").out

        assert (
            "without --quick: prompts, files and folders of jobs, and all notes but the sample"
            in out
        )

    def test_a_job_that_nobody_works_on_is_named_and_no_problem(self, reviewed):
        ReviewJob.objects.filter(status="queued").update(
            status="running", started_at=LONG_AGO, claimed_by="agent:a"
        )

        done = run("review_doctor", "--quick", "--json", now=NOW)

        (jobs,) = (check for check in done.json["checks"] if check["name"] == "jobs")
        assert (done.exit, jobs["state"]) == (0, "warning")
        assert "0 queued, 1 running, 0 failed" in jobs["message"]
        assert jobs["details"][0].startswith("job 2: ")

    def test_a_gate_that_cannot_be_read_is_named(self, reviewed):
        gate = reviewed / "kb" / "instructions" / "review-gates" / "prose" / "x.md"
        gate.write_bytes(b"\xff\xfe")

        _code, checks = examine("--quick")

        assert checks["knowledge-base"]["state"] == "warning"
        assert "prose/x.md" in checks["knowledge-base"]["details"][0]

    def test_a_note_that_is_remembered_wrong_is_found_and_the_index_left_as_it_is(self, reviewed):
        forge_index(reviewed, note_path("a.md"))
        before = (reviewed / "kb/reports/review-store.index").read_bytes()

        code, checks = examine("--quick")

        assert (code, checks["file-index"]["state"]) == (1, "problem")
        assert note_path("a.md") in checks["file-index"]["details"][0]
        assert (reviewed / "kb/reports/review-store.index").read_bytes() == before

    def test_a_lock_that_another_holds_is_told_and_no_problem(self, root):
        run_forked("create_review_jobs", "--input", "-", "--grouping", "note", root=root,
                   stdin=make_selection(("a.md", "prose/x")))  # fmt: skip
        store = root / "kb/reports/review-store.sqlite"

        with closing(sqlite3.connect(store, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            done = run_forked("review_doctor", "--quick", "--json", root=root)

        (lock,) = (check for check in done.json["checks"] if check["name"] == "write-lock")
        assert (done.exit, lock["state"]) == (0, "warning")
        assert lock["message"] == "another process writes at this moment"

    def test_a_store_that_is_not_there_is_a_problem_and_notes_are_looked_at(
        self, root, monkeypatch
    ):
        monkeypatch.setattr("review.orchestration.doctoring.open_store", _refuse_as_missing)

        code, checks = examine("--quick")

        assert (code, checks["store"]["state"]) == (1, "problem")
        assert "knowledge-base" in checks

    @pytest.mark.parametrize("other", ["--check", "--repair", "--prune", "--backup=x"])
    def test_it_goes_with_no_other(self, root, other):
        done = run("review_doctor", "--quick", other)

        assert done.exit == 2
        assert "--quick does nothing else" in done.err


def _refuse_as_missing(**_wanted):
    from review.store.refusals import StoreForeign

    raise StoreForeign("there is none")
