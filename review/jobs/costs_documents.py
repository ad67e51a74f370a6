"""What reviews cost, as far as telemetry says: a part of `review-status/1` and of the sweeps."""

from __future__ import annotations

from review.documents.base import Document


class CostJson(Document, kw_only=True):
    """The jobs of one name that were run, and what is known of their cost.

    A number is null when no job says it, and is the sum of those that do: `jobs_without_cost` did
    not say what they cost. Of a job with several gates each has the share of its pairs.
    `cached_share` is the part of the input that came from a cache, where the runner tells both.
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
    """What planned jobs would cost with a model API, at its declared prices.

    `cached_tokens` are read from the provider's cache where it works throughout. Output tokens are by
    past jobs of the partition, or assumed. A null cost needs a price that is not declared.
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
    """Costs of all jobs that were run, in total and by what they have in common."""

    total: CostJson
    gates: list[CostJson]
    lenses: list[CostJson]
    partitions: list[CostJson]
    runners: list[CostJson]
    purposes: list[CostJson]
    days: list[CostJson] = []
