"""A store on a PostgreSQL server: made in an empty database, refused in one that is not ours."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.helpers.opening import look, start

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db]


def url_of(database: str) -> str:
    """The test server's URL with another database."""
    parts = urlsplit(os.environ["COMMONPLACE_TEST_DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{database}"))


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty database."""
    name = f"store_{secrets.token_hex(6)}"
    with psycopg.connect(url_of("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        yield url_of(name)
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "kb").mkdir()
    return tmp_path


def change(database: str, statement: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(statement.encode())


class TestServer:
    def test_an_empty_database_is_made_a_store_once_by_many(self, root, database):
        processes = [start(root, "write", database=database) for _ in range(4)]
        said = [process.communicate(timeout=60)[0].split() for process in processes]

        assert len({store_id for store_id, _revision in said}) == 1
        assert sorted(int(revision) for _store_id, revision in said) == [1, 2, 3, 4]

    def test_a_database_of_somebody_else_is_not_touched(self, root, database):
        change(database, "CREATE TABLE mine (a int)")

        said = look(root, "write", database=database)

        assert said.startswith("StoreForeign|")
        with psycopg.connect(database) as connection:
            tables = connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
        assert tables == [("mine",)]

    def test_an_older_store_is_refused(self, root, database):
        look(root, database=database)
        change(database, "DELETE FROM django_migrations WHERE name LIKE '0002%'")

        assert look(root, database=database).startswith("StoreOlder|")

    def test_a_standby_serves_a_reader_and_refuses_a_writer(self, root, database):
        look(root, database=database)
        standby = f"{database}&options=-c%20default_transaction_read_only%3Don"

        assert look(root, "read", database=standby).endswith(" 0")
        assert look(root, "write", database=standby).startswith("StoreReadOnly|")

    def test_a_database_that_is_not_there_is_named(self, root):
        said = look(root, database=url_of("no_such_database")).split("|")

        assert said[0] == "StoreNotOpened"
        assert "no_such_database" in said[1]

    def test_a_server_that_does_not_answer_means_try_again(self, root):
        said = look(root, database="postgres://ana:hunter2@127.0.0.1:1/kb")

        assert said.startswith("StoreUnreachable|")
        assert "hunter2" not in said
