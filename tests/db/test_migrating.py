"""What is held against its keys after a step of a migration: all that the step can have broken, no more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.db import IntegrityError, connections

from review.store.opening import checks_without_reviews
from review.store_copy.copy import temporary_alias
from tests.builders import make_root
from tests.helpers.first_stores import own_store
from tests.helpers.forked import run_forked
from tests.stores.make import STORE, kept_stores, unpack

pytestmark = pytest.mark.sqlite

HERE = "tried"
# Tables of another app, as steps of its would make them.
SCRIPT = (
    "CREATE TABLE others_people (id integer PRIMARY KEY)",
    "CREATE TABLE others_pets (id integer PRIMARY KEY, owner REFERENCES others_people (id))",
)
A_LOST_TEXT = (
    "INSERT INTO review_file_snapshots (path_id, content_sha256, text, byte_size, captured_at)"
    " VALUES (4711, hex(zeroblob(32)), '', 0, '2026-01-31')"
)


def break_key(store: Path) -> None:
    """Leave a row of reviews that refers to none, as only a fault of ours or of the disk does."""
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(A_LOST_TEXT)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    own_store(tmp_path)
    return tmp_path


class TestMigrate:
    def test_makes_the_tables_for_people_without_a_look_at_reviews(self, root):
        break_key(root / STORE)

        done = run_forked("migrate", root=root)

        assert done.exit == 0, done.err
        assert "sessions.0001_initial... OK" in done.out

    def test_looks_at_all_reviews_after_a_step_of_theirs(self, tmp_path):
        unpack(kept_stores()[0], tmp_path)
        break_key(tmp_path / STORE)

        done = run_forked("migrate", root=tmp_path)

        assert done.exit == 1
        assert "review_file_snapshots" in done.err
        with closing(sqlite3.connect(tmp_path / STORE)) as store:
            rows = store.execute("SELECT COUNT(*) FROM django_migrations WHERE app = 'review'")
            assert rows.fetchone() == (1,)


@pytest.fixture
def steps(root: Path, django_db_blocker: object) -> Iterator[object]:
    """Something that runs a step of statements on a store of its own."""

    @contextmanager
    def step() -> Iterator[object]:
        with connections[HERE].schema_editor() as editor:
            yield editor.execute

    with (
        django_db_blocker.unblock(),
        temporary_alias(HERE, str(root / STORE), named="test"),
        checks_without_reviews(HERE),
    ):
        with step() as execute:
            for statement in SCRIPT:
                execute(statement)
        yield step


class TestStep:
    def refused(self, steps, *statements: str) -> bool:
        try:
            with steps() as execute:
                for statement in statements:
                    execute(statement)
        except IntegrityError:
            return True
        return False

    def test_of_another_app_is_checked_in_what_it_wrote(self, steps):
        assert self.refused(steps, "INSERT INTO others_pets (owner) VALUES (1)")

    def test_of_another_app_is_checked_in_what_refers_to_what_it_removed(self, steps):
        add = ("INSERT INTO others_people VALUES (1)", "INSERT INTO others_pets (owner) VALUES (1)")

        assert not self.refused(steps, *add)
        assert self.refused(steps, "DELETE FROM others_people")
