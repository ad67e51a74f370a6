"""A copy that is run again on its target."""

from __future__ import annotations

import pytest

from tests.helpers.copied_stores import change, copy, grow, rows

pytestmark = pytest.mark.django_db


class TestAgain:
    def test_finds_nothing_to_do(self, source, copied):
        done = copy(source, copied, "--json")

        assert done.exit == 0
        assert done.json["target_was"] == "whole"
        assert {table["added"] + table["changed"] for table in done.json["tables"]} == {0}

    @pytest.mark.parametrize(
        ("statement", "table"),
        [
            pytest.param("UPDATE review_texts SET text = 'other' WHERE pair_id = 7", "review_texts", id="text"),
            pytest.param("DELETE FROM review_findings WHERE id = 3", "review_findings", id="gone"),
            pytest.param("UPDATE review_pairs SET decision = 'fail' WHERE id = 5", "review_pairs", id="pair"),
            pytest.param(
                "UPDATE acceptance_events SET accepted_at = '2026-01-01 00:00:00.000001+00' WHERE id = 2",
                "acceptance_events", id="microsecond",
            ),
            pytest.param("UPDATE review_jobs SET telemetry = '{}' WHERE id = 5", "review_jobs", id="telemetry"),
            pytest.param(
                "INSERT INTO review_paths (id, path) VALUES (999, 'kb/mine.md')", "review_paths", id="more",
            ),
        ],
    )  # fmt: skip
    def test_a_target_that_was_changed_is_refused(self, source, copied, statement, table):
        change(copied, statement)
        before = rows(copied)

        done = copy(source, copied, "--json")

        assert (done.exit, done.error["code"]) == (4, "target-differs")
        assert done.error["message"].startswith(f"{table} differs")
        assert rows(copied) == before

    def test_an_earlier_copy_is_refused_once_the_source_went_on(self, source, copied):
        grow(source, seed=2)
        before = rows(copied)

        for options in ((), ("--dry-run",)):
            done = copy(source, copied, "--json", *options)

            assert (done.exit, done.error["code"]) == (4, "target-differs")
            assert "empty target" in done.error["hint"]
        assert rows(copied) == before
