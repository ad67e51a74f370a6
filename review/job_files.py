"""The one door to job files: prompts, outputs, results and manifests, each whole or not there.

One store's jobs are kept out of another's folders.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import accumulate
from pathlib import Path

from review.domain.paths import slug
from review.errors import Conflict, InputRejected, ReviewError
from review.private_files import FILE_MODE, create_file, make_private, replace_file, write_new
from review.settings import REPORTS_FOLDER, Config

PROMPT_NAME = "prompt.md"
OUTPUT_NAME = "bundle-output.md"
MANIFEST_NAME = "MANIFEST.json"


def job_folder(config: Config, job_id: int) -> str:
    """The folder of a job that is about to be made: root-relative when below the root."""
    root, base = config.root, config.artifacts
    shown = base.relative_to(root) if base.is_relative_to(root) else base
    return f"{shown.as_posix()}/{folder_name(job_id)}"


def folder_name(job_id: int) -> str:
    return f"review-job-{job_id}"


def manifest_path(prompt_path: str) -> str:
    return f"{prompt_path.rpartition('/')[0]}/{MANIFEST_NAME}"


def result_name(ordinal: int, note_path: str, gate_id: str) -> str:
    """`pair-<ordinal>-<slug>.md`: at most 110 bytes, whatever the note and the gate are called."""
    stem = note_path.rpartition("/")[2].removesuffix(".md")
    return f"pair-{ordinal}-{slug('.'.join((stem, *gate_id.split('/'))))}.md"


class ForeignJobFolder(Conflict): ...


class ArtifactNotWritten(ReviewError): ...


class OutputNotReadable(InputRejected):
    """A bundle output is there, but is no ordinary file, is too large, or may not be read."""


@contextmanager
def refusing_to(what: str) -> Iterator[None]:
    """Turn a refusal of the system into ours: "cannot `what`: the reason"."""
    try:
        yield
    except OSError as error:
        hint = "see to the space and permissions there, then run it again"
        raise ArtifactNotWritten(f"cannot {what}: {error.strerror or error}", hint=hint) from error


NEW_FILE_MODE = 0o666  # less the umask, as any new file of this user


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file, or its pieces in order, over an older one; folders on the way are made."""
    with refusing_to(f"write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [data] if isinstance(data, bytes) else data, mode=NEW_FILE_MODE)


class FixRecord:
    """One JSON object a line, each written when it happens: whoever is killed leaves what was before."""

    def __init__(self, config: Config, *, started: datetime) -> None:
        name = f"{started:%Y%m%dT%H%M%S.%f}Z-{os.getpid()}.jsonl"
        self.path = config.root / REPORTS_FOLDER / "fixes" / name

    def add(self, what: str, told: Mapping[str, object]) -> None:
        line = json.dumps({"what": what, **told}, ensure_ascii=False) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        with refusing_to(f"record what is mended in {self.path}"):
            make_private(self.path.parent)
            with os.fdopen(os.open(self.path, flags, FILE_MODE), "wb") as stream:
                stream.write(line.encode("utf-8", "replace"))


_ASIDE_NUMBERS = 10**12


class LocalFolder:
    """A folder of this machine, where files appear whole, for their owner; raises OSError."""

    def __init__(self, location: Path) -> None:
        self._location = location
        self._real = os.path.realpath(location)

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
        # Without O_NONBLOCK a pipe that a worker put there would hang us.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        with open(
            self._location / name, "rb", opener=lambda path, _: os.open(path, flags)
        ) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise OSError("it is not an ordinary file")
            return stream.read(limit)

    def create_folder(self, name: str, files: Mapping[str, bytes], *, owner: str) -> bool:
        """Make a folder that appears complete; False when something has its name."""
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
        """Rename a file or folder to `<name>.aside-<n>`, by chance; one that is gone is fine."""
        aside = f"{name}.aside-{secrets.randbelow(_ASIDE_NUMBERS)}"
        with suppress(FileNotFoundError):
            (self._location / name).rename(self._location / aside)

    def remove_folder(self, name: str) -> None:
        shutil.rmtree(self._location / name, ignore_errors=True)

    def leads_out(self, name: str) -> bool:
        """Return whether a link, at `name` or on the way there, leads out of the folder."""
        places = accumulate([str(self._location), *name.split("/")], os.path.join)
        if ".." not in name and not any(map(os.path.islink, places)):
            return False
        real = os.path.realpath(self._location / name)
        return real != self._real and not real.startswith(f"{self._real}{os.sep}")

    def _writable(self, name: str) -> Path:
        # A worker may write in its job's folder: it must not lead us to write in another.
        if self.leads_out(name.rpartition("/")[0]):
            raise OSError(f"a link leads out of {self._location}")
        path = self._location / name
        if not path.parent.is_dir():
            make_private(path.parent)
        return path


# Thirty times what a model can write in one answer.
MAX_OUTPUT_BYTES = 16_000_000


class ArtifactStore:
    """Job files, by the paths of the rows, in the artifacts folder.

    A path outside (another folder was set when the job was made) is used where it is.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files = LocalFolder(config.artifacts)

    def make_folder(self, job_id: int, *, store_id: str, files: Mapping[str, bytes]) -> None:
        """Make a new job's folder; what an id that was rolled back left there is moved aside."""
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

        A link that leads elsewhere is refused: a worker could have us read what it cannot.
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

    def has_output(self, path: str) -> bool:
        """Return True where a file is, which `read_output` may refuse yet."""
        try:
            return (self._config.root / path).is_file()
        except OSError:
            return False

    def folders(self) -> list[str]:
        """The names of all folders in the artifacts folder, sorted; none when it is not there."""
        with suppress(OSError), os.scandir(self._config.artifacts) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
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

    def _locate(self, path: str) -> tuple[LocalFolder, str]:
        full = self._config.root / path  # an absolute path stays what it is
        try:
            return self._files, full.relative_to(self._config.artifacts).as_posix()
        except ValueError:
            return LocalFolder(full.parent), full.name
