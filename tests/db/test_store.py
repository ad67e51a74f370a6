"""The store's file and the store on a server: made when missing, refused when not ours."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.db import OperationalError
from django.db.transaction import TransactionManagementError

from review.store import opening
from review.store.opening import APPLICATION_ID
from tests.helpers.opening import look, start


@pytest.fixture
def root() -> Iterator[Path]:
    # Not below pytest's own folder, which other users may not enter.
    folder = Path(tempfile.mkdtemp(prefix="review-store-"))
    folder.chmod(0o755)
    (folder / "kb").mkdir()
    yield folder
    (folder / "kb" / "reports").chmod(0o755) if (folder / "kb" / "reports").is_dir() else None
    shutil.rmtree(folder)


@pytest.fixture
def file(root: Path) -> Path:
    return root / "kb" / "reports" / "review-store.sqlite"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A store that the tests copy: to make one takes a second."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "kb").mkdir()
    look(folder)
    return folder / "kb" / "reports" / "review-store.sqlite"


def copy(made: Path, file: Path) -> None:
    file.parent.mkdir()
    shutil.copy(made, file)


@contextmanager
def raw(file: Path):
    with closing(sqlite3.connect(file)) as peek, peek:
        yield peek


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


class TestMissingFile:
    def test_is_made_for_a_reader_too(self, root, file):
        said = look(root, "read")

        assert said.endswith(" 0")
        assert names(file.parent) == [file.name]

    def test_belongs_to_its_owner_alone(self, root, file):
        look(root)

        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700

    def test_is_marked_and_keeps_a_write_ahead_log(self, made):
        with raw(made) as peek:
            assert peek.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert peek.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)

    @pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
    def test_is_made_once_by_many_at_a_time(self, root, file, empty):
        if empty:
            file.parent.mkdir()
            file.touch()

        processes = [start(root, "write") for _ in range(8)]
        said = [process.communicate(timeout=60)[0].split() for process in processes]

        assert len({store_id for store_id, _revision in said}) == 1
        assert sorted(int(revision) for _store_id, revision in said) == list(range(1, 9))
        # Of two that close at once SQLite has neither remove the log; whoever comes alone does.
        look(root)
        assert names(file.parent) == [file.name]

    def test_is_refused_by_name_wherever_the_room_for_it_ends(self, root, file, made):
        with raw(made) as peek:
            (pages,) = peek.execute("PRAGMA page_count").fetchone()
        limits = range(2, pages, 12)

        said = [look(root, f"pages={limit}") for limit in limits]

        assert len(said) > 3
        assert {words.partition("|")[0] for words in said} == {"store-full"}
        assert look(root).endswith(" 0")

    @pytest.mark.django_db
    def test_what_the_database_refused_is_told_and_not_what_was_tried_after(self, monkeypatch):
        # What Django raises where the rollback found no room either.
        after = TransactionManagementError("You can't execute queries")
        after.__context__ = OperationalError("disk I/O error")

        def fails(*_arguments):
            raise after

        monkeypatch.setattr("django.db.migrations.executor.MigrationExecutor.migrate", fails)

        with pytest.raises(OperationalError, match="disk I/O error"):
            opening._migrate("default")

    def test_does_not_play_the_log_of_a_store_that_is_gone(self, root, file, made):
        copy(made, file)
        write_and_die(file)
        file.unlink()

        said = look(root)

        assert said.endswith(" 0")
        assert [name for name in names(file.parent) if name.endswith(".of-a-lost-store")]

    def test_names_the_place_where_none_can_be_made(self, root, file):
        file.parent.write_text("a file in the folder's place")

        kind, message, hint = look(root).split("|")

        assert kind == "store-not-opened"
        assert str(file) in message
        assert hint


class TestFileOfAnotherKind:
    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            pytest.param(b"not a database", "store-corrupt", id="text"),
            pytest.param(
                b"SQLite format 3\0" + b"\0" * 20, "store-corrupt", id="cut-in-its-header"
            ),
            pytest.param(b"SQLite format 3\0" + b"\xff" * 900, "store-corrupt", id="noise"),
        ],
    )
    def test_is_refused_with_a_hint(self, root, file, content, kind):
        file.parent.mkdir()
        file.write_bytes(content)

        said = look(root, "write").split("|")

        assert said[0] == kind
        assert str(file) in said[1]
        assert said[2]
        assert file.read_bytes() == content

    @pytest.mark.parametrize("wal", [False, True], ids=["journal", "write-ahead-log"])
    def test_that_is_somebody_s_database_is_not_touched(self, root, file, wal):
        file.parent.mkdir()
        with raw(file) as foreign:
            foreign.execute("PRAGMA journal_mode = " + ("wal" if wal else "delete"))
            foreign.execute("CREATE TABLE mine (a)")
        before = file.read_bytes()

        said = look(root, "write")

        assert said.startswith("store-foreign|")
        assert file.read_bytes() == before
        assert names(file.parent) == [file.name]

    def test_that_is_another_django_s_database_is_refused(self, root, file):
        file.parent.mkdir()
        with raw(file) as foreign:
            foreign.execute("CREATE TABLE django_migrations (app, name)")
            foreign.execute("INSERT INTO django_migrations VALUES ('blog', '0001_initial')")

        assert look(root, "write").startswith("store-foreign|")

    def test_that_is_a_folder_is_refused(self, root, file):
        file.mkdir(parents=True)

        assert look(root).startswith("store-not-opened|")

    @pytest.mark.parametrize("size", [9_000, 50_000], ids=["early", "late"])
    def test_that_was_cut_is_refused(self, root, file, made, size):
        copy(made, file)
        os.truncate(file, size)

        assert look(root, "write").startswith("store-corrupt|")

    def test_made_without_our_mark_but_by_us_is_taken(self, root, file, made):
        copy(made, file)
        with raw(file) as peek:
            peek.execute("PRAGMA application_id = 0")

        assert look(root, "write").endswith(" 1")


class TestVersion:
    def test_older_is_refused_with_the_command_to_run(self, root, file, made):
        copy(made, file)
        with raw(file) as peek:
            peek.execute("DELETE FROM django_migrations WHERE name LIKE '0002%'")

        kind, message, hint = look(root).split("|")

        assert kind == "store-older"
        assert "0002" in message
        assert "commonplace migrate" in hint

    def test_newer_is_refused(self, root, file, made):
        copy(made, file)
        with raw(file) as peek:
            peek.execute(
                "INSERT INTO django_migrations (app, name, applied)"
                " VALUES ('review', '9999_later', '2030-01-01')"
            )

        kind, message, _hint = look(root).split("|")

        assert kind == "store-newer"
        assert "9999_later" in message

    def test_migrations_of_other_apps_do_not_matter(self, root, file, made):
        copy(made, file)
        with raw(file) as peek:
            peek.execute(
                "INSERT INTO django_migrations (app, name, applied)"
                " VALUES ('auth', '0001_initial', '2030-01-01')"
            )

        assert look(root).endswith(" 0")


def write_and_die(file: Path) -> None:
    """Leave a write in the log, as a process that was killed does."""
    code = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        "db.execute('UPDATE review_store SET acceptance_revision = 7'); db.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)


class TestReadOnlyFile:
    """Read without the right to write; permission bits do not bind root, who becomes nobody."""

    def share(self, made: Path, file: Path, *, folder: int) -> None:
        copy(made, file)
        file.chmod(0o444)
        file.parent.chmod(folder)

    def look(self, root: Path, use: str) -> str:
        return look(root, use, *(["as-nobody"] if os.geteuid() == 0 else []))

    @pytest.mark.parametrize("folder", [0o555, 0o777], ids=["folder-too", "file-only"])
    def test_serves_a_reader_and_leaves_nothing(self, root, file, made, folder):
        self.share(made, file, folder=folder)

        said = self.look(root, "read")

        assert said.endswith(" 0")
        assert names(file.parent) == [file.name]

    def test_shows_a_reader_the_last_write(self, root, file, made):
        copy(made, file)
        write_and_die(file)
        for left in file.parent.iterdir():
            left.chmod(0o444)
        file.parent.chmod(0o555)

        assert self.look(root, "read").endswith(" 7")

    def test_says_when_the_last_write_cannot_be_read(self, root, file, made):
        copy(made, file)
        write_and_die(file)
        Path(f"{file}-shm").unlink()
        for left in file.parent.iterdir():
            left.chmod(0o444)
        file.parent.chmod(0o555)

        kind, message, hint = self.look(root, "read").split("|")

        assert kind == "store-not-opened"
        assert "recent writes" in message
        assert "copy" in hint

    def test_refuses_a_writer_by_name(self, root, file, made):
        self.share(made, file, folder=0o555)

        kind, message, hint = self.look(root, "write").split("|")

        assert kind == "store-read-only"
        assert str(file) in message
        assert hint

    def test_that_may_not_be_read_is_refused(self, root, file, made):
        self.share(made, file, folder=0o555)
        file.chmod(0)

        said = self.look(root, "read").split("|")

        assert said[0] == "store-not-opened"
        assert "permissions" in said[2]
