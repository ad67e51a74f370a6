"""Job files in any storage that Django knows, such as a bucket that a team shares."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.files.base import ContentFile
from django.core.files.storage import Storage

from review.job_files.local_storage import aside_name


class RemoteFolder:
    """The methods of `ArtifactFolder` over a storage that has no rename.

    A file is written in one step as far as the storage does so; a folder is not: its manifest is
    expected to be the first of its files, so that a half-made one says whose it is.
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
        del owner
        if self._files(name):
            return False
        for file_name, data in files.items():
            self._storage.save(f"{name}/{file_name}", ContentFile(data))
        return True

    def move_aside(self, name: str) -> None:
        """Copy a file or folder to a free `<name>.aside-<n>`, then delete it."""
        target = aside_name(name)
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

    def exists_there(self, name: str) -> bool:
        """Whether a file, or a folder with a file in it, has this name."""
        return bool(self._files(name)) or self._storage.exists(name)

    def _files(self, name: str) -> list[str]:
        try:
            return list(self._storage.listdir(name)[1])
        except OSError:  # storages differ in how they say that it is no folder
            return []
