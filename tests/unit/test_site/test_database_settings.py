"""The configured store as Django's settings."""

from __future__ import annotations

import pytest

from commonplace_site.settings.secret import MIN_LENGTH, secret_key
from review.store.errors import DatabaseRefused, database_settings
from tests.helpers.refusals import refuses


class TestSqlite:
    def test_writers_take_the_lock_first_and_wait_for_it(self):
        options = database_settings("/tmp/a ?#%.sqlite")["OPTIONS"]  # noqa: S108

        assert options["transaction_mode"] == "IMMEDIATE"
        assert options["timeout"] == 20

    def test_no_connection_sets_what_belongs_to_the_file(self):
        options = database_settings("store.sqlite")["OPTIONS"]

        assert "journal_mode" not in options["init_command"]
        assert "synchronous=FULL" in options["init_command"]


class TestPostgres:
    def test_reads_every_part_of_the_url(self):
        settings = database_settings("postgres://ana:p%40ss@db.example:5433/kb?sslmode=require")

        assert settings["USER"] == "ana"
        assert settings["PASSWORD"] == "p@ss"
        assert (settings["HOST"], settings["PORT"]) == ("db.example", "5433")
        assert settings["NAME"] == "kb"
        assert settings["OPTIONS"]["sslmode"] == "require"

    def test_takes_a_socket_folder(self):
        settings = database_settings("postgresql:///kb?host=/run/postgresql")

        assert settings["HOST"] == "/run/postgresql"
        assert "host" not in settings["OPTIONS"]

    def test_keeps_what_the_url_asks_of_the_server(self):
        options = database_settings("postgres:///kb?options=-c%20work_mem%3D64MB")["OPTIONS"]

        assert options["options"].startswith("-c lock_timeout=20s ")
        assert options["options"].endswith(" -c work_mem=64MB")

    def test_a_pooler_by_the_transaction_is_sent_nothing_that_lasts_longer(self):
        settings = database_settings("postgres://ana@host/kb?pooler=transaction")

        assert "options" not in settings["OPTIONS"]
        assert "pooler" not in settings["OPTIONS"]
        assert settings["DISABLE_SERVER_SIDE_CURSORS"]
        assert not database_settings("postgres://ana@host/kb")["DISABLE_SERVER_SIDE_CURSORS"]

    @pytest.mark.parametrize("setting", ["jit=off", "random_page_cost=1.1"])
    def test_has_questions_about_few_rows_answered_from_indexes(self, setting):
        assert f"-c {setting}" in database_settings("postgres:///kb")["OPTIONS"]["options"]

    def test_waits_for_a_lock_as_long_as_sqlite_does(self):
        assert "lock_timeout=20s" in database_settings("postgres:///kb")["OPTIONS"]["options"]

    @pytest.mark.parametrize(
        "url",
        [
            pytest.param("mysql://a/b", id="another-server"),
            pytest.param("postgres://host", id="no-name"),
            pytest.param("postgres://host:port/name", id="port-in-words"),
            pytest.param("sqlite:///file", id="sqlite-url"),
            pytest.param("postgres:///kb?pooler=statement", id="another-pooler"),
        ],
    )
    def test_refuses(self, url):
        with pytest.raises(DatabaseRefused):
            database_settings(url)

    @pytest.mark.parametrize(
        "url",
        [
            pytest.param("mysql://ana:hunter2@host/b", id="another-server"),
            pytest.param("postgres://ana:hunter2/3@host/b", id="slash-in-the-password"),
            pytest.param("postgres://ana:[hunter2@host/b", id="bracket-in-the-password"),
        ],
    )
    def test_a_refusal_does_not_tell_the_password(self, url):
        with pytest.raises(DatabaseRefused) as refused:
            database_settings(url)

        assert "hunter2" not in refused.value.message + refused.value.hint


class TestSecretKey:
    def test_is_made_once_for_us_alone(self, tmp_path):
        path = tmp_path / "reports" / ".secret-key"

        key = secret_key(path)

        assert len(key) >= MIN_LENGTH
        assert secret_key(path) == key
        assert path.stat().st_mode & 0o777 == 0o600
        assert [file.name for file in path.parent.iterdir()] == [".secret-key"]

    def test_is_the_environment_s_when_it_is_set(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_SECRET_KEY", "e" * 40)

        assert secret_key(tmp_path / "key") == "e" * 40
        assert not (tmp_path / "key").exists()

    @pytest.mark.parametrize(
        "content", [pytest.param("short", id="short"), pytest.param("", id="empty")]
    )
    def test_refuses_a_weak_key(self, tmp_path, content):
        path = tmp_path / "key"
        path.touch(mode=0o600)
        path.write_text(content)

        with refuses("secret-key-refused", match="shorter"):
            secret_key(path)

    def test_refuses_where_none_can_be_kept(self, tmp_path):
        (tmp_path / "file").touch()

        with refuses("secret-key-refused", match="cannot keep"):
            secret_key(tmp_path / "file" / "key")
