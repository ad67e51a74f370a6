"""A store on a PostgreSQL server: made in an empty database, refused in one that is not ours."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.builders import make_root
from tests.helpers.commands import REPOSITORY, Result, process_environment
from tests.helpers.opening import look, start
from tests.helpers.servers import as_role, change, new_database, url_of

SELECTION = json.dumps(
    {
        "schema": "review-target-selector/1",
        "mode": "stale",
        "model_partition": "m",
        "targets": [
            {"note_path": "kb/notes/a.md", "gate_path": "kb/instructions/review-gates/prose/x.md",
             "gate_id": "prose/x"}
        ],
    }
)  # fmt: skip
pytestmark = [pytest.mark.postgresql, pytest.mark.django_db]


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty database."""
    with new_database() as url:
        yield url


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def lose_connection(root: Path, database: str, command: str, statement: int) -> Result:
    """What a command says whose session the server ends before one of its statements."""
    more = ("--input", "-", "--grouping", "note") if command == "create_review_jobs" else ()
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.losing", str(statement), command, *more],
        input=SELECTION, capture_output=True, text=True, cwd=root, check=False, timeout=60,
        env=process_environment(root)
        | {"COMMONPLACE_REVIEW_DB": database, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


class TestServer:
    def test_an_empty_database_is_made_a_store_once_by_many(self, root, database):
        processes = [start(root, "write", database=database) for _ in range(4)]
        said = [process.communicate(timeout=60)[0].split() for process in processes]

        assert len({store_id for store_id, _revision in said}) == 1
        assert sorted(int(revision) for _store_id, revision in said) == [1, 2, 3, 4]

    def test_a_database_of_somebody_else_is_not_touched(self, root, database):
        change(database, "CREATE TABLE mine (a int)")

        said = look(root, "write", database=database)

        assert said.startswith("store-foreign|")
        with psycopg.connect(database) as connection:
            tables = connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
        assert tables == [("mine",)]

    def test_an_older_store_is_refused(self, root, database):
        look(root, database=database)
        change(database, "DELETE FROM django_migrations WHERE name LIKE '0002%'")

        assert look(root, database=database).startswith("store-older|")

    def test_a_standby_serves_a_reader_and_refuses_a_writer(self, root, database):
        look(root, database=database)
        standby = f"{database}&options=-c%20default_transaction_read_only%3Don"

        assert look(root, "read", database=standby).endswith(" 0")
        assert look(root, "write", database=standby).startswith("store-read-only|")

    def test_a_database_that_is_not_there_is_named(self, root):
        said = look(root, database=url_of("no_such_database")).split("|")

        assert said[0] == "store-not-opened"
        assert "no_such_database" in said[1]

    def test_a_server_that_does_not_answer_means_try_again(self, root):
        said = look(root, database="postgres://ana:hunter2@127.0.0.1:1/kb")

        assert said.startswith("store-unreachable|")
        assert "hunter2" not in said

    @pytest.mark.parametrize(
        ("option", "kind"),
        [
            pytest.param("nosuchoption=1", "store-not-opened", id="unknown"),
            pytest.param("connect_timeout=soon", "store-not-opened", id="no-number"),
            pytest.param("sslmode=bogus", "store-not-opened", id="sslmode"),
            pytest.param("options=-c%20nosuch%3D1", "store-not-opened", id="setting"),
            pytest.param("options=-c%20search_path%3Dnosuch", "store-not-opened", id="schema"),
            pytest.param("service=nosuch", "store-not-opened", id="service"),
            pytest.param("application_name=ours&keepalives=1", "", id="fine"),
            pytest.param("pooler=transaction", "", id="pooler"),
        ],
    )
    def test_what_the_url_asks_of_the_driver_is_taken_or_refused_by_name(
        self, root, database, option, kind
    ):
        said = look(root, database=f"{database}&{option}")

        assert said.startswith(f"{kind}|") if kind else said.endswith(" 0")

    def test_who_may_not_make_the_tables_is_told_so(self, root, database):
        role = f"r{secrets.token_hex(4)}"
        with psycopg.connect(database, autocommit=True) as server:
            server.execute(
                f"CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC".encode()
            )
            try:
                said = look(root, database=as_role(database, role))
            finally:
                server.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())

        assert said.startswith("store-not-opened|")
        assert "does not let this user" in said

    @pytest.mark.parametrize(
        "statement",
        [3, *(pytest.param(n, marks=pytest.mark.soak) for n in (1, 2, 4, 5, 8, 13, 21))],
    )
    @pytest.mark.parametrize("command", ["review_status", "create_review_jobs", "warn_selector"])
    def test_a_connection_that_is_lost_in_the_middle_means_try_again(
        self, root, database, command, statement
    ):
        done = lose_connection(root, database, command, statement)

        assert done.exit in (0, 75), done.err
        assert "Traceback" not in done.err
        if done.exit:
            assert "cannot be reached" in done.err or "shutting down" in done.err
        again = lose_connection(root, database, command, 10_000)
        assert again.exit == 0, again.err
