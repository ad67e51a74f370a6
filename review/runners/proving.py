"""Decides whether a run is a success: every proof must hold, and the first that fails is named."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from review.protocol.near_sentinels import near_sentinels
from review.protocol.sentinels import read_sentinel
from review.runners.claude_code import read_claude_code
from review.runners.codex import read_codex
from review.runners.gemini import read_gemini
from review.runners.messages import (
    MAX_REASON,
    MAX_SAID,
    clean,
    failure_of,
    opens_like_an_error,
)
from review.runners.outcome import Account, Captured, RunnerFailure, RunnerOutcome
from review.runners.output_limit import ends_with_a_block, stopped_at_limit
from review.runners.plain import read_fields, read_llm, read_text
from review.runners.process import ProcessResult
from review.runners.spec import Access, Dialect, Reading, RunnerSpec
from review.vocabulary import FailureCode

_ADAPTERS: Mapping[Dialect, Callable[[Captured, Reading], Account]] = {
    Dialect.CLAUDE_CODE: read_claude_code,
    Dialect.CODEX: read_codex,
    Dialect.GEMINI: read_gemini,
    Dialect.LLM: read_llm,
    Dialect.TEXT: read_text,
    Dialect.JSON: read_fields,
    Dialect.JSON_LINES: read_fields,
}
_PROSE = (Dialect.TEXT, Dialect.LLM)
_SENTINEL_WORDS = b"PAIR REVIEW START"


@dataclass(frozen=True)
class Run:
    """A run that has ended.

    :param result: None when nobody saw it end.
    :param timeout: seconds that it had.
    """

    spec: RunnerSpec
    access: Access
    captured: Captured
    result: ProcessResult | None
    timeout: float


def prove(run: Run) -> RunnerOutcome:
    """What the run comes to; a text stands beside a failure only if it holds review blocks."""
    account = _ADAPTERS[run.spec.dialect](run.captured, run.spec.reading)
    text, whose = _text(run, account)
    failure = next((failure for failure in _failures(run, account, text) if failure), None)
    if failure is not None and run.access is not Access.EDIT and not holds_review(text):
        text = None
    telemetry = dict(account.telemetry)
    if account.models:
        telemetry["models"] = list(account.models)
    if run.result is not None:
        telemetry["duration_seconds"] = round(run.result.duration, 3)
    return RunnerOutcome(
        text=text if failure is None or run.access is not Access.EDIT else None,
        failure=failure,
        telemetry=telemetry,
        models=account.models,
        said="" if whose == "answer" else _said(account.answer),
    )


def holds_review(text: bytes | None) -> bool:
    """Whether a line opens a review block, of whichever job."""
    if text is None or _SENTINEL_WORDS not in text.upper():
        return False
    lines = (line for line in text.split(b"\n") if _SENTINEL_WORDS in line.upper())
    found = (read_sentinel(line.decode("utf-8", "replace")) for line in lines)
    return any(sentinel is not None and sentinel.opens for sentinel in found)


def _text(run: Run, account: Account) -> tuple[bytes | None, str]:
    """The review, and whether it is the file or the answer.

    The prompt asks for the file; a worker that was given no leave to write it may answer instead.
    """
    file = run.captured.file
    if run.access is not Access.READ or holds_review(file):
        return file, "file"
    return account.answer, "answer"


def _failures(run: Run, account: Account, text: bytes | None) -> Iterator[RunnerFailure | None]:
    """The proofs in order; each gives a failure or None."""
    yield _not_to_its_end(run)
    yield _printed_too_much(run)
    yield account.failure
    yield _cut_off(account, text)
    yield _misused_answer(run, account)
    yield _bad_exit(run)
    if run.access is Access.EDIT:
        yield None if text is not None else _no_output("the file is gone", run, account)
    else:
        yield _without_review(run, account, text)


def _not_to_its_end(run: Run) -> RunnerFailure | None:
    result = run.result
    if result is None:
        return RunnerFailure(FailureCode.INTERRUPTED, "its parent was gone before it ended")
    if result.interrupted:
        return RunnerFailure(FailureCode.INTERRUPTED, "interrupted by its parent")
    if result.timed_out:
        words = _last_words(run)
        reason = f"not done within {run.timeout:g} seconds" + (f": {words}" if words else "")
        return RunnerFailure(FailureCode.RUNNER_TIMEOUT, reason)
    return None


def _printed_too_much(run: Run) -> RunnerFailure | None:
    if run.result is None or not run.result.stdout_truncated:
        return None
    size = len(run.captured.stdout)
    reason = f"it printed more than {size:,} bytes; the rest was cut off"
    return RunnerFailure(FailureCode.RUNNER_ERROR, reason)


def _cut_off(account: Account, text: bytes | None) -> RunnerFailure | None:
    if not account.cut_off or ends_with_a_block(text):
        return None
    return stopped_at_limit(clean(account.cut_off, limit=MAX_SAID))


def _misused_answer(run: Run, account: Account) -> RunnerFailure | None:
    """An error that stands where the answer should be, without a word of failure."""
    if holds_review(account.answer) or holds_review(run.captured.file):
        return None
    words = (account.answer or run.captured.stdout).decode("utf-8", "replace")
    if not words.strip():
        words = run.captured.stderr.decode("utf-8", "replace")
    return failure_of(words) if opens_like_an_error(words) else None


def _bad_exit(run: Run) -> RunnerFailure | None:
    result = run.result
    if result is None or result.exit_code == 0:
        return None
    if result.signal is not None:
        how = f"ended by {_signal_name(result.signal)}"
    elif result.exit_code is None:
        how = "its exit status is lost"
    else:
        how = f"exit code {result.exit_code}"
    words = _last_words(run)
    failure = failure_of(words)
    if not failure.reason:
        return replace(failure, reason=f"{how}, without a word")
    return failure if result.signal is None else replace(failure, reason=f"{how}: {failure.reason}")


def _without_review(run: Run, account: Account, text: bytes | None) -> RunnerFailure | None:
    if run.access is Access.WRITE and text is None:
        return _no_output("it wrote no review file during the run", run, account)
    if text is None and run.captured.stdout.strip():
        seen = clean(_decoded(run.captured.stdout), limit=MAX_SAID)
        return _no_output(f"no answer can be read in its output: {seen}", run, account)
    if text is None or not text.strip():
        what = "its review file is blank" if run.access is Access.WRITE else "it gave no answer"
        return _no_output(what, run, account)
    if not holds_review(text):
        near = near_sentinels(_decoded(text))
        seen = str(near[0]) if near else _decoded(text)
        seen = clean(seen, limit=MAX_SAID)
        return _no_output(f"no review block is in what it wrote: {seen}", run, account)
    return None


def _no_output(what: str, run: Run, account: Account) -> RunnerFailure:
    """Why there is no review; what the CLI said on stderr can tell that it may be tried again."""
    parts = [f"worker produced no output: {what}"]
    if account.refused_writes:
        parts.append(f"it was not allowed to write {', '.join(account.refused_writes)}")
    if run.access is not Access.READ and holds_review(account.answer):
        parts.append("its answer on stdout holds review blocks, which this runner does not take")
    words = clean(_decoded(run.captured.stderr), limit=MAX_SAID)
    told = failure_of(words) if words and not (account.answer or b"").strip() else None
    if words:
        parts.append(f"on stderr: {words}")
    reason = clean("; ".join(parts), limit=MAX_REASON)
    if told is not None and told.code is not FailureCode.RUNNER_ERROR:
        return replace(told, reason=reason)
    return RunnerFailure(FailureCode.NO_OUTPUT, reason)


def _last_words(run: Run) -> str:
    """What the CLI said about itself: on stderr, else on stdout where that is prose."""
    words = clean(_decoded(run.captured.stderr), limit=MAX_REASON)
    stdout = run.captured.stdout
    if not words and run.spec.dialect in _PROSE and not holds_review(stdout):
        return clean(_decoded(stdout), limit=MAX_REASON)
    return words


def _said(answer: bytes | None) -> str:
    return clean(_decoded(answer or b""), limit=MAX_SAID)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
