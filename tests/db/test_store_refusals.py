"""What a database's own errors mean to an operator."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import DatabaseError, NotSupportedError, OperationalError, connection
from django.db.backends.sqlite3.base import DatabaseWrapper

from review.errors import ExitCode
from review.store.errors import (
    refusal_of,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small database."""
    path = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE review_store (a)")
    return path


def server_error(words: str, state: str | None, kind: str = "OperationalError") -> DatabaseError:
    """An error as Django raises it for one of the PostgreSQL driver."""

    class ErrorOfTheDriver(Exception):
        sqlstate = state

    ErrorOfTheDriver.__name__ = kind
    error = OperationalError(words)
    error.__cause__ = ErrorOfTheDriver(words)
    return error


class TestSqlite:
    @pytest.fixture(autouse=True)
    def _database_access(self, django_db_blocker):
        with django_db_blocker.unblock():
            yield

    def error(self, file: Path | str, *statements: str) -> DatabaseError:
        settings = connection.settings_dict | {
            "NAME": str(file), "OPTIONS": {"timeout": 0}, "ENGINE": "sqlite3",
        }  # fmt: skip
        wrapper = DatabaseWrapper(settings, "looked-at")
        try:
            with pytest.raises(DatabaseError) as raised, wrapper.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            wrapper.close()
        return raised.value

    def test_a_lock_held_elsewhere_is_busy(self, file):
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            refusal = refusal_of(self.error(file, "BEGIN IMMEDIATE"))

        assert refusal.code == "store-busy"
        assert refusal.exit_code is ExitCode.TRY_AGAIN

    def test_a_write_to_what_is_read_only_says_so(self, file):
        uri = f"{file.as_uri()}?mode=ro"

        refusal = refusal_of(
            self.error(Path(uri.replace("file:///", "file:/")), "DELETE FROM review_store")
        )

        assert refusal.code == "store-read-only"

    def test_a_file_that_cannot_be_opened_says_so(self, tmp_path):
        refusal = refusal_of(self.error(tmp_path / "no" / "such", "SELECT 1"))

        assert refusal.code == "store-not-opened"

    def test_noise_is_corrupt(self, tmp_path):
        (tmp_path / "noise").write_bytes(os.urandom(4096))

        refusal = refusal_of(self.error(tmp_path / "noise", "SELECT * FROM sqlite_master"))

        assert refusal.code == "store-corrupt"

    def test_a_full_disk_is_no_fault_of_ours(self, file):

        refusal = refusal_of(
            self.error(
                file, "PRAGMA max_page_count = 1", "CREATE TABLE big AS SELECT zeroblob(9000000)"
            )
        )

        assert refusal.code == "store-full"

    @pytest.mark.parametrize(("blocks", "kind"), [(9, "store-full"), (900, "store-not-opened")])
    @pytest.mark.parametrize("code", [sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR_WRITE])
    def test_a_file_that_cannot_be_made_for_want_of_room_says_so(
        self, monkeypatch, tmp_path, code, blocks, kind
    ):
        """Reading, too, makes files beside the store."""
        monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "store.sqlite"))
        monkeypatch.setattr(
            os, "statvfs", lambda folder: SimpleNamespace(f_bavail=blocks, f_frsize=4096)
        )
        cause = sqlite3.OperationalError("the driver's words")
        cause.sqlite_errorcode = code
        error = OperationalError("the driver's words")
        error.__cause__ = cause

        assert refusal_of(error).code == kind

    def test_a_mistake_in_a_query_is_ours(self, file):

        assert refusal_of(self.error(file, "SELECT nothing FROM nowhere")) is None


class TestServer:
    @pytest.mark.parametrize(
        ("state", "kind"),
        [
            pytest.param("55P03", "store-busy", id="lock-timeout"),
            pytest.param("40001", "store-busy", id="serialization"),
            pytest.param("40P01", "store-busy", id="deadlock"),
            pytest.param("53300", "store-busy", id="too-many-connections"),
            pytest.param("57P01", "store-unreachable", id="shut-down"),
            pytest.param("08006", "store-unreachable", id="connection-lost"),
            pytest.param("25006", "store-read-only", id="standby"),
            pytest.param("28P01", "store-not-opened", id="password"),
            pytest.param("3D000", "store-not-opened", id="no-database"),
            pytest.param("53100", "store-full", id="disk-full"),
            pytest.param("3F000", "store-not-opened", id="no-schema"),
            pytest.param("34000", "store-not-opened", id="cursor-given-away-by-a-pooler"),
            pytest.param("26000", "store-not-opened", id="statement-given-away-by-a-pooler"),
            pytest.param("54000", "store-not-opened", id="path-beyond-an-index"),
        ],
    )
    def test_a_server_s_state_is_read(self, state, kind):
        assert refusal_of(server_error("any words", state)).code == kind

    @pytest.mark.parametrize(
        ("words", "kind"),
        [
            pytest.param("connection refused", "store-unreachable", id="refused"),
            pytest.param(
                'password authentication failed for user "x"', "store-not-opened", id="login"
            ),
            pytest.param('database "kb" does not exist', "store-not-opened", id="no-database"),
            pytest.param('invalid sslmode value: "x"', "store-not-opened", id="sslmode"),
            pytest.param(
                'unrecognized configuration parameter "x"', "store-not-opened", id="setting"
            ),
            pytest.param('definition of service "x" not found', "store-not-opened", id="service"),
            pytest.param(
                "server does not support SSL, but SSL was required", "store-not-opened", id="tls"
            ),
            pytest.param(
                'root certificate file "/x" does not exist', "store-not-opened", id="certificate"
            ),
            pytest.param(
                "SSL connection has been closed unexpectedly", "store-unreachable", id="lost"
            ),
            pytest.param("unsupported startup parameter: options", "store-not-opened", id="pooler"),
        ],
    )
    def test_a_connection_that_never_came_about_is_read_by_its_words(self, words, kind):
        assert refusal_of(server_error(words, None)).code == kind

    @pytest.mark.parametrize(
        "words",
        [
            pytest.param('invalid connection option "x"', id="name"),
            pytest.param("bad value for connect_timeout: 'x'", id="value"),
        ],
    )
    def test_an_option_that_the_driver_does_not_know_is_no_fault_of_ours(self, words):
        assert refusal_of(server_error(words, None, "ProgrammingError")).code == "store-not-opened"

    def test_a_wrong_statement_is_ours(self):
        assert (
            refusal_of(server_error("the query has 1 placeholder", None, "ProgrammingError"))
            is None
        )
        assert refusal_of(server_error("syntax error", "42601", "ProgrammingError")) is None


@pytest.mark.django_db
class TestVersion:
    def test_that_django_speaks_with_no_more_is_named(self, monkeypatch):
        monkeypatch.setattr(
            type(connection.features), "minimum_database_version", (99, 1), raising=True
        )

        with pytest.raises(DatabaseError) as raised:
            connection.check_database_version_supported()

        refused = refusal_of(raised.value)
        assert refused.code == "store-server-old"
        assert "99.1 or later is required (found " in refused.message

    def test_of_a_feature_that_is_not_there_is_a_fault_of_ours(self):
        assert refusal_of(NotSupportedError("contains lookup is not supported")) is None
