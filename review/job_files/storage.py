"""Folders of job files: on this machine, or in a storage of Django's."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from django.core.files.base import ContentFile
from django.core.files.storage import Storage

from review.private_files import (
    FILE_MODE,
    create_file,
    make_private,
    replace_file,
    write_new,
)

_ASIDE_NUMBERS = 10**12


class LocalFolder:
    """A folder of this machine, in which a file appears whole, readable to its owner only.

    Nothing is fsynced: every file here mirrors rows of the store. Methods raise OSError.
    """

    def __init__(self, location: Path) -> None:
        self._location = location

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically; a folder at its path is moved aside."""
        path = self._writable(name)
        if path.is_dir() and not path.is_symlink():
            self.move_aside(name)
        replace_file(path, [data])

    def write_new(self, name: str, data: bytes) -> bool:
        """Write a file; False where something is there."""
        try:
            create_file(self._writable(name), [data])
        except FileExistsError:
            return False
        return True

    def read(self, name: str, *, limit: int) -> bytes:
        """Read at most `limit` bytes of an ordinary file."""
        # Without O_NONBLOCK a pipe that a worker put there would hang us.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        with open(
            self._location / name, "rb", opener=lambda path, _: os.open(path, flags)
        ) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise OSError("it is not an ordinary file")
            return stream.read(limit)

    def create_folder(self, name: str, files: Mapping[str, bytes], *, owner: str) -> bool:
        """Make a folder that appears complete; False when something is there under its name.

        :param owner: names the unfinished folder, so that two stores never meet in one.
        """
        unfinished = self._location / f".{name}.{owner}.tmp"
        # Of a creator that was killed: ids are allocated one creator at a time.
        shutil.rmtree(unfinished, ignore_errors=True)
        make_private(unfinished)
        try:
            for file_name, data in files.items():
                write_new(unfinished / file_name, [data], mode=FILE_MODE)
            unfinished.rename(self._location / name)
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)
            if os.path.lexists(self._location / name):
                return False
            raise
        return True

    def move_aside(self, name: str) -> None:
        """Rename a file or folder to `<name>.aside-<n>`; one that is gone is fine."""
        with suppress(FileNotFoundError):
            (self._location / name).rename(self._location / _aside_name(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all that is in it; one that is not there is fine."""
        shutil.rmtree(self._location / name, ignore_errors=True)

    def folder_names(self) -> list[str]:
        """Name the folders in it, hidden ones too."""
        with os.scandir(self._location) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def leads_out(self, name: str) -> bool:
        """Return whether a link, at `name` or on the way there, leads out of the folder."""
        real, base = (os.path.realpath(path) for path in (self._location / name, self._location))
        return real != base and not real.startswith(f"{base}{os.sep}")

    def _writable(self, name: str) -> Path:
        # A worker may write in its job's folder: it must not lead us to write in another.
        if self.leads_out(name.rpartition("/")[0]):
            raise OSError(f"a link leads out of {self._location}")
        path = self._location / name
        make_private(path.parent)
        return path


class RemoteFolder:
    """The methods of `LocalFolder` over any storage that Django knows, such as a shared bucket.

    A file is written in one step as far as the storage does so.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, name: str, data: bytes) -> None:
        if self._storage.exists(name):
            self._storage.delete(name)
        self._storage.save(name, ContentFile(data))

    def write_new(self, name: str, data: bytes) -> bool:
        if self._storage.exists(name):
            return False
        self._storage.save(name, ContentFile(data))
        return True

    def read(self, name: str, *, limit: int) -> bytes:
        with self._storage.open(name) as stream:
            return bytes(stream.read(limit))

    def create_folder(self, name: str, files: Mapping[str, bytes], *, owner: str) -> bool:
        if self._files(name):
            return False
        for file_name, data in files.items():
            self._storage.save(f"{name}/{file_name}", ContentFile(data))
        return True

    def move_aside(self, name: str) -> None:
        """Copy a file or folder to a free `<name>.aside-<n>`, then delete it."""
        target = _aside_name(name)
        for below in [f"/{file_name}" for file_name in self._files(name)] or [""]:
            with self._storage.open(f"{name}{below}") as stream:
                self._storage.save(f"{target}{below}", ContentFile(stream.read()))
            self._storage.delete(f"{name}{below}")

    def remove_folder(self, name: str) -> None:
        for file_name in self._files(name):
            self._storage.delete(f"{name}/{file_name}")

    def folder_names(self) -> list[str]:
        return list(self._storage.listdir("")[0])

    def leads_out(self, name: str) -> bool:
        del name
        return False

    def _files(self, name: str) -> list[str]:
        try:
            return list(self._storage.listdir(name)[1])
        except OSError:  # storages differ in how they say that it is no folder
            return []


def _aside_name(name: str) -> str:
    """Return a random name for a file that is moved aside, so that no two processes collide."""
    return f"{name}.aside-{secrets.randbelow(_ASIDE_NUMBERS)}"
