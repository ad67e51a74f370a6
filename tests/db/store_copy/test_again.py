"""A copy that is run again: what came later is taken, what was changed is told."""

from __future__ import annotations

import pytest

from review import store
from review.store.elsewhere import attached
from tests.helpers.copied_stores import change, copy, grow, rows

pytestmark = pytest.mark.django_db


class TestAgain:
    def test_finds_nothing_to_do(self, source, copied):
        done = copy(source, copied, "--json")

        assert done.exit == 0
        assert done.json["target_was"] == "whole"
        assert {table["added"] + table["changed"] for table in done.json["tables"]} == {0}

    def test_takes_what_was_written_meanwhile(self, source, copied):
        grow(source, seed=2)
        change(source, "UPDATE review_jobs SET claimed_by = 'agent:late' WHERE id = 4")

        done = copy(source, copied, "--json")

        assert done.exit == 0, done.err
        assert rows(copied)["review_store"] == rows(source)["review_store"]
        assert copy(source, copied, "--json").json["tables"][-1]["added"] == 0

    def test_current_acceptances_made_again_under_other_keys_are_taken(self, source, copied):
        change(source, "UPDATE review_current_acceptances SET id = 1000 - id")
        grow(source, seed=3)

        done = copy(source, copied)

        assert done.exit == 0, done.err
        table = "review_current_acceptances"
        assert rows(copied)[table] == rows(source)[table]

    @pytest.mark.parametrize(
        ("statement", "named"),
        [
            pytest.param("UPDATE review_texts SET text = 'other' WHERE pair_id = 7", "rows 7 ", id="text"),
            pytest.param("DELETE FROM review_findings WHERE id = 3", "1 rows", id="gone"),
            pytest.param("UPDATE review_pairs SET decision = 'fail' WHERE id = 5", "1 rows", id="pair"),
            pytest.param(
                "UPDATE acceptance_events SET accepted_at = '2026-01-01 00:00:00.000001+00' WHERE id = 2",
                "rows 2 ", id="microsecond",
            ),
            pytest.param(
                "INSERT INTO review_paths (id, path) VALUES (999, 'kb/mine.md')", "rows 999 ", id="more",
            ),
        ],
    )  # fmt: skip
    def test_a_row_changed_by_hand_is_found(self, source, copied, statement, named):
        change(copied, statement)
        before = rows(copied)

        done = copy(source, copied, "--json")

        if "DELETE" in statement:
            # What is missing is what a copy brings.
            assert done.exit == 0
            return
        assert done.exit == 4
        assert done.error["code"] == "target-differs"
        assert named in done.error["message"]
        assert rows(copied) == before

    def test_a_target_that_was_used_is_left_alone(self, source, copied):
        grow(copied, seed=4)
        grow(source, seed=5)
        before = rows(copied)

        done = copy(source, copied, "--json")

        assert (done.exit, done.error["code"]) == (4, "target-differs")
        assert rows(copied) == before
        with attached("copied", str(copied), named="the test"):
            store.ensure_store(write=True, using="copied")
