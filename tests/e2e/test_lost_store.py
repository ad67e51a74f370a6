"""A store that is not where it is looked for: no new one takes its place in silence."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from review.store.opening import known_migrations
from tests.builders import make_root
from tests.helpers.commands import REPOSITORY, process_environment, run_process
from tests.helpers.logged_stores import write_and_die
from tests.stores.make import FILES_OF_JOBS, STORE, kept_stores, unpack

TODAY = max(known_migrations())
REFUSED = [
    pytest.param(("review_status", "--fail-on", "fail"), id="gate"),
    pytest.param(("review_target_selector", "--all-gates"), id="selector"),
    pytest.param(("warn_selector",), id="queue"),
    pytest.param(("ingest_bundle_output", "--ready"), id="ingest"),
    pytest.param(("migrate",), id="migrate"),
    pytest.param(("serve", "--port", "18765"), id="pages"),
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """A knowledge base in which everything occurred, with its store and the files of its jobs."""
    folder = tmp_path_factory.mktemp("kept")
    unpack(TODAY, folder)
    return folder


@pytest.fixture
def root(kept, tmp_path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "base"))


def store_id(root: Path) -> str:
    manifest = next((root / FILES_OF_JOBS).glob("*/MANIFEST.json"))
    return json.loads(manifest.read_text())["store_id"]


def reports(root: Path) -> list[str]:
    return sorted(file.name for file in (root / "kb/reports").iterdir())


class TestThatWasLost:
    @pytest.mark.parametrize("command", REFUSED)
    def test_is_not_made_anew_by_any_command(self, root, command):
        (root / STORE).unlink()

        done = run_process(*command, root=root)

        assert done.exit == 1, done.out
        assert done.out == ""
        assert str(root / STORE) in done.err
        assert store_id(root) in done.err
        assert not [name for name in reports(root) if "review-store" in name]

    @pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
    def test_is_told_by_a_code_with_the_folders_and_the_cures(self, root, empty):
        (root / STORE).unlink()
        if empty:
            (root / STORE).touch()
        number = len(list((root / FILES_OF_JOBS).glob("review-job-*")))

        done = run_process("review_job_list", "--json", root=root)

        assert (done.exit, done.error["code"]) == (1, "store-lost")
        assert f"{number} folders of jobs in {root / FILES_OF_JOBS}" in done.error["message"]
        for cure in (
            "COMMONPLACE_REVIEW_DB",
            "copy of the store",
            "move the folders",
            "_ARTIFACTS",
        ):
            assert cure in done.error["hint"]

    def test_with_a_log_beside_its_place_is_told_what_to_move_before_a_copy_comes(self, root):
        write_and_die(root / STORE, "UPDATE review_store SET acceptance_revision = 7")
        (root / STORE).unlink()

        done = run_process("review_job_list", "--json", root=root)

        assert "move review-store.sqlite-wal and review-store.sqlite-shm away" in done.error["hint"]
        assert "review-store.sqlite-wal" in reports(root)

    def test_by_a_mistyped_setting_makes_none_there(self, root):
        typo = root / "kb/reports/reveiw-store.sqlite"

        done = run_process("review_status", root=root, env={"COMMONPLACE_REVIEW_DB": str(typo)})

        assert done.exit == 1
        assert not typo.exists()

    def test_comes_back_with_a_copy(self, root, kept):
        (root / STORE).unlink()
        shutil.copy(kept / STORE, root / STORE)

        assert run_process("review_status", root=root).exit == 0

    def test_is_done_without_once_the_folders_are_away(self, root):
        (root / STORE).unlink()
        (root / FILES_OF_JOBS).rename(root / "put-away")

        done = run_process("review_job_list", "--json", root=root)

        assert (done.exit, done.json["jobs"]) == (0, [])

    def test_is_done_without_beside_folders_of_its_own(self, root):
        env = {
            "COMMONPLACE_REVIEW_DB": "other.sqlite",
            "COMMONPLACE_REVIEW_ARTIFACTS": "other-jobs",
        }

        assert run_process("review_job_list", root=root, env=env).exit == 0

    def test_is_not_made_in_its_usual_place_beside_other_folders_either(self, root):
        (root / STORE).unlink()

        done = run_process(
            "review_job_list", root=root, env={"COMMONPLACE_REVIEW_ARTIFACTS": "other-jobs"}
        )

        assert done.exit == 1
        assert "set both COMMONPLACE_REVIEW_DB and" in done.err
        assert not (root / STORE).exists()

    def test_can_be_the_target_of_a_copy(self, root):
        (root / STORE).rename(root / "moved.sqlite")

        done = run_process(
            "review_store_copy", "--from", root / "moved.sqlite", "--to", root / STORE, root=root
        )

        assert done.exit == 0, done.err
        assert run_process("review_doctor", root=root).exit == 0

    def test_needs_no_store_to_list_gates(self, root):
        (root / STORE).unlink()

        assert run_process("resolve_gates", root=root).exit == 0

    def test_is_what_the_doctor_says_first(self, root):
        (root / STORE).unlink()

        done = run_process("review_doctor", "--json", root=root)

        checks = {check["name"]: check for check in done.json["checks"]}
        assert done.exit == 1
        assert store_id(root) in checks["store"]["message"]
        assert "the first other command" not in done.out
        assert not (root / STORE).exists()


# A request of a browser that was logged in, to a server that was started without its store.
VISIT = """
import django
django.setup()
from django.conf import settings
from django.test import Client
visitor = Client(HTTP_HOST="127.0.0.1")
visitor.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
for how in ({}, {"HTTP_ACCEPT": "application/json"}):
    answer = visitor.get("/", **how)
    print(answer.status_code, answer.content.decode())
