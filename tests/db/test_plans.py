"""What is few among much is found in an index of its own, whatever values the statement brings."""

from __future__ import annotations

import pytest
from django.db import connection

from review.knowledge_base import Corpus
from review.models import CurrentAcceptance
from review.reviews.needs_a_look import read_looks, undecided
from review.reviews.pair_states import read_pair_states
from tests.builders import make_config, make_root
from tests.helpers.reviewed import review_pairs

pytestmark = pytest.mark.django_db


def plan_of(rows) -> str:
    """How the database would go about it in a large store."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    return rows.explain()


def test_undecided_pairs_have_an_index():
    assert "review_pair_undecided" in plan_of(undecided())


def test_queued_acceptances_have_an_index():
    assert "current_acceptance_decision" in plan_of(CurrentAcceptance.objects.queued())


class TestWhatTheStatusAsks:
    """No statement scans the review pairs."""

    @pytest.fixture
    def plans(self):
        """What SQLite says to each statement."""
        found: list[str] = []

        def explain(execute, sql, params, many, context):
            if sql.startswith("SELECT"):
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
                    found.extend(step for *_numbers, step in cursor.fetchall())
            return execute(sql, params, many, context)

        with connection.execute_wrapper(explain):
            yield found

    @pytest.mark.sqlite  # its plans are read in SQLite's words
    @pytest.mark.parametrize(
        "ask",
        [read_pair_states, read_looks],
        ids=["states", "looks"],
    )
    def test_no_row_of_every_pair(self, tmp_path, plans, ask):
        root = make_root(tmp_path)
        review_pairs(root, ("a.md", "prose/x"))
        plans.clear()
        with Corpus(make_config(root)) as corpus:
            ask(corpus)

        scanned = [step for step in plans if step.startswith("SCAN review_pairs")]
        assert plans
        assert scanned == []
