"""A kept store of each released schema is refused, is upgraded by `migrate`, and then answers as before."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import psycopg
import pytest

from review.store.opening import known_migrations
from tests.helpers.forked import run_forked
from tests.helpers.servers import new_database
from tests.helpers.story import Story
from tests.stores.make import FILES_OF_JOBS, STORE, answers, doing, kept_stores, unpack
from tests.stores.make_dump import kept_dumps, restore

TODAY = max(known_migrations())
OLDER = [name for name in kept_stores() if name != TODAY]


def rows_of(root):
    """How many rows each table of the reviews has."""
    with closing(sqlite3.connect(root / STORE)) as store:
        names = [
            name
            for (name,) in store.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND (name LIKE 'review_%'"
                " OR name LIKE 'acceptance_%')"
            )
        ]
        return {
            name: store.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]  # noqa: S608
            for name in names
        }


class TestKept:
    def test_there_is_a_store_of_every_schema_before_todays(self):
        missing = sorted(known_migrations() - set(kept_stores()) - {TODAY})

        assert missing == [], (
            "a migration was added and no store of the schema before it is kept: check out the"
            " commit before the migration and run python -m tests.stores.make"
        )

    def test_there_is_a_dump_of_every_store(self):
        assert kept_dumps() == kept_stores(), (
            "make the other as well: python -m tests.postgres tests.stores.make_dump"
        )

    def test_none_is_of_a_schema_that_nobody_knows(self):
        assert set(kept_stores()) <= known_migrations()


@pytest.mark.parametrize("name", OLDER)
class TestOlder:
    def test_is_refused_backed_up_upgraded_and_answers_as_before(self, tmp_path, name):
        told = unpack(name, tmp_path)
        before = (tmp_path / STORE).read_bytes()

        refused = run_forked("review_status", root=tmp_path)
        assert refused.exit == 1
        assert "run: commonplace migrate" in refused.err
        backup = run_forked("review_doctor", "--backup", tmp_path / "b.sqlite", root=tmp_path)
        assert backup.exit == 0
        assert (tmp_path / STORE).read_bytes() == before

        assert run_forked("migrate", root=tmp_path).exit == 0

        assert_sound_and_the_same(tmp_path, told)


@pytest.mark.parametrize("name", kept_stores())
class TestUpgraded:
    def test_loses_no_row_and_takes_new_reviews(self, tmp_path, name):
        unpack(name, tmp_path)
        before = rows_of(tmp_path)
        assert run_forked("migrate", root=tmp_path).exit == 0
        assert {table: rows_of(tmp_path)[table] for table in before} == before | {"review_store": 1}

        Story(tmp_path, doing(tmp_path)).review("undone", "## Result: PASS")

        assert_sound(tmp_path)


def test_todays_needs_no_migration(tmp_path):
    told = unpack(TODAY, tmp_path) if TODAY in kept_stores() else None
    if told is None:
        pytest.skip("not kept yet: it is still being made")

    assert_sound_and_the_same(tmp_path, told)


def assert_sound_and_the_same(root, told):
    assert_sound(root)
    assert answers(root) == told


def assert_sound(root, do=None):
    """Find no problem, but prompts of an earlier format that are not kept: they cannot be made again."""
    do = do or doing(root)
    done = do("review_doctor", "--check", "--json")
    wrong = [check["name"] for check in done.json["checks"] if check["state"] == "problem"]
    has_prompts = any((root / FILES_OF_JOBS).glob("review-job-12/prompt.md"))
    assert wrong == ([] if has_prompts else ["prompts"]), done.out


def rows_on_server(url):
    """How many rows each table of the reviews has, on a server."""
    with psycopg.connect(url) as server:
        names = server.execute(
            "SELECT relname FROM pg_stat_user_tables WHERE relname ~ '^(review|acceptance)_'"
        ).fetchall()
        return {
            name: server.execute(f"SELECT COUNT(*) FROM {name}".encode()).fetchone()[0]  # noqa: S608
            for (name,) in names
        }


@pytest.mark.postgresql
@pytest.mark.django_db
@pytest.mark.parametrize("name", kept_dumps())
def test_a_dump_is_upgraded_answers_as_before_and_takes_new_reviews(tmp_path, name):
    told = unpack(name, tmp_path)
    (tmp_path / STORE).unlink()
    with new_database() as url:
        restore(name, url)
        before = rows_on_server(url)

        def do(*argv, stdin=None):
            return run_forked(*argv, root=tmp_path, stdin=stdin, env={"COMMONPLACE_REVIEW_DB": url})

        if name in OLDER:
            refused = do("review_status")
            assert (refused.exit, "run: commonplace migrate" in refused.err) == (1, True)
        assert do("migrate").exit == 0

        assert before
        derived = {"review_finding_states": 0}  # made from the others
        assert rows_on_server(url) | derived == before | derived | {"review_store": 1}
        assert answers(tmp_path, do) == told
        do("review_doctor", "--repair")
        Story(tmp_path, do).review("undone", "## Result: PASS")
        assert_sound(tmp_path, do)
