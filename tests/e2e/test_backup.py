"""`review_doctor --backup`: one whole file, whoever writes meanwhile, from which all comes back."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import pytest

from review.store.opening import known_migrations
from tests.helpers.commands import REPOSITORY, process_environment, run
from tests.helpers.forked import run_forked
from tests.helpers.killed_backup import POINTS
from tests.stores.make import FILES_OF_JOBS, STORE, answers, unpack

TODAY = max(known_migrations())
HANGS = 120  # seconds; a guard, never a measure


@pytest.fixture
def root(tmp_path):
    """A knowledge base in which everything occurred, with its store and the files of its jobs."""
    unpack(TODAY, tmp_path)
    return tmp_path


def back_up(root, *args):
    return run_forked("review_doctor", "--backup", *args, root=root)


def helper(root, name, *args):
    return [sys.executable, "-m", f"tests.helpers.{name}", *map(str, args)]


def end_of(root, end, target, *options):
    """The exit code of a backup that meets its end."""
    done = subprocess.run(
        helper(root, "killed_backup", end, target, *options),
        cwd=REPOSITORY,
        env=process_environment(root),
        capture_output=True,
        timeout=HANGS,
        check=False,
    )
    return done.returncode


def folder_for_backups(root):
    place = root / "backups"
    place.mkdir()
    return place


def jobs_in(store):
    return rows_in(store, "review_jobs")


def events_in(store):
    return rows_in(store, "review_job_events")


def rows_in(store, table):
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608


class TestBackup:
    def test_is_a_store_that_says_the_same_and_is_for_its_owner_alone(self, root):
        (root / "new").mkdir()

        done = back_up(root, root / "new" / "b.sqlite", "--json")

        assert done.exit == 0
        assert done.json["backup"]["rows"]["review_jobs"] == jobs_in(root / STORE)
        target = root / "new" / "b.sqlite"
        assert done.json["backup"]["byte_size"] == target.stat().st_size
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert [file.name for file in target.parent.iterdir()] == ["b.sqlite"]
        said = [
            run_forked("review_status", "--json", root=root, env={"COMMONPLACE_REVIEW_DB": store})
            for store in (str(target), str(root / STORE))
        ]
        assert said[0].out == said[1].out

    def test_as_text_says_where_it_is(self, root):
        assert back_up(root, "b.sqlite").out.startswith(f"backed up: {root / 'b.sqlite'} (")

    def test_is_never_written_over_an_earlier_one_unasked(self, root):
        back_up(root, "b.sqlite")
        before = (root / "b.sqlite").read_bytes()

        done = back_up(root, "b.sqlite")

        assert done.exit == 4
        assert "--overwrite" in done.err
        assert (root / "b.sqlite").read_bytes() == before

    @pytest.mark.parametrize("options", [(), ("--overwrite",)], ids=["unasked", "asked"])
    @pytest.mark.parametrize(
        "place", ["kb/notes/a.md", "kb/review.toml", "kb/notes/new.sqlite", "kb/link/b.sqlite"]
    )
    def test_never_goes_among_notes_gates_and_settings(self, root, place, options):
        (root / "kb" / "link").symlink_to(root / "kb" / "notes")
        place = root / place
        before = place.read_bytes() if place.exists() else None

        done = back_up(root, place, *options, "--json")

        assert (done.exit, done.error["code"]) == (5, "output-refused")
        assert (place.read_bytes() if place.exists() else None) == before

    @pytest.mark.parametrize("options", [(), ("--overwrite",)], ids=["unasked", "asked"])
    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"# A note\n", id="text"),
            pytest.param(b"SQLite format 3\0", id="a-header-cut-short"),
            pytest.param(b"SQLite format 3\0" + b"\0" * 4080, id="an-unmarked-database"),
        ],
    )
    def test_never_replaces_what_is_no_store(self, root, options, content):
        (root / "letter.txt").write_bytes(content)

        done = back_up(root, "letter.txt", *options, "--json")

        assert (done.exit, done.error["code"]) == (4, "place-taken")
        assert "--overwrite" not in done.error["hint"]
        assert (root / "letter.txt").read_bytes() == content

    @pytest.mark.parametrize(
        "make",
        [
            pytest.param(lambda root: root / STORE, id="the-store"),
            pytest.param(lambda root: root / f"{STORE}-wal", id="its-log"),
            pytest.param(lambda root: root / "backups", id="a-folder"),
        ],
    )
    def test_never_replaces(self, root, make):
        before = (root / STORE).read_bytes()
        (root / "backups").mkdir()

        done = back_up(root, make(root), "--overwrite")

        assert done.exit == 4
        assert (root / STORE).read_bytes() == before

    @pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
    def test_never_replaces_the_store_under_another_name(self, root, link):
        getattr(root / "link", link)(root / STORE)

        assert back_up(root, "link", "--overwrite").exit == 4

    @pytest.mark.parametrize("place", ["none/b.sqlite", "notes.md/b.sqlite"])
    def test_goes_into_a_folder_that_is_there(self, root, place):
        (root / "notes.md").write_text("a file")

        done = back_up(root, place, "--json")

        assert (done.exit, done.error["code"]) == (5, "backup-folder-missing")
        assert str((root / place).parent) in done.error["message"]
        assert not (root / "none").exists()

    def test_is_no_stream(self, root):
        assert back_up(root, "-").exit == 2
        assert not (root / "-").exists()

    def test_of_no_store_makes_none(self, root):
        (root / STORE).unlink()

        done = back_up(root, "b.sqlite")

        assert done.exit == 1
        assert not (root / STORE).exists()
        assert not (root / "b.sqlite").exists()

    def test_of_another_database_is_refused(self, root):
        with closing(sqlite3.connect(root / "other.sqlite")) as other:
            other.execute("CREATE TABLE t (x)")

        done = run_forked(
            "review_doctor", "--backup", "b.sqlite",
            root=root, env={"COMMONPLACE_REVIEW_DB": str(root / "other.sqlite")},
        )  # fmt: skip

        assert done.exit == 1
        assert not (root / "b.sqlite").exists()

    def test_that_a_damaged_store_would_make_is_not_made(self, root):
        with closing(sqlite3.connect(root / STORE)) as store:
            store.execute("PRAGMA foreign_keys = OFF")
            store.execute("DELETE FROM review_pairs WHERE id = 1")
            store.commit()

        done = back_up(root, "b.sqlite")

        assert done.exit == 1
        assert "refers to a row of review_pairs that is not there" in done.err
        assert not (root / "b.sqlite").exists()

    def test_of_a_store_with_a_damaged_page_is_not_made(self, root):
        damaged = bytearray((root / STORE).read_bytes())
        damaged[40_960:49_152] = b"\xff" * 8192
        (root / STORE).write_bytes(damaged)

        done = back_up(root, "b.sqlite")

        assert done.exit == 1
        assert not (root / "b.sqlite").exists()

    @pytest.mark.parametrize("option", ["--check", "--repair", "--prune"])
    def test_goes_with_nothing_else(self, root, option):
        assert back_up(root, "b.sqlite", option).exit == 2

    def test_of_a_server_is_left_to_the_server(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        (tmp_path / "kb").mkdir()
        monkeypatch.setenv("COMMONPLACE_REVIEW_DB", "postgres://ana:secret@db/reviews")

        done = run("review_doctor", "--backup", "b.dump", "--json")

        assert done.exit == 2
        assert done.error["code"] == "backup-is-the-servers"
        assert "pg_dump" in done.error["hint"]
        assert "secret" not in done.err


class TestUnfinished:
    @pytest.mark.parametrize("point", [name for name in POINTS if name != "with-its-name"])
    def test_after_a_kill_nothing_looks_like_a_backup_and_the_next_tidies_up(self, root, point):
        place = folder_for_backups(root)

        assert end_of(root, point, place / "b.sqlite") == -9
        (left,) = place.iterdir()
        assert left.name.startswith(".")
        assert left.name.endswith(".unfinished-backup")
        assert stat.S_IMODE(left.stat().st_mode) == 0o600

        assert back_up(root, place / "b.sqlite").exit == 0
        assert [file.name for file in place.iterdir()] == ["b.sqlite"]

    def test_killed_once_it_has_its_name_it_is_whole(self, root):
        place = folder_for_backups(root)

        assert end_of(root, "with-its-name", place / "b.sqlite") == -9

        done = run_forked(
            "review_doctor", "--check",
            root=root, env={"COMMONPLACE_REVIEW_DB": str(place / "b.sqlite")},
        )  # fmt: skip
        assert done.exit == 0, done.out

    @pytest.mark.parametrize("point", POINTS)
    def test_over_an_earlier_one_leaves_that_or_the_new_one(self, root, point):
        place = folder_for_backups(root)
        back_up(root, place / "b.sqlite")
        with closing(sqlite3.connect(place / "b.sqlite")) as earlier, earlier:
            earlier.execute("DELETE FROM review_job_events")

        assert end_of(root, point, place / "b.sqlite", "--overwrite") == -9

        is_new = point == "with-its-name"
        assert events_in(place / "b.sqlite") == is_new * events_in(root / STORE)
        assert back_up(root, place / "b.sqlite", "--overwrite").exit == 0
        assert [file.name for file in place.iterdir()] == ["b.sqlite"]

    @pytest.mark.parametrize(
        ("end", "code"),
        [pytest.param("interrupted", 130, id="ctrl-c"), pytest.param("disk-full", 1, id="no-room")],
    )
    def test_leaves_nothing(self, root, end, code):
        place = folder_for_backups(root)

        assert end_of(root, end, place / "b.sqlite") == code
        assert list(place.iterdir()) == []


@contextmanager
def writers(root, *notes):
    """Processes that have notes reviewed again and again; each must end well."""
    stop = root / "stop"
    running = [
        subprocess.Popen(
            helper(root, "busy_writer", note, stop),
            cwd=REPOSITORY,
            env=process_environment(root),
            stderr=subprocess.PIPE,
        )
        for note in notes
    ]
    try:
        yield
        stop.touch()
        for writer in running:
            assert writer.wait(timeout=HANGS) == 0, writer.stderr.read().decode()
    finally:
        for writer in running:
            writer.kill()
            writer.wait()
            writer.stderr.close()


def wait_for_jobs(root, number):
    """Until the store has so many jobs."""
    end = time.monotonic() + HANGS
    while jobs_in(root / STORE) < number:
        assert time.monotonic() < end, "the writers do not write"
        time.sleep(0.01)


class TestWhileOthersWrite:
    def test_each_is_sound_and_of_one_moment(self, root):
        seen = []
        with writers(root, "a", "b"):
            for number in range(3):
                wait_for_jobs(root, (seen[-1] if seen else jobs_in(root / STORE)) + 1)
                target = root / f"b{number}.sqlite"
                assert back_up(root, target).exit == 0
                seen.append(jobs_in(target))

        assert seen == sorted(set(seen))
        for number in range(3):
            done = run_forked(
                "review_doctor", "--check", "--json",
                root=root, env={"COMMONPLACE_REVIEW_DB": str(root / f"b{number}.sqlite")},
            )  # fmt: skip
            broken = {it["name"] for it in done.json["checks"] if it["state"] == "problem"}
            # The folders of jobs that were made after it are no fault of the backup.
            assert broken <= {"job-folders"}, done.out


class TestRestore:
    def test_in_a_new_place_everything_is_there_again(self, root, tmp_path_factory):
        backup = tmp_path_factory.mktemp("elsewhere") / "b.sqlite"
        assert back_up(root, backup).exit == 0
        new = tmp_path_factory.mktemp("new")
        shutil.copytree(root / "kb", new / "kb", ignore=shutil.ignore_patterns("reports"))
        (new / "kb" / "reports").mkdir()
        shutil.copy(backup, new / STORE)

        assert run_forked("review_doctor", root=new).exit == 1
        assert run_forked("review_doctor", "--check", root=new).exit == 0
        assert run_forked("review_doctor", "--repair", root=new).exit == 0

        assert written_from_rows(new) == written_from_rows(root)
        done = run_forked("review_doctor", "--check", "--json", root=new)
        assert {check["state"] for check in done.json["checks"]} <= {"ok", "warning"}
        assert answers(new) == answers(root)


def written_from_rows(root):
    """The files of closed jobs but for prompts and what workers wrote, and prompts of open ones.

    The manifest of an open job is of the moment of its creation: a claim does not write it again.
    """
    folder = root / FILES_OF_JOBS
    waiting = open_jobs(root)
    files = [*folder.glob("*/pair-*.md"), *folder.glob("*/MANIFEST.json")]
    files = [file for file in files if file.parent.name not in waiting]
    files += [folder / name / "prompt.md" for name in waiting]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def open_jobs(root):
    """The folders of jobs that wait or are at work."""
    jobs = run_forked("review_job_list", "--json", root=root).json["jobs"]
    return {
        f"review-job-{job['review_job_id']}"
        for job in jobs
        if job["status"] in ("queued", "running")
    }
