"""The invariants of a store hold after everything that commands do, and each is missed when broken."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import connection, transaction

from review.models import ReviewJob
from review.upkeep.checks import all_invariants, broken_invariants
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


def execute(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def broken_names():
    return {item.name for item in broken_invariants()}


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
        for name, statement, way in BREAKS:
            with suppress(_Undo), transaction.atomic():
                execute(statement)
                if name not in broken_names():
                    missed.append(f"{name}: {way}")
                raise _Undo

        assert missed == []
        assert broken_invariants() == ()

    def test_every_rule_is_broken_above(self):
        broken = {name for name, _sql, _way in BREAKS}

        assert broken == set(all_invariants())

    def test_is_counted_and_the_first_are_named(self, told):
        execute("UPDATE review_jobs SET pair_count = pair_count + 1")

        (found,) = broken_invariants()

        assert found.message == f"{ReviewJob.objects.count()} rows break it"
        assert found.details[0] == "job 1 was made with 3 pairs and has 2"
