"""What is for its owner alone: the modes of files and folders, and the making of folders."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_private(folder: Path) -> None:
    """Make `folder` and those on the way to it, none of them open to other users of the machine.

    `Path.mkdir` gives only the last one its mode: those above it would be as open as the umask lets
    them be. One that is there stays as it is.

    :raises OSError: the system refuses.
    """
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for path in reversed(missing[1:]):
        with suppress(FileExistsError):
            path.mkdir(mode=FOLDER_MODE)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
