"""A fake `gemini -p "" -o json`: the objects and exit codes of version 0.61.0."""

from __future__ import annotations

import json
import sys
import time

from answering import CASE, blocks, complain, cut_off, read_prompt, say, write_output

STATS = {
    "models": {
        "gemini-2.5-flash-lite": {
            "tokens": {"prompt": 9, "candidates": 2, "cached": 0, "thoughts": 0}
        },
        "gemini-2.5-pro": {
            "tokens": {"prompt": 700, "candidates": 80, "cached": 100, "thoughts": 5}
        },
    },
    "tools": {"byName": {}},
}
QUOTA = {
    "per-minute": "You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s.",
    "per-day": "You have exhausted your daily quota on this model.",
    "resource-exhausted": "RESOURCE_EXHAUSTED: Resource has been exhausted (e.g. check quota).",
}


def account(**changes: object) -> str:
    """The object of a success, changed."""
    return json.dumps(
        {"session_id": "b5f2-session", "response": "", "stats": STATS, **changes}, indent=2
    )


def fail(message: str, code: int) -> int:
    """Tell of an error on stderr, with stdout empty; HTTP statuses come out modulo 256."""
    complain(
        "Warning: 256-color support not detected.\nError when talking to Gemini API {\n    at x\n"
    )
    error = {"type": "Error", "message": message, "code": code}
    complain(json.dumps({"session_id": "b5f2-session", "error": error}, indent=2) + "\n")
    return code % 256


def wrote_file(prompt: str) -> None:
    """The review stands in the file that was asked for."""
    write_output(prompt)
    say(account(response="Done."))


def empty_stream(_prompt: str) -> None:
    """An error beside an empty answer, and exit code 0."""
    message = "The model returned an empty response with no text or thoughts. This may be a transient API issue"
    say(account(error={"type": "INVALID_STREAM", "message": message}))


def write_failed(_prompt: str) -> None:
    """A tool call that failed, and a claim."""
    stats = {**STATS, "tools": {"byName": {"write_file": {"count": 1, "fail": 1}}}}
    say(account(response="I wrote it.", stats=stats))


def stream(prompt: str) -> None:
    """The lines of `-o stream-json`: an answer in pieces, then its end."""
    told = blocks(prompt)
    message = {"type": "message", "role": "assistant", "delta": True}
    say(json.dumps({"type": "init", "session_id": "b5f2-session", "model": "auto"}) + "\n")
    say(json.dumps({"type": "message", "role": "user", "content": prompt}) + "\n")
    say(json.dumps({**message, "content": "I read the note."}) + "\n")
    say(json.dumps({"type": "tool_use", "tool_name": "read_file", "tool_id": "1"}) + "\n")
    error = {"type": "file_not_found", "message": "no such file"}
    say(json.dumps({"type": "tool_result", "status": "error", "error": error}) + "\n")
    for at in range(0, len(told), 50):
        say(json.dumps({**message, "content": told[at : at + 50]}) + "\n")
    stats = {"input_tokens": 709, "output_tokens": 82, "cached": 100}
    say(json.dumps({"type": "result", "status": "success", "stats": stats}) + "\n")


CASES = {
    "stream-json": stream,
    "stream-error": lambda _prompt: say(
        json.dumps({"type": "init", "session_id": "b5f2-session", "model": "auto"})
        + "\n"
        + json.dumps(
            {
                "type": "result",
                "status": "error",
                "error": {"type": "Error", "message": QUOTA["per-day"]},
            }
        )
    ),
    "joined-messages": lambda prompt: say(
        account(response=f"I read the note.{blocks(prompt)}".replace("\n===", "==="))
    ),
    "ok": lambda prompt: say(account(response=blocks(prompt))),
    "noise": lambda prompt: say(
        "Loaded cached credentials.\nFlushing log events.\n" + account(response=blocks(prompt))
    ),
    "cut-off": lambda prompt: say(
        account(response=cut_off(prompt), warnings=["Response truncated due to token limits."])
    ),
    "nothing": lambda _prompt: complain(
        "Quota exceeded for quota metric 'Gemini 2.5 Pro Requests'\n"
    ),
    "nothing-at-all": lambda _prompt: 0,
    "error-exit-zero": empty_stream,
    "not-json": lambda _prompt: say("I looked at the note and it is fine.\n"),
    "auth": lambda _prompt: fail("Invalid auth method selected.", 41),
    "turn-limit": lambda _prompt: fail("Reached max session turns for this session.", 53),
    "untrusted": lambda _prompt: fail("Gemini CLI is not running in a trusted directory.", 55),
    "bad-request": lambda _prompt: fail(
        json.dumps({"error": {"message": "API key not valid", "code": 400}}), 400
    ),
    "cancelled": lambda _prompt: 130,
    "wrote-file": wrote_file,
    "write-failed": write_failed,
    "silent": lambda _prompt: time.sleep(600),
}


def main() -> int:
    """Behave as the case says; the exit code."""
    prompt = read_prompt()
    if CASE in QUOTA:
        return fail(QUOTA[CASE], 429)
    return CASES[CASE](prompt) or 0


if __name__ == "__main__":
    sys.exit(main())
