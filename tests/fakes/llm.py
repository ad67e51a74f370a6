"""A fake `llm prompt --json`: the records and exit codes of version 0.36."""

from __future__ import annotations

import json
import sys

from answering import CASE, blocks, complain, cut_off, read_prompt, say

ERRORS = {
    "no-key": "Error: No key found - add one using 'llm keys set openai' or set the OPENAI_API_KEY environment variable",
    "rate-limited": "Error: Error code: 429 - Rate limit reached for requests",
    "no-quota": "Error: Error code: 429 - {'error': {'message': 'You exceeded your current quota, please check your plan and billing details.', 'code': 'insufficient_quota'}}",
    "server-error": "Error: Error code: 500 - it broke",
    "bad-request": "Error: Error code: 400 - too long",
    "connection": "Error: Connection error.",
    "unknown-model": "Error: 'Unknown model: gpt-nine'",
    "old-version": "Error: No such option: --json",
}


# What services say of an answer that is cut off, as the plugins keep it.
CUT_OFF: dict[str, dict[str, object]] = {
    "cut-off": {"finish_reason": "length"},
    "cut-off-choice": {"choices": [{"finish_reason": "length"}]},
    "cut-off-stop-reason": {"stop_reason": "max_tokens"},
    "cut-off-candidate": {"candidates": [{"finishReason": "MAX_TOKENS"}]},
    "cut-off-incomplete": {"incomplete_details": {"reason": "max_output_tokens"}},
}


def record(prompt: str, response: str) -> str:
    """The record of a response; it repeats the prompt, template and all."""
    return json.dumps(
        [
            {
                "id": "01m8", "model": "gpt-5", "resolved_model": None, "prompt": prompt,
                "conversation_id": "01m8-talk", "input_tokens": 11, "output_tokens": 7,
                "response": response, "response_json": {"model": "gpt-5-2026-01-15", **CUT_OFF.get(CASE, {})},
            }
        ],
        indent=2,
    )  # fmt: skip


def main() -> int:
    """Behave as the case says."""
    prompt = read_prompt()
    if CASE in ERRORS:
        complain(ERRORS[CASE] + "\n")
        return 2 if CASE == "old-version" else 1
    if CASE == "plain":
        say(blocks(prompt))
    else:
        answers = {"empty": "", **dict.fromkeys(CUT_OFF, cut_off(prompt))}
        say(record(prompt, answers.get(CASE, blocks(prompt))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
