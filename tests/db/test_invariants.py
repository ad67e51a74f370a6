"""The invariants of a store hold after everything that commands do, and each is missed when broken."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import connection, transaction

from review.queries.invariants import broken_invariants, invariant_names
from tests.helpers.breaking import BREAKS
from tests.helpers.commands import run
from tests.helpers.story import Story, story_root

pytestmark = pytest.mark.django_db


class _Undo(Exception):
    """Takes back what was broken."""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A store in which everything occurs."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_ACTOR", "human:test")
    Story(story_root(tmp_path), run).tell()


def execute(statements):
    with connection.cursor() as cursor:
        for statement in (statements,) if isinstance(statements, str) else statements:
            cursor.execute(statement)


def broken_names(**options):
    return {item.name for item in broken_invariants(**options)}


class TestSound:
    def test_an_empty_store_breaks_none(self):
        assert broken_invariants() == ()

    def test_a_store_in_which_everything_occurred_breaks_none(self, told):
        assert broken_invariants() == ()

    def test_nor_after_its_jobs_files_were_pruned(self, told):
        run("review_doctor", "--prune", "--yes")

        assert broken_invariants() == ()


class TestBroken:
    def test_each_way_is_named(self, told):
        missed = []
        for name, statements, way in BREAKS:
            with suppress(_Undo), transaction.atomic():
                execute(statements)
                if name not in broken_names():
                    missed.append(f"{name}: {way}")
                raise _Undo

        assert missed == []
        assert broken_invariants() == ()

    @pytest.mark.postgresql
    def test_a_counter_behind_its_rows_is_named(self, told):
        execute("SELECT setval(pg_get_serial_sequence('review_pairs', 'id'), 1)")

        assert broken_names() == {"id-counters-are-ahead-of-the-rows"}

    @pytest.mark.sqlite
    def test_a_text_that_is_no_text_any_more_is_a_wrong_digest(self, told):
        execute("UPDATE review_file_snapshots SET text = CAST(X'ff' AS TEXT) WHERE id = 1")

        assert broken_names() == {"snapshots-have-their-digests"}

    def test_every_rule_is_broken_above(self):
        broken = {name for name, _sql, _way in BREAKS} | {"id-counters-are-ahead-of-the-rows"}

        assert broken == set(invariant_names())

    def test_is_counted_and_the_first_are_named(self, told):
        execute("UPDATE review_jobs SET pair_count = pair_count + 1")

        (found,) = broken_invariants()

        assert found.count > 5
        assert found.detail.startswith("job 1 was made with 3 pairs and has 2; job 2 ")
        assert found.detail.count(";") == 4

    def test_of_a_text_is_left_alone_where_no_hashes_are_wanted(self, told):
        execute("UPDATE review_file_snapshots SET text = text || ' '")

        assert broken_names(hashes=False) == set()
        assert "snapshots-have-their-digests" not in invariant_names(hashes=False)
