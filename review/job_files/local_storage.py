"""Job files in a folder of this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from review import private_files as folders

_ASIDE_NUMBERS = 10**12


def aside_name(name: str) -> str:
    """Name what is moved out of the way; by chance, so that no two movers take the same name."""
    return f"{name}.aside-{secrets.randbelow(_ASIDE_NUMBERS)}"


class ArtifactFolder:
    """A folder in which a file appears whole under its name, readable to its owner only.

    Nothing is fsynced: every file here mirrors rows of the store and can be written again.
    Each method raises OSError as the system says.
    """

    def __init__(self, location: Path) -> None:
        self._location = location

    def write(self, name: str, data: bytes) -> None:
        """Write a file in one step; a folder that stands in its place is moved aside."""
        path = self._writable(name)
        if path.is_dir() and not path.is_symlink():
            self.move_aside(name)
        folders.replace_file(path, [data])

    def write_new(self, name: str, data: bytes) -> bool:
        """`write`, but only where nothing is; False when something is there."""
        path = self._writable(name)
        try:
            folders.create_file(path, [data])
        except FileExistsError:
            return False
        return True

    def read(self, name: str, *, limit: int) -> bytes:
        """At most `limit` bytes of an ordinary file."""
        # Without O_NONBLOCK a pipe that a worker put there would hang us.
        descriptor = os.open(self._location / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
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
        unfinished = self._location / f".{name}.{owner}.tmp"
        # Of a creator that was killed: ids are allocated one creator at a time.
        shutil.rmtree(unfinished, ignore_errors=True)
        folders.make_private(unfinished)
        try:
            for file_name, data in files.items():
                folders.write_new(unfinished / file_name, [data], mode=folders.FILE_MODE)
            unfinished.rename(self._location / name)
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)
            if self.exists_there(name):
                return False
            raise
        return True

    def move_aside(self, name: str) -> None:
        """Rename a file or folder to `<name>.aside-<n>`; one that is gone is fine."""
        with suppress(FileNotFoundError):
            (self._location / name).rename(self._location / aside_name(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all that is in it; one that is not there is fine."""
        shutil.rmtree(self._location / name, ignore_errors=True)

    def folder_names(self) -> list[str]:
        """The folders in it, hidden ones too."""
        with os.scandir(self._location) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def exists_there(self, name: str) -> bool:
        """Whether anything has this name, a dangling link included."""
        return os.path.lexists(self._location / name)

    def leads_out(self, name: str) -> bool:
        """Whether a link in the folder, at `name` or on the way there, leads somewhere else."""
        real, base = (os.path.realpath(path) for path in (self._location / name, self._location))
        return real != base and not real.startswith(f"{base}{os.sep}")

    def _writable(self, name: str) -> Path:
        # A worker may write in its job's folder: it must not lead us to write in another.
        if self.leads_out(name.rpartition("/")[0]):
            raise OSError(f"a link leads out of {self._location}")
        path = self._location / name
        folders.make_private(path.parent)
        return path
