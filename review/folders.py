"""Makes folders that are for their owner alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_PRIVATE = 0o700


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
            path.mkdir(mode=_PRIVATE)
    folder.mkdir(mode=_PRIVATE, exist_ok=True)
