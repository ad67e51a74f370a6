"""A fake `codex exec --json`: the event lines and exit codes of version 0.171.0."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from answering import CASE, blocks, complain, read_prompt, say, write_output

STARTED = {"type": "thread.started", "thread_id": "01a2-thread"}
TURN = {"type": "turn.started"}
WARNED = {
    "type": "item.completed",
    "item": {"id": "item_0", "type": "error", "message": "Model metadata for `m` not found."},
}
USAGE = {
    "input_tokens": 500, "cached_input_tokens": 400, "cache_write_input_tokens": 0,
    "output_tokens": 60, "reasoning_output_tokens": 32,
}  # fmt: skip
COMPLETED = {"type": "turn.completed", "usage": USAGE}
FATAL = {
    "rate-limited": "exceeded retry limit, last status: 429 Too Many Requests",
    "server-error": "We’re currently experiencing high demand, which may cause temporary errors.",
    "unauthorised": "unexpected status 401 Unauthorized: no, url: https://example.invalid/responses",
    "bad-request": json.dumps(
        {"type": "error", "error": {"message": "input is too long", "code": 400}}
    ),
    "cut-stream": "stream disconnected before completion: stream closed before response.completed",
    "output-limit": "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens",
    "missing-key": "Missing environment variable: `OPENAI_API_KEY`.",
    "usage-limit": "You've hit your usage limit. Upgrade to Pro or try again at 6:12 PM.",
}


def message(text: str) -> dict[str, object]:
    """What the agent says, on the way or at the end."""
    return {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}}


def events(prompt: str) -> list[dict[str, object]]:
    """The events of the cases that end well, or with exit code 0."""
    review = message(blocks(prompt))
    reconnecting = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}
    failed = {"type": "turn.failed", "error": {"message": "model refused to continue"}}
    return {
        "ok": [STARTED, WARNED, TURN, review, COMPLETED],
        "progress-talk": [STARTED, TURN, message('{"decision": "placeholder"}'), review, COMPLETED],
        "reconnected": [STARTED, TURN, reconnecting, review, COMPLETED],
        "two-turns": [STARTED, TURN, {"type": "turn.completed", "usage": {"input_tokens": 1}}, TURN, review, COMPLETED],
        "empty": [STARTED, TURN, message(""), COMPLETED],
        "no-message": [STARTED, TURN, COMPLETED],
        "failed-exit-zero": [STARTED, TURN, message("Let me look."), failed],
        "no-ending": [STARTED, TURN, review],
        "wrote-file": [STARTED, TURN, message("Written."), COMPLETED],
        "claims-written": [STARTED, TURN, message("I wrote the file."), COMPLETED],
    }[CASE]  # fmt: skip


def last_message_file() -> Path:
    """What `-o` names."""
    return Path(sys.argv[sys.argv.index("-o") + 1])


def main() -> int:
    """Wait for the end of stdin, as the real one does, then tell the case's events."""
    prompt = read_prompt()
    if not prompt.strip():
        complain("No prompt provided via stdin.\n")
        return 1
    complain("WARNING: proceeding, even though we could not create PATH aliases\n")
    if CASE == "outside-git":
        complain("Not inside a trusted directory and --skip-git-repo-check was not specified.\n")
        return 1
    if CASE == "silent":
        say(json.dumps(STARTED) + "\n")
        time.sleep(600)
    if CASE in FATAL:
        last_message_file().write_text("")
        failed = {"type": "turn.failed", "error": {"message": FATAL[CASE]}}
        tell([STARTED, WARNED, TURN, {"type": "error", "message": FATAL[CASE]}, failed])
        return 1
    if CASE == "wrote-file":
        write_output(prompt)
    tell(events(prompt))
    if CASE == "no-message":
        last_message_file().write_text(blocks(prompt))
    return 0


def tell(lines: list[dict[str, object]]) -> None:
    """Print events, one a line."""
    for line in lines:
        say(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
