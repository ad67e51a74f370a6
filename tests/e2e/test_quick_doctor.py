"""`review_doctor --quick`: a look at everything but the content of the store and the files of jobs."""

from __future__ import annotations

import pytest

from tests.builders import NOTE, make_root
from tests.helpers.commands import run
from tests.helpers.doctoring import examine
from tests.helpers.reviewed import review_pairs


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


@pytest.fixture
def reviewed(root, db):
    review_pairs(root, ("a.md", "prose/x"))
    return root


class TestQuick:
    def test_everything_is_named_and_fine(self, reviewed):
        code, checks = examine("--quick")

        assert code == 0
        assert list(checks) == ["bytecode", "configuration", "store", "knowledge-base"]
        assert {check["state"] for name, check in checks.items() if name != "bytecode"} == {"ok"}

    def test_a_gate_that_cannot_be_read_is_named(self, reviewed):
        gate = reviewed / "kb" / "instructions" / "review-gates" / "prose" / "x.md"
        gate.write_bytes(b"\xff\xfe")

        _code, checks = examine("--quick")

        assert checks["knowledge-base"]["state"] == "warning"
        assert "prose/x.md" in checks["knowledge-base"]["details"][0]

    def test_a_store_that_is_not_there_is_a_problem_and_notes_are_looked_at(
        self, root, monkeypatch
    ):
        monkeypatch.setattr("review.upkeep.doctor.open_store", _refuse_as_missing)

        code, checks = examine("--quick")

        assert (code, checks["store"]["state"]) == (1, "problem")
        assert "knowledge-base" in checks

    @pytest.mark.parametrize("other", ["--check", "--repair", "--prune", "--backup=x"])
    def test_it_goes_with_no_other(self, root, other):
        done = run("review_doctor", "--quick", other)

        assert done.exit == 2
        assert "--quick does nothing else" in done.err


def _refuse_as_missing(**_wanted):
    from review.store.errors import StoreForeign

    raise StoreForeign("there is none")
