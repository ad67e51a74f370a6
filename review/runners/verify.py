"""Decides whether a run is a success: every proof must hold, and the first that fails is named."""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Iterator
from dataclasses import replace

from review.protocol.output import behind_reasoning, decode_output
from review.protocol.sentinels import near_sentinels, read_sentinel
from review.runners.cli.output import (
    MAX_REASON,
    MAX_SAID,
    clean,
    error_in_answer,
    failure_of,
    known,
    saw_no_request,
    stopped_at_limit,
)
from review.runners.cli.readers import READERS, Run
from review.runners.outcome import Account, RunnerFailure, RunnerOutcome
from review.runners.registry import Access, Dialect
from review.vocabulary import FailureCode

_PROSE = (Dialect.TEXT, Dialect.LLM)
_NOTICE = re.compile(
    r"(?i)retr(?:y|ies)|re-?connect|resuming|\blag(?:s|ged|ging)?\b|back-?off|fall(?:ing)? ?back"
    r"|rate.?limit|overload|throttl|(?:try|trying) again|disconnect|connection (?:lost|closed|reset)"
    r"|\bdropp(?:ed|ing)|timed out|truncat|compact|compress|switch(?:ed|ing)\b"
)
_MOST_NOTICES = 10
_NOT_STARTED = (126, 127)  # of a shell: nothing to run, or no leave to
_SIGNALS = {number.value: number.name for number in signals.Signals}


def verify_run(run: Run) -> RunnerOutcome:
    """Return the outcome of a run; a failure keeps its text only if it holds reviews."""
    account = READERS[run.spec.dialect](run)
    is_file = run.access is not Access.READ or holds_review(run.file)
    # A worker that was given no leave to write the file that the prompt names may answer instead.
    text = run.file if is_file else account.answer
    failure = next(filter(None, _failures(run, account, text)), None)
    if failure is not None:
        failure = replace(failure, is_attempt=_has_answered(run, account, failure))
        if run.access is Access.EDIT or not holds_review(text):
            text = None
    return RunnerOutcome(
        text=text,
        failure=failure,
        telemetry=_telemetry(run, account, failure),
        said=_line(account.answer) if is_file else "",
    )


def holds_review(text: bytes | None) -> bool:
    """Return whether a line opens a review block, of whichever job."""
    found = map(read_sentinel, map(behind_reasoning, decode_output(text or b"").split("\n")))
    return any(sentinel is not None and sentinel.opens for sentinel in found)


def _telemetry(run: Run, account: Account, failure: RunnerFailure | None) -> dict[str, object]:
    seconds = run.result and round(run.result.duration, 3)
    told_of = known(models=list(account.models) or None, duration_seconds=seconds)
    telemetry = {**account.telemetry, **told_of}
    told = [*account.notices, *filter(_NOTICE.search, decode_output(run.stderr).splitlines())]
    notices = dict.fromkeys(filter(None, (clean(words, limit=MAX_SAID) for words in told)))
    if failure is None and notices:
        telemetry["notices"] = list(notices)[:_MOST_NOTICES]
    return telemetry


def _has_answered(run: Run, account: Account, failure: RunnerFailure) -> bool:
    """Return whether a model had answered, by the traces of the run."""
    if failure.misread:
        return False
    if account.telemetry.get("output_tokens") or run.file or holds_review(account.answer):
        return True
    if account.failure is not None or failure.retryable or failure.concerns_all:
        return False
    may_answer = run.spec.dialect not in _PROSE or run.exit_code == 0
    return (
        may_answer and bool((account.answer or b"").strip())
    ) or failure.code is FailureCode.NO_OUTPUT


def _failures(run: Run, account: Account, text: bytes | None) -> Iterator[RunnerFailure | None]:
    yield _bad_end(run)
    yield account.failure
    yield _cut_off(account, text)
    yield _no_answer(run, account)
    yield _bad_exit(run)
    yield _without_review(run, account, text)


