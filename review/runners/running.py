"""Runs one worker in a scratch folder, and collects what a run left whose parent died."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from review.conf import Config
from review.errors import ReviewError
from review.runners.environment import is_mark, new_mark, worker_environment
from review.runners.leftovers import end_leftovers
from review.runners.outcome import Captured, RunnerFailure, RunnerOutcome
from review.runners.process import ProcessRequest, ProcessResult, ProgramNotStarted, run_process
from review.runners.proving import Run, prove
from review.runners.registry import find_runner
from review.runners.spec import Access, RunnerSpec
from review.vocabulary import FailureCode

MAX_CAPTURED_BYTES = 32_000_000
_SCRATCH_PREFIX = "commonplace-run-"
_PROMPT, _STDOUT, _STDERR = "prompt.md", "stdout", "stderr"
_OUTPUT, _LAST_MESSAGE = "output.md", "last-message"
_RECORD = "run.json"
_RECORDED = {"runner", "access", "mark", "scratch", "output", "since_ns", "timeout", "result"}
_ORPHANS_END_WITHIN = 2.0


@dataclass(frozen=True)
class RunRequest:
    """One run of one worker.

    :param scratch: its working directory: outside the knowledge base, and its own.
    :param files: the folder that keeps stdout, stderr and the record of the run; made if missing.
    :param output: the file that the prompt names, relative to the scratch folder.
    :param timeout: seconds.
    :param reading: files to lay out in the scratch folder, by their relative paths.
    """

    spec: RunnerSpec
    prompt: bytes
    scratch: Path
    files: Path
    output: str
    model: str | None = None
    effort: str | None = None
    timeout: float = 900.0
    reading: Mapping[str, bytes] = field(default_factory=dict)
    max_bytes: int = MAX_CAPTURED_BYTES
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def run_review(request: RunRequest, *, stop: threading.Event) -> RunnerOutcome:
    """Let a worker review; whatever it does, there is an outcome, and nothing of it is running.

    :param stop: when set, the worker is ended.
    :raises RunnerCannot: the runner cannot be told this model or effort.
    """
    return _run(request, request.spec.review_access, stop=stop)


def run_edit(request: RunRequest, *, stop: threading.Event) -> RunnerOutcome:
    """Let a worker edit `output`, one of the files laid out; the text is that file's afterwards.

    :raises RunnerCannot: the runner cannot edit files, or be told this model or effort.
    """
    return _run(request, Access.EDIT, stop=stop)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder outside every knowledge base, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def end_left_over(files: Path) -> bool:
    """End what a run still does whose parent is gone; whether anything is left that could not be.

    Only for runs whose parent is known to be gone.
    """
    record = _read_record(files)
    if record is None:
        return False
    until = time.monotonic() + _ORPHANS_END_WITHIN
    return not end_leftovers(str(record["mark"]), session=None, until=until)


def collect_run(files: Path, *, config: Config) -> RunnerOutcome | None:
    """What a run left whose parent died before it could take it; None: no run began here.

    :raises UnknownRunner, ConfigRefused: the runner is no longer declared.
    """
    record = _read_record(files)
    if record is None:
        return None
    result = record["result"]
    run = _Place.of(record, files)
    return prove(
        Run(
            spec=find_runner(str(record["runner"]), config=config),
            access=Access(record["access"]),
            captured=run.captured(None if result is None else result["exit_code"]),
            result=None if result is None else ProcessResult(**result),
            timeout=record["timeout"],
        )
    )


def forget_run(files: Path) -> None:
    """Remove the scratch folder that a dead parent's run left."""
    record = _read_record(files)
    scratch = Path(str(record["scratch"])) if record is not None else None
    if scratch is not None and scratch.name.startswith(_SCRATCH_PREFIX):
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True)
class _Place:
    """Where one run's files are, and from when on its output counts as written by it."""

    files: Path
    scratch: Path
    output: Path
    edits: bool
    since_ns: int

    @classmethod
    def of(cls, record: Mapping[str, Any], files: Path) -> _Place:
        scratch = Path(record["scratch"])
        output = scratch / record["output"]
        edits = record["access"] == Access.EDIT
        return cls(files, scratch, output, edits, record["since_ns"])

    def values(self, request: RunRequest) -> dict[str, str]:
        """The placeholders of a command."""
        values = {
            "scratch": str(self.scratch),
            "output_file": str(self.output),
            "last_message": str(self.files / _LAST_MESSAGE),
            "prompt_file": str(self.files / _PROMPT),
            "model": request.model,
            "effort": request.effort,
        }
        return {name: value for name, value in values.items() if value is not None}

    def captured(self, exit_code: int | None) -> Captured:
        """All that the CLI left; a file that is older than the run is not its work."""
        since = 0 if self.edits else self.since_ns
        return Captured(
            stdout=_read_file(self.files / _STDOUT) or b"",
            stderr=_read_file(self.files / _STDERR) or b"",
            exit_code=exit_code,
            file=_read_file(self.files / _OUTPUT) or _read_file(self.output, since_ns=since),
            last_message=_read_file(self.files / _LAST_MESSAGE),
        )


