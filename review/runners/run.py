"""Runs one worker in a scratch folder, and collects what a run left whose parent died."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from review.errors import ReviewError
from review.runners.outcome import Captured, RunnerFailure, RunnerOutcome
from review.runners.process.environment import new_mark, worker_environment
from review.runners.process.run import ProcessRequest, ProgramNotStarted, run_process
from review.runners.process.table import kill_orphans
from review.runners.registry import find_runner
from review.runners.run_folder import MAX_CAPTURED_BYTES, RunFolder, RunRecord
from review.runners.spec import Access, RunnerSpec
from review.runners.verify import Run, prove
from review.settings.config import Config
from review.vocabulary import FailureCode

_SCRATCH_PREFIX = "commonplace-run-"
_ORPHANS_END_WITHIN = 2.0
# What the disk of this machine refuses every job alike.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class PathOutsideScratch(ReviewError):
    """A file of a run would stand outside its scratch folder."""


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
    record = RunFolder(files).read()
    if record is None:
        return False
    until = time.monotonic() + _ORPHANS_END_WITHIN
    return not kill_orphans(record.mark, session=None, until=until)


def collect_run(files: Path, *, config: Config) -> RunnerOutcome | None:
    """What a run left whose parent died before it could take it; None: no run began here.

    :raises UnknownRunner, ConfigRefused: the runner is no longer declared.
    """
    folder = RunFolder(files)
    record = folder.read()
    if record is None:
        return None
    spec = find_runner(record.runner, config=config)
    return _judge(record, folder.captured(record), spec)


def forget_run(files: Path) -> None:
    """Remove the scratch folder that a dead parent's run left."""
    record = RunFolder(files).read()
    if record is not None and Path(record.scratch).name.startswith(_SCRATCH_PREFIX):
        shutil.rmtree(record.scratch, ignore_errors=True)


def _run(request: RunRequest, access: Access, *, stop: threading.Event) -> RunnerOutcome:
    request.spec.check(model=request.model, effort=request.effort, access=access)
    if stop.is_set():
        return _not_run(FailureCode.INTERRUPTED, "interrupted before it began")
    folder = RunFolder(request.files.absolute())
    try:
        record = _lay_out(request, folder, access)
        result = run_process(_process_request(request, folder, record), stop=stop)
    except ProgramNotStarted as error:
        return _not_run(FailureCode.RUNNER_ERROR, error.message, unusable=True)
    except OSError as error:
        return not_prepared(error, unusable=error.errno in _NO_ROOM)
    finally:
        with suppress(OSError):
            folder.prompt.unlink(missing_ok=True)
    record = replace(record, result=result)
    captured = folder.captured(record)
    with suppress(OSError):  # a full disk now costs only what a killed parent would miss
        folder.write(record)
        if captured.file is not None and access is not Access.EDIT:
            folder.keep_output(captured.file)
    return _judge(record, captured, request.spec)


def _judge(record: RunRecord, captured: Captured, spec: RunnerSpec) -> RunnerOutcome:
    return prove(Run(spec, record.access, captured, record.result, record.timeout))


def _lay_out(request: RunRequest, folder: RunFolder, access: Access) -> RunRecord:
    """Prepare the folders: nothing of an earlier run is left where this one's output will be."""
    folder.prepare(request.prompt)
    for path, data in request.reading.items():
        target = _within(request.scratch, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    output = _within(request.scratch, request.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    if access is not Access.EDIT:
        output.unlink(missing_ok=True)
    os.utime(output.parent)  # now, by the disk's clock, which need not be ours
    record = RunRecord(
        runner=request.spec.name,
        access=access,
        mark=new_mark(),
        scratch=str(request.scratch),
        output=output.relative_to(request.scratch).as_posix(),
        since_ns=output.parent.stat().st_mtime_ns,
        timeout=request.timeout,
    )
    folder.write(record)
    return record


def _process_request(request: RunRequest, folder: RunFolder, record: RunRecord) -> ProcessRequest:
    spec, values = request.spec, _values(request, folder, record)
    return ProcessRequest(
        argv=spec.arguments(record.access, values),
        stdin_path=folder.prompt if spec.takes_prompt_on_stdin else None,
        cwd=request.scratch,
        env=worker_environment(request.environ, extra=spec.variables(values)),
        stdout_path=folder.stdout,
        stderr_path=folder.stderr,
        timeout=request.timeout,
        max_bytes=request.max_bytes,
        mark=record.mark,
    )


def _values(request: RunRequest, folder: RunFolder, record: RunRecord) -> dict[str, str]:
    """The placeholders of a command; those that are not known have none."""
    values = {
        "scratch": str(request.scratch),
        "output_file": str(record.output_path),
        "last_message": str(folder.last_message),
        "prompt_file": str(folder.prompt),
        "model": request.model,
        "effort": request.effort,
    }
    return {name: value for name, value in values.items() if value is not None}


def _within(scratch: Path, path: str) -> Path:
    """A path below the scratch folder; an absolute one stands there under its last name."""
    pure = PurePosixPath(path)
    if ".." in pure.parts or not pure.name:
        raise PathOutsideScratch(f"{path!r} is no path below a scratch folder")
    return scratch / (pure.name if pure.is_absolute() else pure)


def not_prepared(error: OSError, *, unusable: bool) -> RunnerOutcome:
    """The outcome of a run that the system gave no place for its files.

    :param unusable: whether it will give none to any other job either.
    """
    where = f": {error.filename}" if error.filename else ""
    told = f"cannot prepare the run: {error.strerror or error}{where}"
    return _not_run(FailureCode.RUNNER_ERROR, told, unusable=unusable)


def _not_run(code: FailureCode, message: str, *, unusable: bool = False) -> RunnerOutcome:
    return RunnerOutcome(failure=RunnerFailure(code, message, unusable=unusable, is_attempt=False))
