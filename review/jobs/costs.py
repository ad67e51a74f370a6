"""The cost of reviews, from the telemetry of jobs; what is not reported stays unknown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, QuerySet

from review.documents.base import Document, from_row
from review.jobs.job_documents import PlannedJobJson
from review.knowledge_base import Corpus
from review.models import KbPath, ReviewJob, ReviewPair
from review.protocol.prompt import PromptRequest, estimate_tokens, render_prompt
from review.protocol.telemetry import Usage, read_usage
from review.runners.outcome import Tokens, cost_of
from review.settings import Config
from review.vocabulary import OPEN_JOB_STATUSES, RULES_PARTITION


class CostJson(Document, kw_only=True):
    """The jobs of one name that were run; numbers are null where no job says them, else sums.

    Of a job with several gates each has the share of its pairs.
    """

    name: str
    jobs: int
    pairs: int
    cost_usd: float | None
    jobs_without_cost: int
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    seconds: float | None
    cached_share: float | None = None


class PricedEstimateJson(Document, kw_only=True):
    """The estimated cost of planned jobs at the declared prices of a model API; null: one lacks.

    Output tokens are by past jobs of the partition, or assumed.
    """

    runner: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    output_is_assumed: bool
    cost_usd: float | None
    cached_cost_usd: float | None
    batch_cost_usd: float | None
    cached_batch_cost_usd: float | None


class CostsJson(Document, kw_only=True):
    total: CostJson
    gates: list[CostJson]
    lenses: list[CostJson]
    partitions: list[CostJson]
    runners: list[CostJson]
    purposes: list[CostJson]
    days: list[CostJson] = []


NO_RUNNER = "(not named)"
_FREE = Usage(cost_usd=0.0)
_PAST_JOBS = 500
# Where no past job of the partition tells: about what a short review with one finding has.
_ASSUMED_OUTPUT = 300
_NAMES = ("model_partition__name", "runner", "lens", "purpose", "completed_at")
_BOOKS = ("gates", "lenses", "partitions", "runners", "purposes", "days")
# What is added up, with the digits that are given.
_DIGITS = {
    "cost_usd": 6,
    "input_tokens": None,
    "output_tokens": None,
    "cached_input_tokens": None,
    "seconds": 3,
}


def estimate_cost(
    model_partition: str, runner: str, *, prompt_tokens: int
) -> tuple[float | None, int]:
    """Estimate by the latest jobs' cost for a token of the prompt, and how many; None: no cost."""
    if model_partition == RULES_PARTITION:
        return 0.0, 0
    past = _past_costs(model_partition, runner)
    tokens = sum(estimated for _cost, estimated in past)
    if not tokens:
        return None, 0
    cost = sum(cost for cost, _estimated in past)
    return cost * prompt_tokens / tokens, len(past)


def mean_cost(model_partition: str, runner: str) -> float | None:
    """The mean cost of the latest jobs of this runner and partition; None when none reported it."""
    past = _past_costs(model_partition, runner)
    return sum(cost for cost, _estimated in past) / len(past) if past else None


def priced_estimates(
    jobs: Sequence[PlannedJobJson], model_partition: str, *, corpus: Corpus
) -> list[PricedEstimateJson]:
    """Estimate the cost of the jobs with each model API that has prices, by name."""
    rules = estimate_tokens(render_prompt(PromptRequest("", "", (), (), ())))
    starts = [tuple(dict.fromkeys(pair.gate_path for pair in job.pairs)) for job in jobs]
    # The start of a prompt, which the first job with it writes to a cache, and the others read.
    sizes = {
        start: rules + sum(estimate_tokens(corpus.gate(path).text) for path in start)
        for start in starts
    }
    first = sum(sizes.values())
    read = sum(sizes[start] for start in starts) - first
    prompt = sum(job.estimated_prompt_tokens for job in jobs)
    past = _past_usages(model_partition__name=model_partition)
    told = [(usage.output_tokens, pairs) for usage, _size, pairs in past if usage.output_tokens]
    # Tokens for so many pairs.
    written, for_pairs = map(sum, zip(*told, strict=True)) if told else (_ASSUMED_OUTPUT, 1)
    output = round(sum(job.pair_count for job in jobs) * (written / for_pairs))
    estimates = []
    for name, settings in sorted(corpus.config.runners.items()):
        prices = settings.prices
        if settings.kind is None or prices.input is None:
            continue
        # Where writing to the cache has no price of its own, it is input like any other.
        writes = first if prices.cache_write is not None else 0
        plain, cached = Tokens(prompt, output), Tokens(prompt - read - writes, output, read, writes)
        estimates.append(
            PricedEstimateJson(
                runner=name,
                prompt_tokens=prompt,
                cached_tokens=read,
                output_tokens=output,
                output_is_assumed=not told,
                cost_usd=_rounded(cost_of(plain, prices)),
                cached_cost_usd=_rounded(cost_of(cached, prices)),
                batch_cost_usd=_rounded(cost_of(plain, prices, in_batch=True)),
                cached_batch_cost_usd=_rounded(cost_of(cached, prices, in_batch=True)),
            )
        )
    return estimates


