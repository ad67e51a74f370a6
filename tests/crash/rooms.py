"""A file system of its own, small or read-only, for a part of a root; called by the zygote.

The zygote is in a mount namespace of its own, so that its mounts are nobody else's and go with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_PAGE = 4096
_LARGE = 64 * 1024 * 1024


def namespace() -> tuple[str, ...] | None:
    """The words before a command that may mount; None where nobody lets us."""
    asked = (
        ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
    )
    mount = ("mount", "-t", "tmpfs", "-o", f"size={_PAGE}", "room", "/mnt")
    if shutil.which("unshare") is None:
        return None
    tried = subprocess.run([*asked, *mount], check=False, capture_output=True)
    return None if tried.returncode else asked


def make(*, folder: str, content: str, without: str = "") -> int:
    """Mount a room at `folder`, move the files of `content` into it; the bytes they take there.

    :param without: what is called so is left out.
    """
    held = Path(f"{folder}.held")
    Path(content).rename(held)
    Path(folder).mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={_LARGE},mode=0700", "room", folder)
    left_out = shutil.ignore_patterns(without) if without else None
    shutil.copytree(held, folder, dirs_exist_ok=True, ignore=left_out)
    shutil.rmtree(held)
    told = os.statvfs(folder)
    return (told.f_blocks - told.f_bfree) * told.f_frsize


def limit(*, folder: str, size: int = _LARGE) -> None:
    """Let the room hold `size` bytes, rounded up to pages."""
    # A size of 0 would be no limit.
    _mount("-o", f"remount,rw,size={max(size, _PAGE)}", folder)


def close_for_writing(*, folder: str) -> None:
    """Make the room read-only."""
    _mount("-o", "remount,ro", folder)


def leave(*, folder: str) -> None:
    """Take the room down, with all that is in it."""
    subprocess.run(["umount", folder], check=True, capture_output=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)
