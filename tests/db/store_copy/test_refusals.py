"""What a copy does not write over, does not read, and cannot hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.helpers.copied_stores import ON_SERVER, change, copy, rows

pytestmark = pytest.mark.django_db


class TestRefusals:
    def test_a_target_of_another_store(self, source, target):
        change(target, "INSERT INTO review_paths (id, path) VALUES (1, 'kb/a.md')")
        before = rows(target)

        done = copy(source, target, "--json")

        assert (done.exit, done.error["code"]) == (4, "target-taken")
        assert rows(target) == before

    def test_a_target_of_another_schema(self, source, target):
        change(target, "DELETE FROM django_migrations WHERE name LIKE '0002%'")

        done = copy(source, target, "--json")

        assert (done.exit, done.error["code"]) == (1, "store-older")

    def test_a_source_of_another_schema(self, source, target):
        change(
            source,
            "INSERT INTO django_migrations (app, name, applied) VALUES ('review', '0999_x', '2026-01-01')",
        )

        done = copy(source, target, "--json")

        assert (done.exit, done.error["code"]) == (1, "store-newer")

    def test_a_target_that_holds_something_else(self, source, nowhere):
        change(nowhere, "CREATE TABLE mine (a int)")

        assert copy(source, nowhere, "--json").error["code"] == "store-foreign"

    def test_a_source_that_is_not_there_is_not_made(self, target, tmp_path):
        done = copy(tmp_path / "typo.sqlite", target, "--json")

        assert (done.exit, done.error["code"]) == (5, "store-missing")
        assert not (tmp_path / "typo.sqlite").exists()

    @pytest.mark.parametrize("option", ["--to", "--from"])
    def test_a_stream_for_a_store(self, source, nowhere, tmp_path, monkeypatch, option):
        monkeypatch.chdir(tmp_path)
        places = {"--from": source, "--to": nowhere} | {option: "-"}

        done = copy(places["--from"], places["--to"], "--json")

        assert (done.exit, done.error["code"]) == (2, "usage")
        assert not (tmp_path / "-").exists()

    def test_one_place_twice(self, source, target):
        assert copy(source, source, "--json").error["code"] == "same-place"
        assert copy(target, target, "--json").error["code"] == "same-place"
        if ON_SERVER:
            again = copy(target, f"{target}&application_name=x", "--json")
            assert (again.exit, again.error["code"]) == (5, "same-place")

    @pytest.mark.parametrize(
        "url",
        [
            pytest.param("postgres://ana:hunter2/3@host/b", id="slash"),
            pytest.param("mysql://ana:hunter2@host/b", id="another-server"),
            pytest.param("postgres://ana:hunter2@127.0.0.1:1/b", id="nobody-there"),
        ],
    )
    def test_no_password_is_told(self, source, url):
        done = copy(source, url)

        assert done.exit in (5, 75)
        assert "hunter2" not in done.out + done.err


@pytest.mark.postgresql
class TestWhatPostgresqlCannotHold:
    @pytest.mark.parametrize(
        ("statement", "named"),
        [
            pytest.param("UPDATE review_texts SET text = 'a' || char(0) WHERE pair_id = 3", "review_texts row 3: ", id="nul"),
            pytest.param("UPDATE review_job_events SET actor = printf('%201s', 'x') WHERE id = 2", "review_job_events row 2: value too long", id="too-long"),
            pytest.param("UPDATE review_jobs SET estimated_prompt_tokens = 3000000000 WHERE id = 2", "review_jobs row 2: integer out of range", id="too-large"),
        ],
    )  # fmt: skip
    def test_is_refused_by_name(self, source, target, statement, named):
        change(source, statement)
        before = rows(target)

        done = copy(source, target, "--json")

        assert (done.exit, done.error["code"]) == (1, "row-refused"), done.err
        assert named in done.error["message"]
        assert rows(target) == before


def test_a_reference_to_nothing_is_refused_by_name(source, target):
    change(source, "PRAGMA foreign_keys = OFF")
    with closing(sqlite3.connect(source)) as broken, broken:
        broken.execute("DELETE FROM review_file_snapshots WHERE id = 1")

    done = copy(source, target, "--json")

    assert (done.exit, done.error["code"]) == (1, "row-refused"), done.err
    assert "review_pairs" in done.error["message"]
