"""The file index on overlays, remounted and covered folders, and a full disk, where mounting is allowed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.commands import REPOSITORY

NAMESPACE = ["unshare", "--map-root-user", "--mount"]
HISTORIES = {"overlay", "copied_up", "mounted_again", "swapped_by_binding", "full_disk"}


def may_mount() -> bool:
    try:
        tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False, timeout=60)
    except FileNotFoundError:
        return False
    return tried.returncode == 0


class TestMounts:
    def test_never_make_a_digest_outlive_its_text(self, tmp_path):
        if not may_mount():
            pytest.skip("no mount namespaces on this machine")

        done = subprocess.run(
            [*NAMESPACE, sys.executable, "-m", "tests.unit.corpus.mounted", str(tmp_path)],
            cwd=REPOSITORY,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        said = dict(line.split() for line in done.stdout.splitlines())
        assert said
        assert set(said) <= HISTORIES
        assert set(said.values()) == {"right"}