def _run(request: RunRequest, access: Access, *, stop: threading.Event) -> RunnerOutcome:
    request.spec.check(model=request.model, effort=request.effort, access=access)
    if stop.is_set():
        return _not_run(FailureCode.INTERRUPTED, "interrupted before it began")
    mark = new_mark()
    try:
        place = _lay_out(request, access)
        _write_record(place, request, access, mark=mark, result=None)
        result = run_process(_process_request(request, place, access, mark=mark), stop=stop)
        _write_record(place, request, access, mark=mark, result=result)
        captured = place.captured(result.exit_code)
        if captured.file is not None and not place.edits:
            # The scratch folder goes before the review is taken in; this one stays.
            _write_whole(place.files / _OUTPUT, captured.file)
    except ProgramNotStarted as error:
        return _not_run(FailureCode.RUNNER_ERROR, error.message, unusable=True)
    except OSError as error:
        told = f"cannot prepare the run: {error.strerror or error}: {error.filename}"
        return _not_run(FailureCode.RUNNER_ERROR, told)
    finally:
        with suppress(OSError):
            (request.files / _PROMPT).unlink(missing_ok=True)
    return prove(
        Run(
            spec=request.spec,
            access=access,
            captured=captured,
            result=result,
            timeout=request.timeout,
        )
    )


def _process_request(
    request: RunRequest, place: _Place, access: Access, *, mark: str
) -> ProcessRequest:
    spec, values = request.spec, place.values(request)
    return ProcessRequest(
        argv=spec.arguments(access, values),
        stdin_path=place.files / _PROMPT if spec.takes_prompt_on_stdin else None,
        cwd=place.scratch,
        env=worker_environment(request.environ, extra=spec.variables(values)),
        stdout_path=place.files / _STDOUT,
        stderr_path=place.files / _STDERR,
        timeout=request.timeout,
        max_bytes=request.max_bytes,
        mark=mark,
    )


def _lay_out(request: RunRequest, access: Access) -> _Place:
    """Prepare the folders: nothing of an earlier run is left where this one's output will be."""
    request.files.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (_OUTPUT, _LAST_MESSAGE, _STDOUT, _STDERR):
        (request.files / name).unlink(missing_ok=True)
    for path, data in request.reading.items():
        target = _within(request.scratch, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    output = _within(request.scratch, request.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    if access is not Access.EDIT:
        output.unlink(missing_ok=True)
    (request.files / _PROMPT).write_bytes(request.prompt)
    os.utime(output.parent)
    return _Place(
        files=request.files.absolute(),
        scratch=request.scratch,
        output=output,
        edits=access is Access.EDIT,
        since_ns=output.parent.stat().st_mtime_ns,  # by the disk's clock, which need not be ours
    )


def _within(scratch: Path, path: str) -> Path:
    """A path below the scratch folder; an absolute one stands there under its last name."""
    pure = PurePosixPath(path)
    if ".." in pure.parts or not pure.name:
        raise PathOutsideScratch(f"{path!r} is no path below a scratch folder")
    return scratch / (pure.name if pure.is_absolute() else pure)


class PathOutsideScratch(ReviewError):
    """A file of a run would stand outside its scratch folder."""


def _not_run(code: FailureCode, message: str, *, unusable: bool = False) -> RunnerOutcome:
    return RunnerOutcome(failure=RunnerFailure(code, message, unusable=unusable))


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
    except OSError:
        return None


def _write_record(
    place: _Place,
    request: RunRequest,
    access: Access,
    *,
    mark: str,
    result: ProcessResult | None,
) -> None:
    record = {
        "runner": request.spec.name,
        "access": access,
        "mark": mark,
        "scratch": str(place.scratch),
        "output": place.output.relative_to(place.scratch).as_posix(),
        "since_ns": place.since_ns,
        "timeout": request.timeout,
        "result": None if result is None else asdict(result),
    }
    _write_whole(place.files / _RECORD, json.dumps(record).encode())


def _write_whole(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(data)
    unfinished.replace(path)


def _read_record(files: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((files / _RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    complete = isinstance(record, dict) and record.keys() >= _RECORDED and is_mark(record["mark"])
    return record if complete else None
