"""A fake `claude -p --output-format json`: the envelopes and exit codes of version 2.1.197."""

from __future__ import annotations

import json
import sys
import time

from answering import CASE, blocks, complain, cut_off, output_path, read_prompt, say, write_output

MODEL = "claude-opus-4-6"
USED = {
    "inputTokens": 120, "outputTokens": 45, "cacheReadInputTokens": 3000,
    "cacheCreationInputTokens": 7, "costUSD": 0.0421,
}  # fmt: skip
# case: exit code, and what differs from the envelope of a success
ERRORS = {
    "rate-limited": (429, "API Error: Request rejected (429) · slow down"),
    "overloaded": (529, "API Error: Repeated 529 Overloaded errors"),
    "server-error": (
        500,
        "API Error: 500 it broke. This is a server-side issue, usually temporary",
    ),
    "unauthorised": (401, "Failed to authenticate. API Error: 401 invalid bearer token"),
    "bad-request": (400, "API Error: 400 prompt is too long: 210000 tokens > 200000 maximum"),
    "output-limit": (
        None,
        "API Error: Claude's response exceeded the 32000 output token maximum. To configure this"
        " behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.",
    ),
    "not-logged-in": (None, "Not logged in · Please run /login"),
    "usage-limit": (None, "You've hit your limit · resets 1pm (Europe/Lisbon)"),
    "usage-limit-epoch": (None, "Claude AI usage limit reached|1764291600"),
    "no-credit": (400, "Credit balance is too low"),
}


def envelope(**changes: object) -> dict[str, object]:
    """The object of a success, changed."""
    return {
        "type": "result", "subtype": "success", "is_error": False, "api_error_status": None,
        "duration_ms": 95, "num_turns": 1, "result": "", "stop_reason": "end_turn",
        "terminal_reason": "completed", "session_id": "5f2d-session", "total_cost_usd": 0.0421,
        "usage": {"input_tokens": 120, "output_tokens": 45},
        "modelUsage": {MODEL: USED}, "permission_denials": [], "uuid": "u-1", **changes,
    }  # fmt: skip


def error(status: int | None, message: str) -> dict[str, object]:
    """What is printed when the service refuses: a success by its subtype."""
    return envelope(
        is_error=True, api_error_status=status, result=message, modelUsage={}, total_cost_usd=0
    )


def refused_write(prompt: str, denials: list[object]) -> dict[str, object]:
    """A worker that was not allowed to write, and says that it did."""
    return envelope(
        result=f"I have written the review to {output_path(prompt)}.", permission_denials=denials
    )


def stream(prompt: str) -> str:
    """The lines of `stream-json`."""
    lines = [
        {"type": "system", "subtype": "init", "model": MODEL, "session_id": "5f2d-session"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Let me see."}]}},
        {"type": "rate_limit_event", "status": "allowed"},
        envelope(result=blocks(prompt), modelUsage={}),
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def answer(prompt: str) -> int:
    """Behave as the case says; the exit code."""
    result = {
        "ok": lambda: envelope(result=blocks(prompt)),
        "empty": lambda: envelope(result=""),
        "apology": lambda: envelope(result="Sorry, I can't help with that."),
        "cut-off": lambda: envelope(result=cut_off(prompt), stop_reason="max_tokens"),
        "cut-off-at-its-end": lambda: envelope(result=blocks(prompt), stop_reason="max_tokens"),
        "helper-model": lambda: envelope(
            result=blocks(prompt),
            modelUsage={"claude-haiku-4-5-20251001": USED, f"{MODEL}-20260115": USED},
        ),
        "usage-says-zero": lambda: envelope(result=blocks(prompt), usage={"input_tokens": 0}),
        "old-cost-name": lambda: {
            k.replace("total_cost_usd", "cost_usd"): v
            for k, v in envelope(result=blocks(prompt)).items()
            if k not in ("modelUsage", "api_error_status", "terminal_reason")
        },
        "error-exit-zero": lambda: error(None, "API Error: Rate limit reached"),
        "aborted": lambda: envelope(result=blocks(prompt), terminal_reason="aborted_streaming"),
        "write-refused": lambda: refused_write(
            prompt,
            [
                {
                    "tool_name": "Write",
                    "tool_input": {"file_path": "x/out.md", "content": blocks(prompt)},
                }
            ],
        ),
        "claims-written": lambda: refused_write(prompt, []),
    }.get(CASE)
    if result is not None:
        say(json.dumps(result()) + "\n")
        return 0
    if CASE in ERRORS:
        say(json.dumps(error(*ERRORS[CASE])) + "\n")
        return 1
    return ODD[CASE](prompt) or 0


def wrote_file(prompt: str) -> None:
    """The review stands in the file that was asked for."""
    write_output(prompt)
    say(json.dumps(envelope(result="Done.")))


def max_turns(_prompt: str) -> int:
    """No `result` at all."""
    ended = envelope(
        is_error=True, subtype="error_max_turns", terminal_reason="max_turns",
        errors=["Reached maximum number of turns (1)"],
    )  # fmt: skip
    del ended["result"]
    say(json.dumps(ended))
    return 1


def bad_flag(_prompt: str) -> int:
    """An older version, say."""
    complain("error: unknown option '--safe-mode'\n")
    return 1


def done_but_hangs(prompt: str) -> None:
    """All is said, and the process stays."""
    say(json.dumps(envelope(result=blocks(prompt))))
    time.sleep(600)


ODD = {
    "wrote-file": wrote_file,
    "max-turns": max_turns,
    "stream-json": lambda prompt: say(stream(prompt)),
    "noise": lambda prompt: say(
        "Loaded cached credentials.\n{not json\n" + json.dumps(envelope(result=blocks(prompt)))
    ),
    "cut-json": lambda prompt: say(json.dumps(envelope(result=blocks(prompt)))[:200]),
    "plain-error-exit-zero": lambda _prompt: say("API Error: Rate limit reached\n"),
    "bad-flag": bad_flag,
    "done-but-hangs": done_but_hangs,
    "silent": lambda _prompt: time.sleep(600),
    "terminated": lambda _prompt: 143,
}


def main() -> int:
    """Refuse to work without a prompt, as the real one does."""
    if "--allowedTools" in sys.argv:
        complain("Error: Input must be provided either through stdin or as a prompt argument\n")
        return 1
    prompt = read_prompt()
    if not prompt:
        complain("Error: Input must be provided either through stdin or as a prompt argument\n")
        return 1
    return answer(prompt)


if __name__ == "__main__":
    sys.exit(main())
