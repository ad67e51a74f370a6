"""The cost of reviews, from the telemetry of jobs; what is not reported stays unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import Count, QuerySet

from review.documents.base import Document, from_row
from review.domain.paths import gate_id_of
from review.models import KbPath, ReviewJob, ReviewPair
from review.protocol.telemetry import Usage, read_usage
from review.settings.config import RULES_PARTITION, Config
from review.vocabulary import OPEN_JOB_STATUSES


class CostJson(Document, kw_only=True):
    """The jobs of one name that were run, and what is known of their cost.

    A number is null when no job says it, and is the sum of those that do: `jobs_without_cost` did
    not say what they cost. Of a job with several gates each has the share of its pairs.
    `cached_share` is the part of the input that came from a cache, if the runner reports both.
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
    """The estimated cost of planned jobs with a model API, at its declared prices.

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


NO_RUNNER = "(not named)"
_FREE = Usage(cost_usd=0.0)
_PAST_JOBS = 500
_NAMES = ("model_partition__name", "runner", "lens", "purpose", "completed_at")


@dataclass(frozen=True)
class CostEstimate:
    """The cost of a number of prompt tokens, by `jobs` past ones; None when none reported any."""

    cost_usd: float | None
    jobs: int


def estimate_cost(*, model_partition: str, runner: str, prompt_tokens: int) -> CostEstimate:
    """Estimate by what the latest jobs of this runner and partition cost for a token of the prompt."""
    if model_partition == RULES_PARTITION:
        return CostEstimate(0.0, 0)
    past = _past_costs(model_partition, runner)
    tokens = sum(estimated for _cost, estimated in past)
    if not tokens:
        return CostEstimate(None, 0)
    cost = sum(cost for cost, _estimated in past)
    return CostEstimate(cost * prompt_tokens / tokens, len(past))


def mean_cost(*, model_partition: str, runner: str) -> float | None:
    """The mean cost of the latest jobs of this runner and partition; None when none reported it."""
    past = _past_costs(model_partition, runner)
    return sum(cost for cost, _estimated in past) / len(past) if past else None


def mean_output_tokens(*, model_partition: str) -> float | None:
    """Return the mean output per pair of the partition's latest jobs; None when none reported it."""
    rows = _run_jobs().filter(model_partition__name=model_partition).order_by("-pk")
    latest = rows.values_list("telemetry", "pair_count")[:_PAST_JOBS]
    told = [(usage_of(telemetry).output_tokens or 0, pairs) for telemetry, pairs in latest]
    pairs = sum(pairs for output, pairs in told if output)
    return sum(output for output, _pairs in told) / pairs if pairs else None


def _past_costs(model_partition: str, runner: str) -> list[tuple[float, int]]:
    """Cost and estimated prompt tokens of the latest jobs that reported all of their cost."""
    rows = _run_jobs().filter(model_partition__name=model_partition, runner=runner)
    latest = rows.order_by("-pk").values_list("telemetry", "estimated_prompt_tokens")[:_PAST_JOBS]
    usages = [(usage_of(telemetry), estimated) for telemetry, estimated in latest]
    return [
        (usage.cost_usd, estimated)
        for usage, estimated in usages
        if usage.cost_usd is not None and usage.whole
    ]


def read_costs(*, model_partition: str | None = None, config: Config) -> CostsJson:
    """Costs of every job that was run and is closed, of one model partition or of all."""
    jobs = _run_jobs()
    if model_partition is not None:
        jobs = jobs.filter(model_partition__name=model_partition)
    books = {
        name: dict[str, _Sum]()
        for name in ("total", "gates", "lenses", "partitions", "runners", "purposes", "days")
    }
    usages: dict[int, tuple[Usage, int]] = {}
    rows = jobs.values_list("pk", *_NAMES, "pair_count", "telemetry")
    for job_id, *names, pairs, telemetry in rows.iterator():
        partition, runner, lens, purpose, closed_at = names
        usage = _FREE if partition == RULES_PARTITION else usage_of(telemetry)
        usages[job_id] = (usage, pairs)
        for book, name in (
            ("total", "total"),
            ("lenses", lens),
            ("partitions", partition),
            ("runners", runner or NO_RUNNER),
            ("purposes", purpose),
            ("days", closed_at.date().isoformat()),
        ):
            books[book].setdefault(name, _Sum()).add(usage, pairs=pairs)
    for gate_id, job_id, pairs in _gates_of(jobs, config):
        usage, of = usages.get(job_id, (Usage(), pairs))
        books["gates"].setdefault(gate_id, _Sum()).add(usage, pairs=pairs, share=pairs / of)
    total = books.pop("total").get("total", _Sum())
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
    prompt: float = 0.0
    cached: float = 0.0
    known: dict[str, float] = field(default_factory=dict)

    def add(self, usage: Usage, *, pairs: int, share: float = 1.0) -> None:
        self.jobs += 1
        self.pairs += pairs
        self.jobs_without_cost += usage.cost_usd is None or not usage.whole
        for name in ("cost_usd", "input_tokens", "output_tokens", "cached_input_tokens", "seconds"):
            value = getattr(usage, name)
            if value is not None:
                self.known[name] = self.known.get(name, 0.0) + value * share
        if usage.prompt_tokens:
            self.prompt += usage.prompt_tokens * share
            self.cached += (usage.cached_input_tokens or 0) * share

    def document(self, name: str) -> CostJson:
        tokens = {
            word: None if word not in self.known else round(self.known[word])
            for word in ("input_tokens", "output_tokens", "cached_input_tokens")
        }
        return from_row(
            CostJson,
            self,
            name=name,
            cost_usd=_rounded(self.known.get("cost_usd"), 6),
            seconds=_rounded(self.known.get("seconds"), 3),
            cached_share=round(self.cached / self.prompt, 4) if self.prompt else None,
            **tokens,
        )


def _run_jobs() -> QuerySet[ReviewJob]:
    """Closed jobs that somebody took or ran: a job that was cancelled in the queue cost nothing."""
    closed = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES)
    return closed.filter(started_at__isnull=False) | closed.filter(telemetry__isnull=False)


def usage_of(telemetry: object) -> Usage:
    return read_usage(telemetry if isinstance(telemetry, Mapping) else None)


def _gates_of(jobs: QuerySet[ReviewJob], config: Config) -> Iterator[tuple[str, int, int]]:
    """Gate id, job and how many of its pairs are of that gate."""
    rows = ReviewPair.objects.filter(job__in=jobs.values("pk")).values_list("gate_id", "job_id")
    counted = rows.annotate(Count("pk")).order_by("gate_id", "job_id")
    names: dict[int, str] = {}
    for gate_id, job_id, pairs in counted.iterator(chunk_size=5000):
        if gate_id not in names:
            path = KbPath.objects.values_list("path", flat=True).get(pk=gate_id)
            names[gate_id] = gate_id_of(path, gates_folder=config.gates_folder)
        yield names[gate_id], job_id, pairs


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
