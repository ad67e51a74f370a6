"""A look at the store's file in one thread costs no other thread of the process its locks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from review.store import sqlite_file
from review.store.header import APPLICATION_ID

_NEIGHBOUR = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute("INSERT INTO said VALUES ('neighbour')")
store.close()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in write-ahead mode that carries our mark."""
    path = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        made.execute("CREATE TABLE said (who TEXT)")
    return path


def neighbour(file: Path) -> None:
    """Another process writes to the store, and closes it as the last one, as far as it can tell."""
    subprocess.run([sys.executable, "-c", _NEIGHBOUR, str(file)], check=True, timeout=60)


def said(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as store:
        return [who for (who,) in store.execute("SELECT who FROM said ORDER BY rowid")]


class TestALookAtTheFile:
    @pytest.mark.parametrize("looks", [1, 3], ids=["once", "again-and-again"])
    def test_loses_nothing_that_another_connection_commits(self, file, looks):
        with closing(sqlite3.connect(file, isolation_level=None)) as ours:
            ours.execute("INSERT INTO said VALUES ('before')")

            for _ in range(looks):
                sqlite_file._refuse_strangers(file)
            neighbour(file)
            ours.execute("INSERT INTO said VALUES ('after')")
            neighbour(file)

        assert said(file) == ["before", "neighbour", "after", "neighbour"]

    def test_keeps_one_descriptor_a_file(self, file):
        before = len(sqlite_file._descriptors)

        for _ in range(3):
            sqlite_file._refuse_strangers(file)

        assert len(sqlite_file._descriptors) == before + 1

    def test_sees_the_file_that_took_the_place_of_an_earlier_one(self, file, tmp_path):
        sqlite_file._refuse_strangers(file)
        other = tmp_path / "other"
        other.write_bytes(b"no database at all" * 20)
        other.replace(file)

        with pytest.raises(sqlite_file.StoreCorrupt):
            sqlite_file._refuse_strangers(file)
