"""What others do while a store is copied."""

from __future__ import annotations

import psycopg
import pytest

from review.errors import TryAgain
from review.orchestration.copy_filling import CopyNotVerified
from review.orchestration.copy_standing import Standing, TargetMoved
from review.orchestration.copying import TARGET, CopyRequest, copy_store
from review.store.unfinished import StoreUnfinished
from tests.helpers.commands import run
from tests.helpers.copied_stores import change, copy, grow, rows

pytestmark = pytest.mark.django_db


def copy_with(source, target, act, *, doing="copying", table="review_pairs"):
    """Copy, and do `act` when a table's turn has come."""
    waiting = [act]

    def tell(what, which, _done, _of):
        if waiting and (what, which.name) == (doing, table):
            waiting.pop()()

    done = copy_store(CopyRequest(str(source), "--from", str(target), "--to"), tell=tell)
    assert not waiting
    return done


class TestMeanwhile:
    def test_the_source_is_copied_as_it_was_at_the_start(self, source, target):
        before = rows(source)

        copy_with(source, target, lambda: grow(source, seed=2))

        there = rows(target)
        assert {name: there[name] for name in there if name != "review_jobs"} == {
            name: before[name] for name in before if name != "review_jobs"
        }
        assert len(there["review_jobs"]) == len(before["review_jobs"])
        assert copy(source, target, "--json").json["target_was"] == "whole"
        assert len(rows(target)["review_pairs"]) == len(rows(source)["review_pairs"])

    def test_a_row_changed_before_it_is_verified_is_named(self, source, target):
        statement = "UPDATE review_texts SET text = 'mine' WHERE pair_id = 11"

        with pytest.raises(CopyNotVerified, match=r"review_texts in .* rows 11 are"):
            copy_with(
                source,
                target,
                lambda: change(target, statement),
                table="review_paths",
                doing="verifying",
            )

        assert (
            run("review_store_copy", "--from", target, "--to", f"{source}.2", "--json").error[
                "code"
            ]
            == "store-unfinished"
        )

    def test_a_row_added_before_it_is_verified_is_named(self, source, target):
        statement = "INSERT INTO review_model_partitions (id, name) VALUES (77, 'mine')"

        with pytest.raises(CopyNotVerified, match="rows 77 are not in the source"):
            copy_with(source, target, lambda: change(target, statement))

    def test_a_copy_that_another_process_finished_is_left_alone(self, source, target):
        def other():
            change(target, "DELETE FROM django_migrations WHERE name LIKE 'filled_from_%'")

        with pytest.raises(TargetMoved):
            copy_with(source, target, other)

    def test_a_target_that_is_written_to_while_it_is_compared_is_left_alone(self, source, copied):
        grow(source, seed=2)

        with pytest.raises(TargetMoved, match="somebody wrote"):
            copy_with(
                source,
                copied,
                lambda: grow(copied, seed=3),
                table="review_current_acceptances",
            )

    def test_nobody_else_can_use_the_target(self, source, target):
        refused = []

        def other():
            from review import store
            from review.store.elsewhere import attached

            with attached("other", str(target), named="the test"):
                try:
                    store.ensure_store(write=False, using="other")
                except StoreUnfinished as error:
                    refused.append(error.message)

        copy_with(source, target, other)

        assert len(refused) == 1


@pytest.mark.postgresql
class TestServer:
    def test_a_connection_that_is_lost_is_made_again_by_the_next_try(self, source, target):
        def lose():
            with psycopg.connect(target, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

        with pytest.raises(TryAgain):
            copy_with(source, target, lose)

        done = copy(source, target, "--json")
        assert (done.exit, done.json["target_was"]) == (0, Standing.BEGUN)
        assert rows(target)["review_texts"] == rows(source)["review_texts"]

    def test_from_one_server_to_itself(self, copied, target):
        done = copy(copied, target, "--json")

        assert done.exit == 0, done.err
        assert rows(target) == rows(copied)
        assert TARGET not in done.out
