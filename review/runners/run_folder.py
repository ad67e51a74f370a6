"""The folder of one run: what its worker printed, and the record by which others find its traces."""

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


class RunFolder:
    """A folder that keeps one run's files; names are ours, contents the worker's.

    `output` is a copy of the review file, since the scratch folder goes before the review is taken
    in; `last_message` is the file that a CLI is told to write its last message to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prompt = path / "prompt.md"
        self.stdout = path / "stdout"
        self.stderr = path / "stderr"
        self.last_message = path / "last-message"
        self.output = path / "output.md"
        self.record = path / "run.json"

    def prepare(self, prompt: bytes) -> None:
        """Make the folder, with nothing of an earlier run in it.

        :raises OSError: the system refuses.
        """
        make_private(self.path)
        for file in (self.record, self.output, self.last_message, self.stdout, self.stderr):
            file.unlink(missing_ok=True)
        self.prompt.write_bytes(prompt)

    def write(self, record: RunRecord) -> None:
        """Write the record in one step.

        :raises OSError: the system refuses.
        """
        _write_whole(self.record, msgspec.json.encode(record))

    def keep_output(self, data: bytes) -> None:
        """Write the copy of the review file in one step.

        :raises OSError: the system refuses.
        """
        _write_whole(self.output, data)

    def read(self) -> RunRecord | None:
        """The record, or None when no run began here: it lies where a worker could have written."""
        try:
            record = msgspec.json.decode(_read_file(self.record) or b"", type=RunRecord)
        except (msgspec.MsgspecError, RecursionError):
            return None
        return record if is_mark(record.mark) else None

    def captured(self, record: RunRecord) -> Captured:
        """All that the worker left; a file that it edits may be as old as it was."""
        since = 0 if record.access is Access.EDIT else record.since_ns
        return Captured(
            stdout=_read_file(self.stdout) or b"",
            stderr=_read_file(self.stderr) or b"",
            exit_code=None if record.result is None else record.result.exit_code,
            file=_read_file(self.output) or _read_file(record.output_path, since_ns=since),
            last_message=_read_file(self.last_message),
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
