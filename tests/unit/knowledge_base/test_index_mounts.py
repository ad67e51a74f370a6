"""The file index on overlays, remounted and covered folders, and a full disk, where mounting is allowed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.commands import REPOSITORY

# Only the first may use loop devices; the other is for who is not root.
NAMESPACES = (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"])
HISTORIES = {"overlay", "copied_up", "mounted_again", "swapped_by_binding", "full_disk"}
DISKS = {"xfs", "btrfs", "ext2", "ext3"}  # where their tools are, and a loop device may be had


def namespace_to_mount_in() -> list[str] | None:
    """How to be let mount without anybody else seeing it; None if there is no way."""
    for command in NAMESPACES:
        try:
            tried = subprocess.run(
                [*command, "mount", "-t", "tmpfs", "none", "/mnt"],
                capture_output=True, check=False, timeout=60,
            )  # fmt: skip
        except FileNotFoundError:
            return None
        if tried.returncode == 0:
            return command
    return None


class TestMounts:
    def test_never_make_a_digest_outlive_its_text(self, tmp_path):
        namespace = namespace_to_mount_in()
        if namespace is None:
            pytest.skip("no mount namespaces on this machine")

        done = subprocess.run(
            [*namespace, sys.executable, "-m", "tests.unit.knowledge_base.mounted", str(tmp_path)],
            cwd=REPOSITORY,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        said = dict(line.split() for line in done.stdout.splitlines())
        assert said
        assert set(said) <= HISTORIES | DISKS
        assert set(said.values()) == {"right"}
