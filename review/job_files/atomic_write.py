"""Writes the files and folders that an operator requested, each atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from review.errors import Conflict, InputRejected, ReviewError
from review.private_files import FILE_MODE, make_private, replace_file
from review.settings.config import REPORTS_FOLDER, Config


class ForeignJobFolder(Conflict):
    """A job's folder is there already and belongs to another store."""


class ArtifactNotWritten(ReviewError):
    """The system refused to write a file: no space, no permission."""


class OutputNotReadable(InputRejected):
    """A bundle output is there, but is no ordinary file, is too large, or may not be read."""


@contextmanager
def refusing_to(what: str) -> Iterator[None]:
    """Turn a refusal of the system into ours: "cannot `what`: the reason"."""
    try:
        yield
    except OSError as error:
        raise ArtifactNotWritten(
            f"cannot {what}: {error.strerror or error}",
            hint="see to the space and permissions there, then run it again",
        ) from error


NEW_FILE_MODE = 0o666  # less the umask, as any new file of this user


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file, or its pieces in order, over an older one; folders on the way are made.

    :raises ArtifactNotWritten: the system refused.
    """
    with refusing_to(f"write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [data] if isinstance(data, bytes) else data, mode=NEW_FILE_MODE)


class FixRecord:
    """One JSON object a line, each written when it happens: whoever is killed leaves what was before."""

    def __init__(self, config: Config, *, started: datetime) -> None:
        name = f"{started:%Y%m%dT%H%M%S.%f}Z-{os.getpid()}.jsonl"
        self.path = config.root / REPORTS_FOLDER / "fixes" / name

    def add(self, what: str, told: Mapping[str, object]) -> None:
        """Append a line that says `what`."""
        line = json.dumps({"what": what, **told}, ensure_ascii=False) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        with refusing_to(f"record what is mended in {self.path}"):
            make_private(self.path.parent)
            with os.fdopen(os.open(self.path, flags, FILE_MODE), "wb") as stream:
                stream.write(line.encode("utf-8", "replace"))
