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
from pathlib import Path

from review.runners.outcome import Captured, RunnerFailure, RunnerOutcome
from review.runners.process.environment import new_mark, worker_environment
from review.runners.process.run import ProcessRequest, ProgramNotStarted, run_process
from review.runners.process.table import kill_orphans
from review.runners.registry import find_runner
from review.runners.run_folder import (
    LAST_MESSAGE,
    MAX_CAPTURED_BYTES,
    PROMPT,
    STDERR,
    STDOUT,
    RunRecord,
    keep,
    prepare,
    read_captured,
    read_record,
)
from review.runners.spec import Access, RunnerSpec
from review.runners.verify import Run, verify_run
from review.settings.config import Config
from review.vocabulary import FailureCode

_SCRATCH_PREFIX = "commonplace-run-"
_ORPHANS_END_WITHIN = 2.0
# What the disk of this machine refuses every job alike.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


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
    record = read_record(files)
    until = time.monotonic() + _ORPHANS_END_WITHIN
    return record is not None and not kill_orphans(record.mark, session=None, until=until)


def collect_run(files: Path, *, config: Config) -> RunnerOutcome | None:
    """What a run left whose parent died before it could take it; None: no run began here.

    :raises UnknownRunner, ConfigRefused: the runner is no longer declared.
    """
    record = read_record(files)
    if record is None:
        return None
    spec = find_runner(record.runner, config=config)
    return _judge(record, read_captured(files, record), spec)


def forget_run(files: Path) -> None:
    """Remove the scratch folder that a dead parent's run left."""
    record = read_record(files)
    if record is not None and Path(record.scratch).name.startswith(_SCRATCH_PREFIX):
        shutil.rmtree(record.scratch, ignore_errors=True)


def _run(request: RunRequest, access: Access, *, stop: threading.Event) -> RunnerOutcome:
    request.spec.check(model=request.model, effort=request.effort, access=access)
    if stop.is_set():
        return _not_run(FailureCode.INTERRUPTED, "interrupted before it began")
    files = request.files.absolute()
    try:
        record = _lay_out(request, files, access)
        result = run_process(_process_request(request, files, record), stop=stop)
    except ProgramNotStarted as error:
        return _not_run(FailureCode.RUNNER_ERROR, error.message, unusable=True)
    except OSError as error:
        return not_prepared(error, unusable=error.errno in _NO_ROOM)
    finally:
        with suppress(OSError):
            (files / PROMPT).unlink(missing_ok=True)
    record = replace(record, result=result)
    captured = read_captured(files, record)
    with suppress(OSError):  # a full disk now costs only what a killed parent would miss
        keep(files, record, output=None if access is Access.EDIT else captured.file)
    return _judge(record, captured, request.spec)


def _judge(record: RunRecord, captured: Captured, spec: RunnerSpec) -> RunnerOutcome:
    return verify_run(Run(spec, record.access, captured, record.result, record.timeout))


def _lay_out(request: RunRequest, files: Path, access: Access) -> RunRecord:
    """Prepare the folders: nothing of an earlier run is left where this one's output will be."""
    prepare(files, request.prompt)
    for path, data in request.reading.items():
        target = request.scratch / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    # An absolute path stands in the scratch folder under its last name.
    name = Path(request.output).name if Path(request.output).is_absolute() else request.output
    output = request.scratch / name
    output.parent.mkdir(parents=True, exist_ok=True)
    if access is not Access.EDIT:
        output.unlink(missing_ok=True)
    os.utime(output.parent)  # now, by the disk's clock, which need not be ours
    record = RunRecord(
        runner=request.spec.name,
        access=access,
        mark=new_mark(),
        scratch=str(request.scratch),
        output=name,
        since_ns=output.parent.stat().st_mtime_ns,
        timeout=request.timeout,
    )
    keep(files, record)
    return record


def _process_request(request: RunRequest, files: Path, record: RunRecord) -> ProcessRequest:
    spec = request.spec
    values = {
        "scratch": str(request.scratch),
        "output_file": str(record.output_path),
        "last_message": str(files / LAST_MESSAGE),
        "prompt_file": str(files / PROMPT),
        "model": request.model,
        "effort": request.effort,
    }
    known = {name: value for name, value in values.items() if value is not None}
    argv, variables = spec.call(record.access, known)
    return ProcessRequest(
        argv=argv,
        stdin_path=None if spec.mentions("prompt_file") else files / PROMPT,
        cwd=request.scratch,
        env=worker_environment(request.environ, extra=variables),
        stdout_path=files / STDOUT,
        stderr_path=files / STDERR,
        timeout=request.timeout,
        max_bytes=request.max_bytes,
        mark=record.mark,
    )


def not_prepared(error: OSError, *, unusable: bool) -> RunnerOutcome:
    """The outcome of a run that the system gave no place for its files.

    :param unusable: whether it will give none to any other job either.
    """
    where = f": {error.filename}" if error.filename else ""
    told = f"cannot prepare the run: {error.strerror or error}{where}"
    return _not_run(FailureCode.RUNNER_ERROR, told, unusable=unusable)


def _not_run(code: FailureCode, message: str, *, unusable: bool = False) -> RunnerOutcome:
    return RunnerOutcome(failure=RunnerFailure(code, message, unusable=unusable, is_attempt=False))