"""


class TestPages:
    def test_of_a_lost_store_say_so_and_make_none(self, root):
        (root / STORE).unlink()
        settings = {"DJANGO_SETTINGS_MODULE": "commonplace_site.settings.web"}

        done = subprocess.run(
            [sys.executable, "-c", VISIT],
            cwd=REPOSITORY, env=process_environment(root) | settings,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("503 ")
        assert done.stdout.count("there is no store at") == 2
        assert '"store-lost"' in done.stdout
        assert not (root / STORE).exists()


class TestFirstStore:
    def test_is_made_where_no_folder_is(self, tmp_path):
        assert run_process("review_status", root=make_root(tmp_path)).exit == 0
        assert (tmp_path / STORE).exists()

    def test_is_made_beside_folders_that_no_store_owns(self, tmp_path):
        make_root(tmp_path)
        (tmp_path / FILES_OF_JOBS / "review-job-1").mkdir(parents=True)

        assert run_process("review_status", root=tmp_path).exit == 0

    @pytest.mark.parametrize(
        "command", [("review_status",), ("migrate",)], ids=["ours", "django-s"]
    )
    def test_is_not_made_in_a_folder_that_is_not_there(self, tmp_path, command):
        make_root(tmp_path)
        place = tmp_path / "mistyped" / "store.sqlite"

        done = run_process(*command, root=tmp_path, env={"COMMONPLACE_REVIEW_DB": str(place)})

        assert done.exit == 5
        assert str(place.parent) in done.err
        assert "COMMONPLACE_REVIEW_DB" in done.err
        assert not place.parent.exists()
        assert not (tmp_path / STORE).exists()

    @pytest.mark.parametrize(
        ("command", "place", "is_absolute"),
        [
            ("review_status", "kb/notes/own.sqlite", False),
            ("review_status", "kb/notes/own.sqlite", True),
            ("review_status", "link/own.sqlite", False),
            ("migrate", "kb/own.sqlite", False),
        ],
    )
    def test_is_not_made_among_notes_and_settings(self, tmp_path, command, place, is_absolute):
        make_root(tmp_path)
        (tmp_path / "kb" / "notes").mkdir(exist_ok=True)
        (tmp_path / "link").symlink_to("kb/notes")
        named = {"COMMONPLACE_REVIEW_DB": str(tmp_path / place) if is_absolute else place}

        done = run_process(command, root=tmp_path, env=named)

        assert done.exit == 5
        assert "COMMONPLACE_REVIEW_DB" in done.err
        assert not (tmp_path / place).exists()

    def test_that_lies_among_notes_already_is_still_read(self, root):
        (root / STORE).rename(root / "kb" / "own.sqlite")

        done = run_process(
            "review_status", root=root, env={"COMMONPLACE_REVIEW_DB": "kb/own.sqlite"}
        )

        assert done.exit == 0


class TestCommandsOfDjango:
    @pytest.mark.parametrize("command", ["clearsessions", "showmigrations", "dumpdata", "shell"])
    def test_leave_no_empty_file_where_no_store_is(self, tmp_path, command):
        make_root(tmp_path)
        typo = tmp_path / "typo.sqlite"

        done = run_process(command, root=tmp_path, env={"COMMONPLACE_REVIEW_DB": str(typo)})

        assert done.exit == 1
        assert f"{typo} is missing or empty" in done.err
        assert not typo.exists()

    @pytest.mark.parametrize(
        "command",
        [
            ("clearsessions",), ("changepassword", "ana"),
            ("remove_stale_contenttypes", "--noinput"),
        ],
        ids=lambda command: command[0],
    )  # fmt: skip
    def test_say_in_one_line_that_a_store_lacks_the_tables_for_people(self, root, command):
        done = run_process(*command, root=root)

        assert done.exit == 1
        assert done.err.startswith(
            f"error: the store lacks a table that {command[0]} needs: no such"
        )
        assert done.err.endswith("hint: run: commonplace migrate\n")
        assert len(done.err.splitlines()) == 2

    def test_look_at_a_store_of_any_version(self, tmp_path):
        unpack(sorted(kept_stores())[0], tmp_path)

        done = run_process("showmigrations", "review", root=tmp_path)

        assert (done.exit, "[ ]" in done.out) == (0, True)


class TestCopyTo:
    def to(self, root: Path, place: object):
        return run_process("review_store_copy", "--to", place, "--json", root=root)

    def test_a_folder_that_is_not_there_is_not_made(self, root):
        done = self.to(root, root / "none" / "x.sqlite")

        assert (done.exit, done.error["code"]) == (5, "store-folder-missing")
        assert "--to" in done.error["hint"]
        assert not (root / "none").exists()

    @pytest.mark.parametrize("place", ["kb/notes/new.sqlite", "kb/review.toml"])
    def test_is_no_place_among_notes_and_settings(self, root, place):
        before = sorted(root.joinpath("kb/notes").iterdir())

        done = self.to(root, root / place)

        assert (done.exit, done.error["code"]) == (5, "output-refused")
        assert sorted(root.joinpath("kb/notes").iterdir()) == before

    def test_a_file_that_is_no_store_is_not_to_be_moved(self, root):
        letter = root / "letter.txt"
        letter.write_text("mine\n" * 100)

        done = self.to(root, letter)

        assert done.exit == 1
        assert "--to" in done.error["hint"]
        assert "COMMONPLACE_REVIEW_DB" not in done.error["hint"]
        assert "move" not in done.error["hint"]
        assert letter.read_text() == "mine\n" * 100

    def test_a_folder_is_no_store(self, root):
        (root / "folder").mkdir()

        done = self.to(root, root / "folder")

        assert done.exit == 1
        assert "COMMONPLACE_REVIEW_DB" not in done.error["message"] + done.error["hint"]

    def test_a_log_beside_a_free_name_does_not_come_in(self, root):
        shutil.copy(root / STORE, root / "x.sqlite")
        write_and_die(root / "x.sqlite", "DELETE FROM review_job_events")
        (root / "x.sqlite").unlink()

        done = self.to(root, root / "x.sqlite")

        assert (done.exit, done.json["verified"]) == (0, True)
        assert list(root.glob("x.sqlite-wal.*.of-a-lost-store"))
