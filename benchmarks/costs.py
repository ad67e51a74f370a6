"""Computes what reviewing 10,000 notes by 40 gates costs, by the way of asking and by model; prints Markdown.

    python -m benchmarks.costs

Tokens are bytes by four, as the commands estimate them: of the rules and the template as they are
rendered, of gates as long as the mean of this repository's model gates, and of notes of a log-normal size
with a median of 6 kB. The output is assumed: 300 tokens a pair. Prices are examples of a day: PRICES.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from pathlib import Path

from review.protocol.prompt import PromptRequest, estimate_tokens, render_prompt
from review.runners.api.provider import INSTRUCTIONS
from review.runners.outcome import Tokens, cost_of
from review.settings.file import Prices

NOTES, GATES, OUTPUT = 10_000, 40, 300
LENSES = (7, 7, 7, 7, 6, 6)
ACROSS = (14, 13, 13)  # a note's gates in as few jobs as `max_gates = 18` allows
BATCH_OF_NOTES = 8
# What `claude -p` sends of its own with each call (github.com/anthropics/claude-code/issues/95129),
# which it reads from the provider's cache.
HARNESS = 15_500
# US dollars for a million tokens in October 2026, from tables that were held against the providers' pages
# on the 24th (github.com/kurofune/claudit, v1.9.2) and the 27th (github.com/TheKrush/PromptFuel, v1.0.24).
PRICES = {
    "Claude Opus 5.5": Prices(input=4, output=20, cached_input=0.2, cache_write=5, batch=0.5),
    "Claude Sonnet 5.5": Prices(input=2, output=10, cached_input=0.1, cache_write=2.5, batch=0.5),
    "Claude Haiku 5.5": Prices(
        input=0.1, output=0.5, cached_input=0.01, cache_write=0.125, batch=0.5
    ),
    "GPT-6.1 Sol": Prices(input=2, output=10, cached_input=0.1, cache_write=2.5, batch=0.5),
    "GPT-6.1 Terra": Prices(input=1, output=5, cached_input=0.05, cache_write=1.25, batch=0.5),
}
# An entry that is not read for five minutes is written again: once a lens each, when lenses go by in turn.
REWRITES = 100


@dataclass(frozen=True)
class Way:
    """A way of asking, and what it sends."""

    name: str
    jobs: int
    tokens: Tokens
    in_batch: bool = False


def ways() -> list[Way]:
    rules = estimate_tokens(render_prompt(PromptRequest("", "", (), (), ())))
    system = estimate_tokens(INSTRUCTIONS)
    gate = _mean_gate()
    rng = random.Random(20_250_101)  # noqa: S311
    notes = [min(int(rng.lognormvariate(0, 0.65) * 6000), 120_000) // 4 for _ in range(NOTES)]
    own = sum(notes) + 60 * NOTES  # with links and the list of pairs
    output = NOTES * GATES * OUTPUT

    def sent(packs: tuple[int, ...], *, notes_a_job: int = 1) -> tuple[int, int, int, int]:
        jobs = NOTES * len(packs) // notes_a_job
        shared = NOTES // notes_a_job * sum(system + rules + gate * pack for pack in packs)
        once = sum(system + rules + gate * pack for pack in packs)
        return jobs, shared, own * len(packs), once

    jobs, shared, rest, once = sent(LENSES)
    written = once * REWRITES
    plain = Tokens(input=shared + rest, output=output)
    cached = Tokens(rest, output, cached_input=shared - written, cache_write=written)
    found = [
        Way("CLI, a job a note and lens", jobs, Tokens(shared + rest, output, jobs * HARNESS)),
        Way("API, the same, no cache", jobs, plain),
        Way("API, cache", jobs, cached),
        Way("batch, no cache", jobs, plain, in_batch=True),
        Way("batch, cache", jobs, cached, in_batch=True),
    ]
    jobs, shared, rest, once = sent(ACROSS)
    written = once * REWRITES
    across = Tokens(rest, output, cached_input=shared - written, cache_write=written)
    found.append(Way("API across lenses, cache", jobs, across))
    found.append(Way("batch across lenses, cache", jobs, across, in_batch=True))
    jobs, shared, rest, _once = sent((1,) * GATES, notes_a_job=BATCH_OF_NOTES)
    by_gate = Tokens(input=shared + rest, output=output)
    found.append(Way("API, a job a gate and 8 notes", jobs, by_gate))
    return found


def _mean_gate() -> int:
    root = Path(__file__).resolve().parents[1] / "kb/instructions/review-gates"
    texts = [path.read_text() for path in root.glob("*/*.md")]
    return round(statistics.fmean(estimate_tokens(t) for t in texts if "\nrule:" not in t))


def main() -> None:
    print("| way | jobs | input | of it cached | output |", " | ".join(PRICES), "|")
    print("| --- | --- | --- | --- | --- |" + " --- |" * len(PRICES))
    for way in ways():
        tokens = way.tokens
        counts = (tokens.prompt, tokens.cached_input, tokens.output)
        costs = [cost_of(tokens, prices, in_batch=way.in_batch) or 0 for prices in PRICES.values()]
        shown = [way.name, f"{way.jobs:,}", *(f"{count / 1e6:,.0f} M" for count in counts)]
        print("|", " | ".join([*shown, *(f"${cost:,.0f}" for cost in costs)]), "|")


if __name__ == "__main__":
    main()
