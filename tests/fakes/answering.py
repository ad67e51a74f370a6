"""What all fake CLIs do: read the prompt from stdin, and give the blocks it asks for."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

CASE = os.environ.get("FAKE_CASE", "ok")
_PAIR = re.compile(r"^([0-9a-f]{8})/(\d+): (.+)$", re.MULTILINE)
_OUTPUT = re.compile(r"Write the blocks to `([^`]+)`")


def read_prompt() -> str:
    """All of stdin, to its end."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def blocks(prompt: str, *, summary: str = "As it should be.") -> str:
    """A review that passes, for each pair that the prompt requests."""
    return "".join(
        f"=== PAIR REVIEW START {token}/{ordinal}: {names} ===\n### Summary\n{summary}\n"
        f"### Findings\n\n## Result: PASS\n=== PAIR REVIEW END {token}/{ordinal}: {names} ===\n\n"
        for token, ordinal, names in _PAIR.findall(prompt)
    )


def cut_off(prompt: str) -> str:
    """The first review whole, and the second without its end."""
    return blocks(prompt).rpartition("## Result")[0]


def output_path(prompt: str) -> Path:
    """The file that the prompt asks for, as a worker in the repository's root would write it."""
    match = _OUTPUT.search(prompt)
    return Path(match[1] if match else "output.md")


def write_output(prompt: str) -> None:
    """Write the review where the prompt wants it."""
    output_path(prompt).write_text(blocks(prompt), encoding="utf-8")


def say(text: str | bytes) -> None:
    """Write to stdout as it is."""
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
    sys.stdout.buffer.flush()


def complain(text: str) -> None:
    """Write to stderr."""
    sys.stderr.write(text)
    sys.stderr.flush()