def _bad_end(run: Run) -> RunnerFailure | None:
    """Return the failure of a run that did not finish, or printed too much to be read."""
    result = run.result
    if result is None or result.interrupted:
        how = "its parent was gone before it ended" if not result else "interrupted by its parent"
        return RunnerFailure(FailureCode.INTERRUPTED, how)
    if result.timed_out:
        words = _last_words(run)
        reason = f"not done within {run.timeout:g} seconds" + (f": {words}" if words else "")
        # A CLI that waits for somebody to log in ends in no other way.
        told = failure_of(words)
        timeout = RunnerFailure(FailureCode.RUNNER_TIMEOUT, reason)
        return replace(told, reason=reason) if told.concerns_all else timeout
    reason = f"it printed more than {len(run.stdout):,} bytes; the rest was cut off"
    return RunnerFailure(FailureCode.RUNNER_ERROR, reason) if result.stdout_truncated else None


def _cut_off(account: Account, text: bytes | None) -> RunnerFailure | None:
    """An answer that stopped at its limit, unless its last words are the END of a block."""
    sentinel = read_sentinel(decode_output(text or b"").rstrip("`~ \t\r\n").rpartition("\n")[2])
    if not account.cut_off or (sentinel is not None and not sentinel.opens):
        return None
    return stopped_at_limit(clean(account.cut_off, limit=MAX_SAID))


def _no_answer(run: Run, account: Account) -> RunnerFailure | None:
    """Find an error in the place of the answer, or a reply to an empty prompt."""
    if holds_review(account.answer) or holds_review(run.file):
        return None
    words = decode_output(account.answer or run.stdout)
    if not words.strip():
        words = decode_output(run.stderr)
    elif run.access is Access.READ and saw_no_request(words):
        reason = f"the model saw no request: {clean(words, limit=MAX_SAID)}"
        return RunnerFailure(FailureCode.NO_OUTPUT, reason, retryable=True, misread=True)
    return error_in_answer(words)


def _bad_exit(run: Run) -> RunnerFailure | None:
    code = run.exit_code
    if run.result is None or code == 0:
        return None
    failure = failure_of(_last_words(run))
    if code in _NOT_STARTED:
        failure = replace(failure, unusable=True, retryable=False)
    if code is None or code >= 0:
        return replace(failure, reason=failure.reason or f"exit code {code}, without a word")
    said = f": {failure.reason}" if failure.reason else ", without a word"
    return replace(failure, reason=f"ended by {_SIGNALS.get(-code, f'signal {-code}')}{said}")


def _without_review(run: Run, account: Account, text: bytes | None) -> RunnerFailure | None:
    """Explain that there is no review; words on stderr may show that a retry can help."""
    what = _fault_of_text(run, text)
    if what is None:
        return None
    parts = [f"worker produced no output: {what}"]
    if account.refused_writes:
        parts.append(f"it was not allowed to write {', '.join(account.refused_writes)}")
    if run.access is not Access.READ and holds_review(account.answer):
        parts.append("its answer on stdout holds review blocks, which this runner does not take")
    if words := _line(run.stderr):
        parts.append(f"on stderr: {words}")
    reason = clean("; ".join(parts), limit=MAX_REASON)
    told = failure_of("" if (account.answer or b"").strip() else words)
    if told.code is FailureCode.RUNNER_ERROR:
        return RunnerFailure(FailureCode.NO_OUTPUT, reason)
    return replace(told, reason=reason)


def _fault_of_text(run: Run, text: bytes | None) -> str | None:
    """The first thing that a text lacks to be a review, or a note that was edited."""
    if run.access is Access.EDIT:
        return "the file is gone" if text is None else None
    writes = run.access is Access.WRITE
    if text is None and writes:
        return "it wrote no review file during the run"
    if text is None and run.stdout.strip():
        return f"no answer can be read in its output: {_line(run.stdout)}"
    if text is None or not text.strip():
        return "its review file is blank" if writes else "it gave no answer"
    if holds_review(text):
        return None
    seen = str(next(near_sentinels(decode_output(text)), decode_output(text)))
    return f"no review block is in what it wrote: {clean(seen, limit=MAX_SAID)}"


def _last_words(run: Run) -> str:
    """Return the CLI's messages: on stderr, else on stdout where that is prose."""
    is_prose = run.spec.dialect in _PROSE and not holds_review(run.stdout)
    return _line(run.stderr, limit=MAX_REASON) or _line(
        run.stdout if is_prose else b"", limit=MAX_REASON
    )


def _line(data: bytes | None, *, limit: int = MAX_SAID) -> str:
    return clean(decode_output(data or b""), limit=limit)
