"""Job files in a folder of this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from django.core.files.storage import FileSystemStorage

from review.folders import FILE_MODE, FOLDER_MODE, make_private


class ArtifactFolder(FileSystemStorage):
    """A folder in which a file appears whole under its name, readable to its owner only.

    Nothing is fsynced: every file here mirrors rows of the store and can be written again.
    Each method raises OSError as the system says.
    """

    def __init__(self, location: Path | str) -> None:
        super().__init__(
            location=str(location),
            base_url="",
            file_permissions_mode=FILE_MODE,
            directory_permissions_mode=FOLDER_MODE,
            allow_overwrite=True,
        )

    def write(self, name: str, data: bytes) -> None:
        """Write a file in one step; a folder that stands in its place is moved aside."""
        path = Path(self.path(name))
        self._refuse_way_out(path)
        make_private(path.parent)
        unfinished = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            _write_new(unfinished, data)
            if path.is_dir() and not path.is_symlink():
                self.move_aside(name)
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise

    def write_new(self, name: str, data: bytes) -> bool:
        """`write`, but only where nothing is; False when something is there."""
        path = Path(self.path(name))
        if self.exists_there(name):
            return False
        self._refuse_way_out(path)
        make_private(path.parent)
        unfinished = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            _write_new(unfinished, data)
            return _give_name(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)

    def read(self, name: str, *, limit: int) -> bytes:
        """At most `limit` bytes of an ordinary file."""
        # Without O_NONBLOCK a pipe that a worker put there would hang us.
        descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("it is not an ordinary file")
            # A folder's descriptor would be left open by `fdopen`, which refuses it.
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                return stream.read(limit)
        finally:
            os.close(descriptor)

    def create_folder(self, name: str, files: Mapping[str, bytes], *, owner: str) -> bool:
        """Make a folder that appears complete; False when something is there under its name.

        :param owner: names the unfinished folder, so that two stores never meet in one.
        """
        unfinished = Path(self.path(f".{name}.{owner}.tmp"))
        _make_empty(unfinished)
        try:
            for file_name, data in files.items():
                _write_new(unfinished / file_name, data)
            unfinished.rename(self.path(name))
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)
            if self.exists_there(name):
                return False
            raise
        return True

    def move_aside(self, name: str) -> None:
        """Rename a file or folder to a free `<name>.aside-<n>`; one that is gone by then is moved.

        The new name is taken first, by something empty: of two that move at once, neither renames
        over what the other has moved.
        """
        source = Path(self.path(name))
        is_folder = source.is_dir() and not source.is_symlink()
        target = next(filter(None, (self._reserve(name, n, is_folder) for n in count(1))))
        try:
            source.rename(target)
        except OSError as error:
            if is_folder:
                target.rmdir()
            else:
                target.unlink()
            if not isinstance(error, FileNotFoundError):
                raise

    def _reserve(self, name: str, number: int, is_folder: bool) -> Path | None:
        target = Path(self.path(f"{name}.aside-{number}"))
        try:
            if is_folder:
                target.mkdir(mode=FOLDER_MODE)
            else:
                _write_new(target, b"")
        except FileExistsError:
            return None
        return target

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all that is in it; one that is not there is fine."""
        shutil.rmtree(self.path(name), ignore_errors=True)

    def folder_names(self) -> list[str]:
        """The folders in it, hidden ones too."""
        with os.scandir(self.location) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def leads_out(self, name: str) -> bool:
        """Whether a link in the folder, at `name` or on the way there, leads somewhere else."""
        return not self._is_here(self.path(name))

    def _refuse_way_out(self, path: Path) -> None:
        # A worker may write in its job's folder: it must not lead us to write in another.
        if not self._is_here(path.parent):
            raise OSError(f"a link leads out of {self.location}")

    def _is_here(self, path: str | Path) -> bool:
        if not self._has_link_below(path):
            return True
        real, base = os.path.realpath(path), os.path.realpath(self.location)
        return real == base or real.startswith(f"{base}{os.sep}")

    def _has_link_below(self, path: str | Path) -> bool:
        """Whether something between the folder and `path` is a link, or `path` is not below it.

        Without one, nothing on the way leads out: two looks, where resolving both takes twenty.
        """
        way, here = str(path), str(self.location)
        while len(way) > len(here):
            if os.path.islink(way):  # noqa: PTH114 - a path object a file costs more
                return True
            way = os.path.dirname(way)  # noqa: PTH120
        return way != here

    def exists_there(self, name: str) -> bool:
        """Whether anything has this name, a dangling link included."""
        return os.path.lexists(self.path(name))

    def _save(self, name: str, content: Any) -> str:
        self.write(name, content.read())
        return name


def _give_name(unfinished: Path, path: Path) -> bool:
    """A finished file's name, unless something has it; where there are no hard links, by a rename."""
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        return False
    except OSError:
        if os.path.lexists(path):
            return False
        unfinished.replace(path)
    return True


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileNotFoundError:
        make_private(folder)
    except FileExistsError:
        # A creator was killed here. Ids are allocated one creator at a time, so it is nobody's.
        shutil.rmtree(folder)
        folder.mkdir(mode=FOLDER_MODE)


def _write_new(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        view = memoryview(data)
        while view:
            view = view[stream.write(view) :]
