"""Writes a file that an operator asked for, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from review.artifacts.refusals import ArtifactNotWritten
from review.folders import make_private

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file over an older one by renaming it into place; folders on the way are made.

    It gets the permissions that any new file of this user gets. Nothing is fsynced.

    :param data: the content, or its pieces in order.
    :raises ArtifactNotWritten: the system refused.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _opened(draft) as stream:
            stream.writelines([data] if isinstance(data, bytes) else data)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise ArtifactNotWritten(
            f"cannot write {path}: {error.strerror or error}", hint="name another place"
        ) from error


def make_folder(path: Path) -> None:
    """Make a folder and those on the way to it; one that is there is fine.

    :raises ArtifactNotWritten: the system refused.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtifactNotWritten(f"cannot make {path}: {error.strerror or error}") from error


def make_private_folder(path: Path) -> None:
    """Make a folder for its owner alone; one that is there is fine.

    :raises ArtifactNotWritten: the system refused.
    """
    try:
        make_private(path)
    except OSError as error:
        raise ArtifactNotWritten(f"cannot make {path}: {error.strerror or error}") from error


def write_new(path: Path, data: bytes) -> None:
    """Write a file where nothing is.

    :raises FileExistsError: something is there, a dangling link included.
    :raises OSError: as the system says.
    """
    with _opened(path) as stream:
        stream.write(data)


def _opened(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, _FLAGS, 0o666), "wb")


def write_whole_new(path: Path, data: bytes) -> None:
    """`write_whole`, but only where nothing is: nobody's file is overwritten, whoever races.

    :raises FileExistsError: something is there.
    :raises ArtifactNotWritten: the system refused.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(draft, data)
        _link(draft, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise ArtifactNotWritten(
            f"cannot write {path}: {error.strerror or error}",
            hint="see to the space and permissions there, then run it again",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _link(draft: Path, path: Path) -> None:
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: write in place, which does not overwrite either.
        write_new(path, draft.read_bytes())
