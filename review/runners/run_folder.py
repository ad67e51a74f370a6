"""The folder of one run: its worker's output, and the record by which others find its traces."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import msgspec

from review.private_files import make_private
from review.runners.outcome import Captured
from review.runners.process.environment import is_mark
from review.runners.process.run import ProcessResult
from review.runners.spec import Access

MAX_CAPTURED_BYTES = 32_000_000
PROMPT, STDOUT, STDERR, LAST_MESSAGE = "prompt.md", "stdout", "stderr", "last-message"
_OUTPUT, _RECORD = "output.md", "run.json"


@dataclass(frozen=True)
class RunRecord:
    """What has to be known of a run, to end it and to judge it without its parent.

    :param mark: what all its processes carry in their environment.
    :param output: where the review is expected, relative to the scratch folder.
    :param since_ns: a file that is older is not this run's work; by the disk's clock.
    :param timeout: seconds.
    :param result: None while nobody has seen it end.
    """

    runner: str
    access: Access
    mark: str
    scratch: str
    output: str
    since_ns: int
    timeout: float
    result: ProcessResult | None = None

    @property
    def output_path(self) -> Path:
        return Path(self.scratch, self.output)


def prepare(files: Path, prompt: bytes) -> None:
    """Make the folder of a run, with nothing of an earlier one in it.

    :raises OSError: the system refuses.
    """
    make_private(files)
    for name in (_RECORD, _OUTPUT, LAST_MESSAGE, STDOUT, STDERR):
        (files / name).unlink(missing_ok=True)
    (files / PROMPT).write_bytes(prompt)


def keep(files: Path, record: RunRecord, *, output: bytes | None = None) -> None:
    """Write the record, and a copy of the review file: the scratch folder goes before it is read.

    :raises OSError: the system refuses.
    """
    _write_whole(files / _RECORD, msgspec.json.encode(record))
    if output is not None:
        _write_whole(files / _OUTPUT, output)


def read_record(files: Path) -> RunRecord | None:
    """The record, or None when no run began here: it lies where a worker could have written."""
    try:
        record = msgspec.json.decode(_read_file(files / _RECORD) or b"", type=RunRecord)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return record if is_mark(record.mark) else None


def read_captured(files: Path, record: RunRecord) -> Captured:
    """All that the worker left; a file that it edits may be as old as it was."""
    since = 0 if record.access is Access.EDIT else record.since_ns
    return Captured(
        stdout=_read_file(files / STDOUT) or b"",
        stderr=_read_file(files / STDERR) or b"",
        exit_code=None if record.result is None else record.result.exit_code,
        file=_read_file(files / _OUTPUT) or _read_file(record.output_path, since_ns=since),
        last_message=_read_file(files / LAST_MESSAGE),
    )


def _read_file(path: Path, *, since_ns: int = 0) -> bytes | None:
    """An ordinary file that was written since then; a link, folder or pipe is none."""
    try:
        # Without O_NONBLOCK a pipe that a worker put there would hang us.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as stream:
            info = os.fstat(stream.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_mtime_ns < since_ns:
                return None
            return stream.read(MAX_CAPTURED_BYTES)
    except (OSError, ValueError):
        return None


def _write_whole(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(data)
    unfinished.replace(path)
