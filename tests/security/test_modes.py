"""Who else on the machine can read or replace what is kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import make_root
from tests.helpers.commands import REPOSITORY, process_environment


def run_open(root: Path, *words: str, umask: int, **variables: str) -> str:
    """Run a command under a umask; gives its output."""
    code = f"import os, sys; os.umask({umask}); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(REPOSITORY / "manage.py"), *words],
        cwd=root, env=process_environment(root) | variables, capture_output=True, check=False, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def open_to_others(path: Path) -> bool:
    """Whether anybody but the owner could do anything with it."""
    return bool(stat.S_IMODE(path.lstat().st_mode) & 0o077)


def reachable_by_others(path: Path, below: Path) -> bool:
    """Whether others could get to it through the folders up to `below`."""
    folders = [folder for folder in path.parents if folder.is_relative_to(below)]
    return open_to_others(path) and all(folder.lstat().st_mode & 0o011 for folder in folders)


@pytest.fixture(scope="module", params=[0o000, 0o022], ids=["umask-000", "umask-022"])
def kept(request, tmp_path_factory):
    """A repository in which everything was made that is kept, under an umask."""
    root = tmp_path_factory.mktemp("repository")
    run_open(root, "review_init", "--into", str(root), umask=request.param)
    make_root(root)
    run_open(root, "migrate", umask=request.param)
    pack = root / "selection.json"
    pack.write_text(
        run_open(
            root, "review_target_selector", "prose/x", "--model", "m", "--json", umask=request.param
        )
    )
    run_open(
        root, "create_review_jobs", "--input", str(pack), "--grouping", "note", umask=request.param
    )
    run_open(root, "export_reviews", "--format", "csv", umask=request.param)
    return root


class TestEverythingKept:
    def test_is_beyond_the_reach_of_other_users(self, kept):
        reports = kept / "kb" / "reports"
        found = list(reports.rglob("*"))

        assert {"review-store.sqlite", ".secret-key", "prompt.md", "gate_reviews.csv"} <= {
            f.name for f in found
        }
        assert not [path for path in found if reachable_by_others(path, reports)]

    def test_of_the_store_is_closed_in_itself(self, kept):
        reports = kept / "kb" / "reports"

        for name in ("review-store.sqlite", ".secret-key", "bundle-reviews"):
            assert not open_to_others(reports / name), name
        assert not open_to_others(reports)

    def test_of_a_job_is_closed_in_itself(self, kept):
        folder = kept / "kb" / "reports" / "bundle-reviews" / "review-job-1"

        assert not [path for path in (folder, *folder.iterdir()) if open_to_others(path)]


def test_a_store_elsewhere_is_closed(tmp_path):
    make_root(tmp_path)
    place = tmp_path / "elsewhere" / "store.sqlite"
    place.parent.mkdir()

    run_open(tmp_path, "review_status", umask=0, COMMONPLACE_REVIEW_DB=str(place))

    assert not open_to_others(place)


def test_a_backup_is_closed_like_the_store(tmp_path):
    make_root(tmp_path)
    run_open(tmp_path, "review_status", umask=0)

    run_open(tmp_path, "review_doctor", "--backup", str(tmp_path / "copy.sqlite"), umask=0)

    assert not open_to_others(tmp_path / "copy.sqlite")


def test_the_log_of_the_store_is_closed_like_the_store(tmp_path):
    import sqlite3

    make_root(tmp_path)
    run_open(tmp_path, "review_status", umask=0)
    store = tmp_path / "kb" / "reports" / "review-store.sqlite"
    before = os.umask(0)
    try:
        connection = sqlite3.connect(store)
        connection.execute("CREATE TABLE probe (x)")
        logs = [Path(f"{store}-wal"), Path(f"{store}-shm")]
        assert not [log for log in logs if open_to_others(log)]
        connection.close()
    finally:
        os.umask(before)
