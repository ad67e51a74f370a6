"""Makes files and folders for their owner alone, each file whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_private(folder: Path) -> None:
    """Make `folder` and those on the way to it, none of them open to other users of the machine.

    `Path.mkdir` gives only the last one its mode. One that is there stays as it is.
    """
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for path in reversed(missing[1:]):
        with suppress(FileExistsError):
            path.mkdir(mode=FOLDER_MODE)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def replace_file(path: Path, pieces: Iterable[bytes], *, mode: int = FILE_MODE) -> None:
    """Write a file over an older one by renaming it into place; nothing is fsynced."""
    with _draft_of(path, pieces, mode) as draft:
        draft.replace(path)


def create_file(path: Path, pieces: Iterable[bytes], *, mode: int = FILE_MODE) -> None:
    """Write a file whole where nothing is, or raise FileExistsError, for a dangling link too."""
    with _draft_of(path, pieces, mode) as draft:
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            write_new(path, [draft.read_bytes()], mode=mode)


def write_new(path: Path, pieces: Iterable[bytes], *, mode: int) -> None:
    """Write a file where nothing is; a reader may see half of it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as stream:
        stream.writelines(pieces)


@contextmanager
def _draft_of(path: Path, pieces: Iterable[bytes], mode: int) -> Iterator[Path]:
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        write_new(draft, pieces, mode=mode)
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink()
