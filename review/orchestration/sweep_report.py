"""Puts together what a sweep did, or would do, as its answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from review.contracts.selection import ProblemJson
from review.contracts.sweeps import PlanJson, SalvagedJson, SweepJson
from review.models import Provenance
from review.orchestration.sweep_brake import Brake
from review.orchestration.sweep_request import SweepRequest
from review.orchestration.sweep_tally import Tally
from review.orchestration.sweep_targets import Skipped
from review.queries.problems import problem_json
from review.queries.targets import Selection


@dataclass
class SweepReport:
    """What is known of a sweep from its start; the rest is added at its end."""

    request: SweepRequest
    provenance: Provenance
    began: datetime
    counts: dict[str, int] = field(default_factory=dict)
    targets: int = 0
    salvaged: list[SalvagedJson] = field(default_factory=list)
    problems: list[ProblemJson] = field(default_factory=list)
    plan: PlanJson | None = None

    def selected(self, selection: Selection, targets: int) -> None:
        """Take what the selection says of the whole scope."""
        self.counts = dict(selection.counts)
        self.targets = targets
        self.problems = [problem_json(problem) for problem in selection.problems]

    def document(
        self,
        *,
        tally: Tally,
        skipped: Skipped,
        problems: Iterable[ProblemJson] = (),
        brake: Brake | None = None,
        now: datetime,
    ) -> SweepJson:
        """The answer."""
        reason = None if brake is None else brake.reason
        found = {(item.path, item.code, item.message): item for item in self.problems}
        found |= {(item.path, item.code, item.message): item for item in problems}
        return self.request.answer(
            dry_run=self.request.dry_run,
            model_partition=self.request.model_partition,
            runner=self.provenance.runner or "",
            runner_model=self.provenance.runner_model,
            runner_effort=self.provenance.runner_effort,
            grouping=self.request.grouping.value,
            counts=self.counts,
            targets=self.targets,
            salvaged=self.salvaged,
            plan=self.plan,
            stopped=None if reason is None else reason.value,
            stopped_because=None if brake is None or reason is None else brake.because,
            jobs=dict(tally.jobs),
            pairs=dict(tally.pairs),
            failures=tally.failures(),
            skipped=dict(sorted(skipped.reasons.items())),
            skipped_pairs=skipped.shown,
            cost=tally.cost(),
            seconds=round((now - self.began).total_seconds(), 3),
            problems=[found[key] for key in sorted(found)],
        )
