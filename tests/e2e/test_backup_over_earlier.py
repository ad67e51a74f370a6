"""`review_doctor --backup FILE --overwrite`: what an earlier FILE holds and the store does not is kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from review.store.opening import known_migrations
from tests.helpers.forked import run_forked
from tests.helpers.logged_stores import write_and_die
from tests.stores.make import STORE, unpack

TODAY = max(known_migrations())


@pytest.fixture
def root(tmp_path):
    """A knowledge base in which everything occurred, with an earlier backup beside it."""
    unpack(TODAY, tmp_path)
    assert back_up(tmp_path).exit == 0
    return tmp_path


def back_up(root, *options):
    return run_forked("review_doctor", "--backup", "b.sqlite", *options, root=root)


def write(store, statement):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(statement)


def words_of(store):
    with closing(sqlite3.connect(store)) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.parametrize("writing", [write, write_and_die], ids=["closed", "killed"])
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        pytest.param(
            "UPDATE review_store SET store_id = 'it is kept'", "of another store", id="other-store"
        ),
        pytest.param(
            "INSERT INTO review_model_partitions (name) VALUES ('it is kept')",
            "review_model_partitions up to",
            id="later-work",
        ),
    ],
)
def test_what_this_store_does_not_hold_is_not_replaced(root, statement, said, writing):
    writing(root / "b.sqlite", statement)

    done = back_up(root, "--overwrite", "--json")

    assert (done.exit, done.error["code"]) == (4, "place-taken")
    assert said in done.error["message"]
    assert "'it is kept'" in words_of(root / "b.sqlite")


def test_a_store_put_back_from_an_older_copy_replaces_no_newer_one(root):
    write(root / STORE, "INSERT INTO review_model_partitions (name) VALUES ('new work')")
    (root / "b.sqlite").rename(root / "older.sqlite")
    assert back_up(root).exit == 0
    for left in root.glob(f"{STORE}*"):
        left.unlink()
    (root / "older.sqlite").rename(root / STORE)

    assert back_up(root, "--overwrite").exit == 4
    assert "'new work'" in words_of(root / "b.sqlite")


def test_rows_that_were_pruned_since_are_no_reason(root):
    write(root / STORE, "DELETE FROM review_job_outputs")

    assert back_up(root, "--overwrite").exit == 0
    assert words_of(root / "b.sqlite") == words_of(root / STORE)


def cut(whole):
    return whole[:-4096]


def filled(whole):
    return whole[:4096] + b"\xff" * (len(whole) - 4096)


@pytest.mark.parametrize("damage", [cut, filled])
def test_one_that_is_damaged_is_left_for_whoever_it_is_of(root, damage):
    file = root / "b.sqlite"
    file.write_bytes(damaged := damage(file.read_bytes()))

    done = back_up(root, "--overwrite", "--json")

    assert (done.exit, done.error["code"]) == (4, "place-taken")
    assert file.read_bytes() == damaged


def test_an_empty_file_is_replaced(root):
    (root / "b.sqlite").write_bytes(b"")

    assert back_up(root, "--overwrite").exit == 0
    assert words_of(root / "b.sqlite") == words_of(root / STORE)
