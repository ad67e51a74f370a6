"""Writes and reads the files of jobs, and keeps one store's jobs out of another's folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

from django.core.files.storage import FileSystemStorage, storages

from review.job_files.atomic_write import ForeignJobFolder, OutputNotReadable, refusing_to
from review.job_files.naming import MANIFEST_NAME, folder_name
from review.job_files.storage import LocalFolder, RemoteFolder
from review.settings.config import Config

STORAGE_ALIAS = "review_artifacts"
# Thirty times what a model can write in one answer.
MAX_OUTPUT_BYTES = 16_000_000


class ArtifactStore:
    """Job files in the artifacts folder, or in the storage that Django's `review_artifacts` names.

    Paths are those of the rows. A path outside the artifacts folder (another
    one was set when the job was made) is read and written where it is.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files = _declared() or LocalFolder(config.artifacts)

    def make_folder(self, job_id: int, *, store_id: str, files: Mapping[str, bytes]) -> None:
        """Make a new job's folder with `files`, the manifest among them.

        What an id that was rolled back left there is moved aside, never deleted or reused.

        :raises ForeignJobFolder, ArtifactNotWritten: it cannot be made.
        """
        name = folder_name(job_id)
        with refusing_to(f"write {name}"):
            while not self._files.create_folder(name, files, owner=store_id):
                owner = self.owner(name)
                if owner not in ("", store_id):
                    raise ForeignJobFolder(
                        f"{self._config.artifacts / name} belongs to a job of another store ({owner})",
                        hint="give each store a folder of its own: set COMMONPLACE_REVIEW_ARTIFACTS",
                    )
                self._files.move_aside(name)

    def discard_folders(self, job_ids: Iterable[int]) -> None:
        """Remove the folders of jobs that were never committed, so never seen by anybody."""
        for job_id in job_ids:
            self._files.remove_folder(folder_name(job_id))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file in one step, over an older one; a folder in its place is moved aside."""
        files, name = self._locate(path)
        with refusing_to(f"write {path}"):
            files.write(name, data)

    def is_out_of_reach(self, path: str) -> bool:
        """Return whether nothing is written there, because a link on the way leads out of the folder."""
        files, name = self._locate(path)
        return files.leads_out(name.rpartition("/")[0])

    def read_output(self, path: str) -> bytes | None:
        """The bytes of a bundle output, or None when there is none yet.

        :raises OutputNotReadable: it is a folder, device or pipe, is too large, is forbidden, or is
            a link that leads elsewhere: a worker could have us read what it cannot.
        """
        files, name = self._locate(path)
        if files.leads_out(name):
            raise OutputNotReadable(f"{path} leads out of the folder of job files")
        try:
            data = files.read(name, limit=MAX_OUTPUT_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputNotReadable(f"cannot read {path}: {error.strerror or error}") from error
        if len(data) > MAX_OUTPUT_BYTES:
            raise OutputNotReadable(f"{path} is larger than {MAX_OUTPUT_BYTES:,} bytes")
        return data

    def folders(self) -> list[str]:
        """The names of all folders in the artifacts folder, sorted; none when it is not there."""
        try:
            return sorted(self._files.folder_names())
        except OSError:
            return []

    def owner(self, name: str) -> str:
        """The store that a folder's manifest names; "" when there is none, or it names none."""
        try:
            data = self._files.read(f"{name}/{MANIFEST_NAME}", limit=MAX_OUTPUT_BYTES)
            manifest = json.loads(data)
        except (OSError, ValueError, RecursionError):
            return ""
        owner = manifest.get("store_id") if isinstance(manifest, dict) else None
        return owner if isinstance(owner, str) else ""

    def keep_input(self, bundle_output_path: str, data: bytes) -> None:
        """Keep an output that was read elsewhere as the job's own; another one there moves aside."""
        files, name = self._locate(bundle_output_path)
        with refusing_to(f"write {bundle_output_path}"):
            is_kept = False
            with suppress(OSError):
                is_kept = files.read(name, limit=len(data) + 1) == data
            if is_kept:
                files.write(name, data)  # in its own right, should it be a link
                return
            while not files.write_new(name, data):
                files.move_aside(name)

    def _locate(self, path: str) -> tuple[LocalFolder | RemoteFolder, str]:
        full = self._config.root / path  # an absolute path stays what it is
        try:
            return self._files, full.relative_to(self._config.artifacts).as_posix()
        except ValueError:
            return LocalFolder(full.parent), full.name


def _declared() -> RemoteFolder | None:
    """The storage that the settings name, unless it is a folder: which one, the configuration says."""
    if STORAGE_ALIAS not in storages.backends:
        return None
    storage = storages[STORAGE_ALIAS]
    return None if isinstance(storage, FileSystemStorage) else RemoteFolder(storage)
