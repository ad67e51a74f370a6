"""The cost of jobs that are not made yet, at the prices that model APIs are declared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from review.jobs.costs import PricedEstimateJson, mean_output_tokens
from review.jobs.job_documents import PlannedJobJson
from review.knowledge_base import Corpus
from review.protocol.prompt import PromptRequest, estimate_tokens, render_prompt
from review.runners.api.prices import Tokens, cost_of
from review.settings.config import Config
from review.settings.file import RunnerSettings

# Where no past job of the partition tells: about what a short review with one finding has.
_ASSUMED_OUTPUT = 300


@dataclass(frozen=True)
class _Load:
    """Tokens of planned jobs; `shared` of them are a start that `first` tokens write to a cache."""

    prompt: int
    shared: int
    first: int
    output: int


def priced_estimates(
    jobs: Sequence[PlannedJobJson], *, model_partition: str, corpus: Corpus, config: Config
) -> list[PricedEstimateJson]:
    """Estimate the cost of the jobs with each model API that has prices, by name."""
    rules = estimate_tokens(render_prompt(PromptRequest("", "", (), (), ())))
    sizes = {
        path: estimate_tokens(corpus.gate(path).text)
        for path in {pair.gate_path for job in jobs for pair in job.pairs}
    }
    starts = [tuple(dict.fromkeys(pair.gate_path for pair in job.pairs)) for job in jobs]
    shared = {start: rules + sum(sizes[path] for path in start) for start in starts}
    known = mean_output_tokens(model_partition=model_partition)
    pairs = sum(job.pair_count for job in jobs)
    load = _Load(
        prompt=sum(job.estimated_prompt_tokens for job in jobs),
        shared=sum(shared[start] for start in starts),
        first=sum(shared.values()),
        output=round(pairs * (_ASSUMED_OUTPUT if known is None else known)),
    )
    return [
        _estimate(settings, load, is_assumed=known is None)
        for _name, settings in sorted(config.runners.items())
        if settings.kind is not None and settings.prices.input is not None
    ]


def _estimate(settings: RunnerSettings, load: _Load, *, is_assumed: bool) -> PricedEstimateJson:
    plain = Tokens(input=load.prompt, output=load.output)
    # Where writing to the cache has no price of its own, it is input like any other.
    writes = load.first if settings.prices.cache_write is not None else 0
    read = load.shared - load.first
    cached = Tokens(load.prompt - read - writes, load.output, cached_input=read, cache_write=writes)
    costs = [
        cost_of(tokens, settings.prices, in_batch=in_batch)
        for in_batch in (False, True)
        for tokens in (plain, cached)
    ]
    usd = [None if cost is None else round(cost, 4) for cost in costs]
    return PricedEstimateJson(
        runner=settings.name,
        prompt_tokens=load.prompt,
        cached_tokens=read,
        output_tokens=load.output,
        output_is_assumed=is_assumed,
        cost_usd=usd[0],
        cached_cost_usd=usd[1],
        batch_cost_usd=usd[2],
        cached_batch_cost_usd=usd[3],
    )
