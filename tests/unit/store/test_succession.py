"""A backup that takes the name of an earlier file: whatever lies beside it, and whoever is killed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from review.store import backup_file, succession
from review.store.backup_file import BackupExists, BackupFailed, back_up_file
from review.store.header import APPLICATION_ID
from review.store.succession import COMPANIONS, LogNotKept, PlaceInUse, PlaceTaken
from tests.helpers.logged_stores import half_write_and_die, write_and_die

ADD = "INSERT INTO words VALUES ('late')"
FILL = "UPDATE words SET word = hex(randomblob(2000))"
# Runs a backup in a process of its own, which is killed before or after its call of that name and number.
BACK_UP = """
import os, signal, sys
from pathlib import Path
from review.store import backup_file, succession
place, name, at, source, target = sys.argv[1:]
holder = {"succession": succession, "backup": backup_file, "os": os, "path": Path}[place]
real, left = getattr(holder, name), [int(at)]
def deadly(*args, **kwargs):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)
setattr(holder, name, deadly)
backup_file.back_up_file(Path(source), Path(target), overwrite=True)
"""


def make_store(path: Path, *words: str, mark: int = APPLICATION_ID) -> Path:
    """A small store with a write-ahead log, and without one on the disk."""
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute(f"PRAGMA application_id = {mark}")
        made.execute("CREATE TABLE words (word)")
        made.executemany("INSERT INTO words VALUES (?)", ((word,) for word in words))
    return path


def words_in(path: Path) -> list[str]:
    """What whoever opens the file finds in it."""
    with closing(sqlite3.connect(path)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [word for (word,) in opened.execute("SELECT word FROM words ORDER BY rowid")]


def beside(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.glob(f"{path.name}?*"))


@pytest.fixture
def source(tmp_path):
    return make_store(tmp_path / "store.sqlite", "new")


@pytest.fixture
def target(tmp_path):
    """An earlier backup, in a folder of its own."""
    (tmp_path / "backups").mkdir()
    return make_store(tmp_path / "backups" / "b.sqlite", "old")


class TestOverAnEarlierStore:
    def test_its_log_does_not_come_into_the_new_one(self, source, target):
        write_and_die(target, ADD)

        back_up_file(source, target, overwrite=True)

        assert beside(target) == []
        assert words_in(target) == ["new"]

    def test_nor_does_a_journal(self, source, target):
        half_write_and_die(target, FILL)

        back_up_file(source, target, overwrite=True)

        assert beside(target) == []
        assert words_in(target) == ["new"]

    @pytest.mark.parametrize("suffix", COMPANIONS)
    def test_what_lies_beside_a_name_that_is_free_is_removed(self, source, target, suffix):
        write_and_die(target, ADD)
        log = Path(f"{target}-wal").read_bytes()
        for left in (target, *succession.companions_of(target)):
            left.unlink()
        Path(f"{target}{suffix}").write_bytes(log)

        back_up_file(source, target, overwrite=True)

        assert beside(target) == []
        assert words_in(target) == ["new"]

    @pytest.mark.parametrize("suffix", COMPANIONS)
    def test_and_is_refused_unasked(self, source, target, suffix):
        target.unlink()
        left = Path(f"{target}{suffix}")
        left.write_bytes(b"a log")

        with pytest.raises(BackupExists, match=str(left)):
            back_up_file(source, target, overwrite=False)

        assert (left.read_bytes(), target.exists()) == (b"a log", False)

    def test_one_that_is_in_use_is_left_to_its_user(self, source, target, monkeypatch):
        monkeypatch.setattr(succession, "_WAIT", 0)
        with closing(sqlite3.connect(target, isolation_level=None)) as user:
            user.execute(ADD)

            with pytest.raises(PlaceInUse, match="in use"):
                back_up_file(source, target, overwrite=True)

            assert user.execute("SELECT COUNT(*) FROM words").fetchone() == (2,)
        assert words_in(target) == ["old", "late"]

    def test_who_opens_it_meanwhile_has_to_wait(self, source, target, monkeypatch):
        def look_in(*_arguments):
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                subprocess_words(target)
            return real(*_arguments)

        real = backup_file._verify
        monkeypatch.setattr(backup_file, "_verify", look_in)

        back_up_file(source, target, overwrite=True)

        assert words_in(target) == ["new"]

    def test_one_that_is_damaged_is_not_replaced(self, source, target):
        write_and_die(target, ADD)
        with target.open("r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 4000)
        before = target.stat().st_ino

        with pytest.raises(PlaceTaken, match="damaged"):
            back_up_file(source, target, overwrite=True)

        assert target.stat().st_ino == before

    @pytest.mark.parametrize("name", ["_copy", "_verify"])
    def test_where_the_backup_fails_it_has_its_log_s_writes_still(
        self, source, target, monkeypatch, name
    ):
        write_and_die(target, ADD)

        def fails(*_arguments):
            raise BackupFailed("the disk is broken")

        monkeypatch.setattr(backup_file, name, fails)
        with pytest.raises(BackupFailed):
            back_up_file(source, target, overwrite=True)

        assert words_in(target) == ["old", "late"]

    def test_and_where_the_name_is_refused(self, source, target, monkeypatch):
        write_and_die(target, ADD)

        def refuses(*_arguments):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(Path, "replace", refuses)
        with pytest.raises(BackupFailed, match="Input/output error"):
            back_up_file(source, target, overwrite=True)

        assert words_in(target) == ["old", "late"]

    def test_and_where_its_log_cannot_be_brought_in(self, source, target, monkeypatch):
        write_and_die(target, ADD)
        monkeypatch.setattr(succession, "_is_ours_alone", cannot_write)

        with pytest.raises(LogNotKept, match="log of recent writes"):
            back_up_file(source, target, overwrite=True)

        assert words_in(target) == ["old", "late"]

    def test_somebody_who_writes_beside_it_at_once_is_noticed(self, source, target, monkeypatch):
        def and_a_log(path):
            if path == target.parent:
                write_and_die(target, ADD)

        monkeypatch.setattr(backup_file, "sync", and_a_log)

        with pytest.raises(BackupFailed, match="somebody else wrote"):
            back_up_file(source, target, overwrite=True)


def cannot_write(_connection, path):
    raise succession._not_kept(path, "read-only")


def subprocess_words(path: Path) -> None:
    """Look from a process of its own: locks hold between processes."""
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT * FROM words')"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False)
    if b"database is locked" in done.stderr:
        raise sqlite3.OperationalError("database is locked")


# Before the copy, before the log is brought in, before and after each file beside it is removed,
# before the new one has the name, and after.
KILLS = [
    pytest.param("backup", "_copy", 1, id="before-the-copy"),
    pytest.param("succession", "_bring_log_in", 1, id="before-the-log-is-in"),
    pytest.param("path", "unlink", 1, id="before-the-log-is-gone"),
    pytest.param("path", "unlink", 2, id="before-its-index-is-gone"),
    pytest.param("succession", "sync", 1, id="before-that-is-on-the-disk"),
    pytest.param("path", "replace", 1, id="before-it-has-the-name"),
    pytest.param("backup", "_verify_named", 1, id="before-it-is-looked-at"),
]


class TestKilled:
    @pytest.mark.parametrize("left", ["log", "journal"])
    @pytest.mark.parametrize(("place", "name", "at"), KILLS)
    def test_there_is_the_earlier_or_the_new_one_and_never_a_mixture(
        self, source, target, place, name, at, left
    ):
        if left == "log":
            write_and_die(target, ADD)
        else:
            half_write_and_die(target, FILL)
        arguments = [place, name, str(at), str(source), str(target)]

        done = subprocess.run(
            [sys.executable, "-c", BACK_UP, *arguments], check=False, env=os.environ | {"PYTHONPATH": "."}
        )  # fmt: skip

        assert done.returncode == -9
        earlier = ["old", "late"] if left == "log" else ["old"]
        assert words_in(target) in (["new"], earlier)
        back_up_file(source, target, overwrite=True)
        assert words_in(target) == ["new"]
        assert [file.name for file in target.parent.iterdir()] == ["b.sqlite"]


class TestWhatIsNoStore:
    @pytest.mark.parametrize("overwrite", [False, True], ids=["unasked", "asked"])
    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"# A note\n", id="text"),
            pytest.param(b"SQLite format 3\0", id="a-header-cut-short"),
            pytest.param(b"SQLite format 3\0" + b"\0" * 4080, id="an-unmarked-database"),
        ],
    )
    def test_is_never_replaced(self, source, target, content, overwrite):
        target.write_bytes(content)

        with pytest.raises(PlaceTaken, match="no review store"):
            back_up_file(source, target, overwrite=overwrite)

        assert target.read_bytes() == content

    def test_another_program_s_database_is_never_replaced(self, source, target):
        target.unlink()
        make_store(target, "theirs", mark=7)

        with pytest.raises(PlaceTaken, match="no review store"):
            back_up_file(source, target, overwrite=True)

        assert words_in(target) == ["theirs"]

    def test_an_empty_file_is_nobody_s(self, source, target):
        target.write_bytes(b"")

        back_up_file(source, target, overwrite=True)

        assert words_in(target) == ["new"]

    @pytest.mark.parametrize("suffix", COMPANIONS)
    def test_a_folder_beside_it_is_refused_by_name(self, source, target, suffix):
        Path(f"{target}{suffix}").mkdir()

        with pytest.raises(PlaceTaken, match=suffix):
            back_up_file(source, target, overwrite=True)

        assert words_in_folderless(target, suffix) == ["old"]

    def test_the_store_under_a_second_name_is_refused(self, source, target):
        target.unlink()
        target.hardlink_to(source)

        with pytest.raises(BackupExists, match="the store itself"):
            back_up_file(source, target, overwrite=True)


def words_in_folderless(path: Path, suffix: str) -> list[str]:
    Path(f"{path}{suffix}").rmdir()
    return words_in(path)
