"""Show how much is fresh for each model partition and gate, what waits in the queue, where jobs
stand, and which accepted notes and gates are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from review.errors import ExitCode
from review.jobs.costs import CostJson, CostsJson, read_costs
from review.management.kit.arguments import one_of, option
from review.management.kit.command import ReadingCommand
from review.management.output.selection import problem_lines
from review.overview.documents import GateStatusJson, PartitionStatusJson, StatusJson
from review.overview.next_steps import step_lines
from review.overview.status import FailOn, read_status


class Command(ReadingCommand):
    examples = (
        "commonplace review_status",
        "commonplace review_status --model claude-opus-4-6 --json",
        "commonplace review_status --fail-on fail stale",
        "commonplace review_status --costs",
        "commonplace review_status --next",
    )
    exit_codes = {ExitCode.GATE_TRIPPED: "--fail-on found something; `tripped` says what"}
    arguments = {
        "--model P": "look at this model partition only",
        "--fail-on ...": option(
            "exit 6 when the queue holds a fail, a warn or fail, or when a pair is stale",
            [level.value for level in FailOn],
        ),
        "--costs": "and what reviews cost, by gate, lens, partition and runner, as far as it is"
        " known",
        "next": one_of(
            {
                "--next": "only what to do next, each with its command",
                "--summary": "without the gates of partitions",
            }
        ),
    }

    def handle(self, *args: Any, **options: Any) -> None:
        status = read_status(
            self.corpus,
            model_partition=options["model"],
            fail_on=[FailOn(level) for level in options["fail_on"]],
            config=self.config,
            now=self.now,
        )
        if options["costs"]:
            status.costs = read_costs(model_partition=options["model"], config=self.config)
        if options["next"] or options["summary"]:
            for part in status.partitions:
                part.gates = []
        if options["next"]:
            self.show(status, step_lines(status))
        else:
            # A build that reads no more than the exit code is at least told in its log.
            is_build = options["fail_on"]
            self.show(
                status,
                (*status_lines(status), *cost_lines(status.costs)),
                warnings=(*problem_lines(status.problems), *(status.notices if is_build else ())),
                notices=() if is_build else status.notices,
            )
        self.finish(ExitCode.GATE_TRIPPED if status.tripped else ExitCode.DONE)


_HEADINGS = (
    "applicable", "fresh", "missing", "gate-changed", "note-changed", "pass", "warn", "fail",
)  # fmt: skip
_COST_HEADINGS = (
    *("costs", "jobs", "pairs", "usd", "input tokens", "output tokens", "cached", "seconds"),
)


def status_lines(status: StatusJson) -> Iterator[str]:
    """Summary lines, then a table of gates for each partition."""
    yield f"notes: {status.notes}, gates: {status.gates}"
    for part in status.partitions:
        yield _share(part)
    yield f"pairs that are fresh in no partition: {status.uncovered}"
    yield f"queue: {_counts(status.queue)}"
    if status.waiting_findings:
        yield f"findings that wait for a new review, since their gate changed: {status.waiting_findings}"
    yield f"needs a look: {status.needs_a_look}"
    yield f"jobs: {_counts(status.jobs)}"
    if status.abandoned_jobs:
        names = " ".join(map(str, status.abandoned_jobs))
        yield f"abandoned jobs: {names} (see: commonplace recover_review_jobs)"
    yield from _names(status)
    if status.tripped:
        yield f"tripped: {status.tripped}"
    for part in (part for part in status.partitions if part.gates):
        yield ""
        yield f"gates in {part.model_partition}"
        rows = [("gate", *_HEADINGS), *map(_gate_cells, part.gates)]
        yield from (f"  {line}" for line in _table(rows))


def _names(status: StatusJson) -> Iterator[str]:
    for skip in status.skips:
        yield f"skipped by the note: {skip.gate_id} on {skip.note_path}: {skip.reason}"
    for orphan in status.orphans:
        held = f"it has current acceptances: {orphan.acceptances}"
        yield f"orphan: {orphan.kind} {orphan.path} is gone; {held}"
    for rename in status.renames:
        yield rename.line


def _share(partition: PartitionStatusJson) -> str:
    share = f"{100 * partition.fresh // partition.applicable} %" if partition.applicable else "-"
    return (
        f"{partition.model_partition}: {partition.fresh} of {partition.applicable} pairs fresh"
        f" ({share}), in flight: {partition.in_flight}"
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join((name.ljust(widths[0]), *cells))


def _gate_cells(gate: GateStatusJson) -> tuple[str, ...]:
    numbers = (
        gate.applicable,
        gate.fresh,
        gate.missing_review,
        gate.gate_changed,
        gate.note_changed,
        *gate.decisions.values(),
    )
    return (gate.gate_id, *map(str, numbers))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{word} {number}" for word, number in counts.items())


def cost_lines(costs: CostsJson | None) -> Iterator[str]:
    """Format a table: a dash for numbers that no job reported, a plus where only some jobs did."""
    if costs is None:
        return
    rows = [_COST_HEADINGS, _cost_cells("in all", costs.total)]
    for kind, entries in (
        ("gate", costs.gates),
        ("lens", costs.lenses),
        ("partition", costs.partitions),
        ("runner", costs.runners),
        ("day", costs.days),
        ("purpose", costs.purposes if len(costs.purposes) > 1 else []),
    ):
        rows += [_cost_cells(f"{kind} {entry.name}", entry) for entry in entries]
    yield ""
    yield from _table(rows)
    if costs.total.jobs_without_cost:
        yield f"jobs that did not say what they cost: {costs.total.jobs_without_cost}"


def _cost_cells(name: str, entry: CostJson) -> tuple[str, ...]:
    part = "+" if entry.cost_usd is not None and entry.jobs_without_cost else ""
    tokens = (entry.input_tokens, entry.output_tokens)
    return (
        name,
        str(entry.jobs),
        str(entry.pairs),
        "-" if entry.cost_usd is None else f"{entry.cost_usd:.2f}{part}",
        *("-" if number is None else str(number) for number in tokens),
        "-" if entry.cached_share is None else f"{entry.cached_share:.0%}",
        "-" if entry.seconds is None else f"{entry.seconds:.0f}",
    )
