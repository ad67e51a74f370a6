"""Knows an answer that the model had to stop in the middle of, by the CLI's own word for it."""

from __future__ import annotations

import re

from review.protocol.sentinels import read_sentinel
from review.runners.outcome import RunnerFailure
from review.vocabulary import FailureCode

# What services, and the CLIs in front of them, call a stop at the limit of an answer's length.
_STOPS = ("max_tokens", "max_output_tokens", "length", "model_context_window_exceeded")
_SENTENCE = re.compile(
    r"exceeded the (?:\d+ )?output token (?:maximum|limit)|output token limit (?:exceeded|reached)"
    r"|reason:? \W?max_(?:output_)?tokens\b|truncated due to token limit",
    re.IGNORECASE,
)
_ADVICE = (
    "give it less at once (--batch-size, or max_prompt_tokens in kb/review.toml), or raise the"
    " runner's own limit"
)


def limit_named_by(reason: object) -> str:
    """A CLI's reason for the end of its answer, where that is the limit of its length; else ""."""
    return reason if isinstance(reason, str) and reason.lower() in _STOPS else ""


def tells_of_the_limit(message: str) -> bool:
    """Whether a CLI's message says that its answer had become too long."""
    return _SENTENCE.search(message) is not None


def stopped_at_limit(said: str) -> RunnerFailure:
    """The failure of an answer that was cut off, and what helps: the same again does not.

    :param said: the CLI's own words.
    """
    reason = f"the model stopped at its output limit ({said}): {_ADVICE}"
    return RunnerFailure(FailureCode.RUNNER_ERROR, reason)


def ends_with_a_block(text: bytes | None) -> bool:
    """Whether the last words of a review are the END of a block: nothing of it was cut off."""
    last = (text or b"").rstrip(b"`~ \t\r\n").rpartition(b"\n")[2]
    sentinel = read_sentinel(last.decode("utf-8", "replace"))
    return sentinel is not None and not sentinel.opens
