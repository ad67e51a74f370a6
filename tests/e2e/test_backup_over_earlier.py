"""`review_doctor --backup FILE --overwrite`: an earlier FILE is replaced, and never lies beside a log."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing

import pytest

from review.store.opening import known_migrations
from tests.helpers.forked import run_forked
from tests.helpers.logged_stores import half_write_and_die, write_and_die
from tests.stores.make import STORE, unpack

TODAY = max(known_migrations())


@pytest.fixture
def root(tmp_path):
    """A knowledge base in which everything occurred, with its store."""
    unpack(TODAY, tmp_path)
    return tmp_path


def back_up(root, *args):
    return run_forked("review_doctor", "--backup", *args, root=root)


def events_in(store):
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute("SELECT COUNT(*) FROM review_job_events").fetchone()[0]


def contents(root):
    return {file.name: file.read_bytes() for file in root.glob("b.sqlite*")}


class TestOverwrite:
    def test_replaces_an_earlier_one_when_it_is_asked_to(self, root):
        back_up(root, "b.sqlite")
        (root / "b.sqlite").chmod(0o644)
        with closing(sqlite3.connect(root / "b.sqlite")) as earlier, earlier:
            earlier.execute("DELETE FROM review_job_events")

        assert back_up(root, "b.sqlite", "--overwrite").exit == 0
        assert [file.name for file in root.glob("b.sqlite*")] == ["b.sqlite"]
        assert events_in(root / "b.sqlite") == events_in(root / STORE) > 0
        assert stat.S_IMODE((root / "b.sqlite").stat().st_mode) == 0o600

    @pytest.mark.parametrize("options", [(), ("--overwrite",)], ids=["unasked", "asked"])
    @pytest.mark.parametrize("is_gone", [False, True], ids=["earlier-there", "earlier-gone"])
    @pytest.mark.parametrize("leave", [write_and_die, half_write_and_die], ids=["log", "journal"])
    def test_never_lies_beside_the_log_of_an_earlier_one(self, root, options, is_gone, leave):
        back_up(root, "b.sqlite")
        leave(root / "b.sqlite", "UPDATE review_job_events SET actor = hex(randomblob(2000))")
        if is_gone:
            (root / "b.sqlite").unlink()
        before = contents(root)

        done = back_up(root, "b.sqlite", *options, "--json")

        assert (done.exit, done.error["code"]) == (4, "place-taken")
        assert "b.sqlite-" in done.error["message"]
        assert contents(root) == before

    def test_does_not_replace_one_that_somebody_has_open(self, root):
        back_up(root, "b.sqlite")
        with closing(sqlite3.connect(root / "b.sqlite")) as user:
            user.execute("SELECT * FROM review_store").fetchall()

            assert back_up(root, "b.sqlite", "--overwrite").exit == 4

        assert back_up(root, "b.sqlite", "--overwrite").exit == 0

    def test_replaces_an_empty_file(self, root):
        (root / "b.sqlite").touch()

        assert back_up(root, "b.sqlite", "--overwrite").exit == 0
        assert events_in(root / "b.sqlite") == events_in(root / STORE)
