"""The units of `docs/deploy.md`: read by systemd's own tool where the machine has it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.helpers.deploy_page import blocks

FILES = {
    "reviews.service": ("5. The server", 0),
    "reviews-watch.service": ("Without a broker", 0),
    "reviews-worker.service": ("With Celery", 0),
    "reviews-beat.service": ("With Celery", 1),
    "reviews-backup.service": ("Backups and upgrades", 0),
    "reviews-backup.timer": ("Backups and upgrades", 1),
}
PROGRAMS = ("gunicorn", "commonplace", "celery")
USER_AND_PLACES = (
    ("User=reviews\n", "User=root\n"),
    *((f"/srv/reviews/venv/bin/{name}", "/bin/true") for name in PROGRAMS),
)


@pytest.fixture
def units(tmp_path):
    """The files as the page has them, for a user and programs that every machine has."""
    for name, (heading, number) in FILES.items():
        text = blocks("ini", under=heading)[number]
        for theirs, ours in USER_AND_PLACES:
            text = text.replace(theirs, ours)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_are_all_of_the_page():
    parts = ("For a team", "Workers on several machines", "Backups and upgrades")

    assert sum(len(blocks("ini", under=part)) for part in parts) == len(FILES)


@pytest.mark.parametrize("name", FILES)
def test_say_nothing_that_systemd_does_not_know(units, name):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(units / name)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if str(units) in line]


def test_the_password_of_the_owner_is_on_no_command_line(units):
    assert "PASSWORD" not in (units / "reviews-backup.service").read_text()
