"""Puts the texts of a job into its prompt, under a token that none of them holds."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence

from review.protocol.prompt import (
    PromptGate,
    PromptPair,
    PromptRequest,
    estimate_tokens,
    render_prompt,
)
from review.protocol.sentinels import token_is_free
from review.selection.note_cache import DraftPair, NoteShelf

# Of the length of a real one, to measure a prompt before its job has an id.
_MEASURING_TOKEN = "00000000"  # noqa: S105
_MEASURING_PATH = "kb/reports/bundle-reviews/review-job-1000000/bundle-output.md"


def draw_token(pairs: Sequence[DraftPair], *, draw: Callable[[], str] | None = None) -> str:
    """A random 8-hex token that occurs in no text or name of the pairs."""
    draw = draw or _random_token
    texts = list(dict.fromkeys(text for pair in pairs for text in _texts(pair)))
    token = draw()
    while not token_is_free(token, texts):
        token = draw()
    return token


def prompt_of(
    pairs: Sequence[DraftPair], *, token: str, bundle_output_path: str, shelf: NoteShelf
) -> str:
    """The prompt that asks for `pairs`, numbered from 1 in their order."""
    notes = {pair.note.path: pair.note for pair in pairs}
    gates = {pair.gate.path: pair.gate for pair in pairs}
    return render_prompt(
        PromptRequest(
            token=token,
            bundle_output_path=bundle_output_path,
            pairs=[
                PromptPair(ordinal, pair.note.path, pair.gate.gate_id)
                for ordinal, pair in enumerate(pairs, 1)
            ],
            notes=[shelf.for_prompt(note) for note in notes.values()],
            gates=[PromptGate(gate.gate_id, gate.path, gate.text) for gate in gates.values()],
        )
    )


def estimate(pairs: Sequence[DraftPair], *, shelf: NoteShelf) -> int:
    """About how many tokens the prompt of `pairs` will have."""
    return estimate_tokens(
        prompt_of(pairs, token=_MEASURING_TOKEN, bundle_output_path=_MEASURING_PATH, shelf=shelf)
    )


def _texts(pair: DraftPair) -> Iterator[str]:
    yield from (pair.note.path, pair.note.text, pair.gate.path, pair.gate.text)


def _random_token() -> str:
    return secrets.token_hex(4)