def read_costs(*, model_partition: str | None = None, config: Config) -> CostsJson:
    """Costs of every job that was run and is closed, of one model partition or of all."""
    jobs = _run_jobs()
    if model_partition is not None:
        jobs = jobs.filter(model_partition__name=model_partition)
    total = _Sum()
    books: dict[str, dict[str, _Sum]] = {book: defaultdict(_Sum) for book in _BOOKS}
    usages: dict[int, tuple[Usage, int]] = {}
    rows = jobs.values_list("pk", *_NAMES, "pair_count", "telemetry")
    for job_id, partition, runner, lens, purpose, closed_at, pairs, telemetry in rows.iterator():
        usage = _FREE if partition == RULES_PARTITION else read_usage(telemetry)
        usages[job_id] = (usage, pairs)
        total.add(usage, pairs=pairs)
        names = (lens, partition, runner or NO_RUNNER, purpose, closed_at.date().isoformat())
        for book, name in zip(_BOOKS[1:], names, strict=True):
            books[book][name].add(usage, pairs=pairs)
    of_jobs = ReviewPair.objects.filter(job__in=jobs.values("pk"))
    gates = KbPath.objects.filter(pk__in=of_jobs.values("gate_id")).values_list("pk", "path")
    ids = {pk: config.gate_id(path) for pk, path in gates}
    counted = of_jobs.values_list("gate_id", "job_id").annotate(Count("pk")).order_by()
    for gate_pk, job_id, pairs in counted.iterator(chunk_size=5000):
        usage, of = usages.get(job_id, (Usage(), pairs))
        books["gates"][ids[gate_pk]].add(usage, pairs=pairs, share=pairs / of)
    parts = {
        book: [sums[name].document(name) for name in sorted(sums)] for book, sums in books.items()
    }
    return CostsJson(total=total.document("total"), **parts)


@dataclass
class _Sum:
    """Adds up what is known; a sum of nothing stays unknown."""

    jobs: int = 0
    pairs: int = 0
    jobs_without_cost: int = 0
    known: dict[str, float] = field(default_factory=dict)

    def add(self, usage: Usage, *, pairs: int, share: float = 1.0) -> None:
        self.jobs += 1
        self.pairs += pairs
        self.jobs_without_cost += usage.cost_usd is None or not usage.whole
        told = {name: getattr(usage, name) for name in _DIGITS}
        if usage.prompt_tokens:
            told |= {"prompt": usage.prompt_tokens, "cached": usage.cached_input_tokens or 0}
        for name, value in told.items():
            if value is not None:
                self.known[name] = self.known.get(name, 0.0) + value * share

    def document(self, name: str) -> CostJson:
        known = self.known
        told: dict[str, Any] = dict.fromkeys(_DIGITS)
        told |= {word: round(known[word], n) for word, n in _DIGITS.items() if word in known}
        share = round(known["cached"] / known["prompt"], 4) if "prompt" in known else None
        return from_row(CostJson, self, name=name, cached_share=share, **told)


def _run_jobs() -> QuerySet[ReviewJob]:
    """Closed jobs that somebody took or ran: a job that was cancelled in the queue cost nothing."""
    closed = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES)
    return closed.filter(started_at__isnull=False) | closed.filter(telemetry__isnull=False)


def _past_usages(**which: str) -> list[tuple[Usage, int, int]]:
    """The usage, estimated prompt tokens and number of pairs of the latest of these jobs."""
    columns = ("telemetry", "estimated_prompt_tokens", "pair_count")
    latest = _run_jobs().filter(**which).order_by("-pk").values_list(*columns)[:_PAST_JOBS]
    return [(read_usage(telemetry), estimated, pairs) for telemetry, estimated, pairs in latest]


def _past_costs(model_partition: str, runner: str) -> list[tuple[float, int]]:
    """Cost and estimated prompt tokens of the latest jobs that reported all of their cost."""
    past = _past_usages(model_partition__name=model_partition, runner=runner)
    return [(it.cost_usd, n) for it, n, _pairs in past if it.cost_usd is not None and it.whole]


def _rounded(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 4)
