"""Writes the files and folders that an operator asked for, each whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from review.job_files.errors import refusing_to
from review.private_files import create_file, make_private, replace_file

_MODE = 0o666  # less the umask, as any new file of this user


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file over an older one in one step; folders on the way are made.

    :param data: the content, or its pieces in order.
    :raises ArtifactNotWritten: the system refused.
    """
    with refusing_to(f"write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [data] if isinstance(data, bytes) else data, mode=_MODE)


def write_whole_new(path: Path, data: bytes) -> bool:
    """Write a file only where nothing is, whoever races; return False where something is.

    :raises ArtifactNotWritten: the system refused.
    """
    with refusing_to(f"write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            create_file(path, [data], mode=_MODE)
        except FileExistsError:
            return False
    return True


def make_folder(path: Path) -> None:
    """Make a folder and those on the way to it; one that is there is fine.

    :raises ArtifactNotWritten: the system refused.
    """
    with refusing_to(f"make {path}"):
        path.mkdir(parents=True, exist_ok=True)


def make_private_folder(path: Path) -> None:
    """Make a folder for its owner alone; one that is there is fine.

    :raises ArtifactNotWritten: the system refused.
    """
    with refusing_to(f"make {path}"):
        make_private(path)
