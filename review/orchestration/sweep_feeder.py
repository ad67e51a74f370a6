"""Makes the jobs of a sweep, a few at a time and shortly before they are run, and hands them out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.conf import Config
from review.contracts.jobs import CreatedJson, JobJson, SkippedJson
from review.contracts.selection import ProblemJson
from review.corpus import Corpus
from review.errors import ReviewError
from review.orchestration.job_making import ALREADY_QUEUED
from review.orchestration.patience import retry_while_busy
from review.orchestration.planning import create_jobs
from review.orchestration.queued_jobs import take_over
from review.orchestration.selection_input import BadTargets
from review.orchestration.sweep_request import SweepRequest
from review.orchestration.sweep_targets import (
    Skipped,
    SweepTarget,
    create_request,
    pack,
    skipped_target,
    without_given_up,
)
from review.runners.process_table import Processes

REJECTED = "rejected"

ProblemKey = tuple[str, str, str]


@dataclass(frozen=True)
class FeederTools:
    """What a feeder works with.

    :param wave: how many groups of targets become jobs at a time: few, so that little is left
        over when the sweep ends early, and that a job asks for the text there is when it runs.
    """

    actor: str
    config: Config
    processes: Processes
    clock: Callable[[], datetime]
    stop: threading.Event
    wave: int


class Feeder:
    """Gives job ids, one at a time; what others have taken is looked at once more in the end."""

    def __init__(
        self, targets: Sequence[SweepTarget], request: SweepRequest, tools: FeederTools
    ) -> None:
        """Look at nothing yet."""
        self.skipped = Skipped()
        self.problems: dict[ProblemKey, ProblemJson] = {}
        self.error: ReviewError | None = None
        self._request = request
        self._tools = tools
        self._targets = {target.key: target for target in targets}
        self._groups = deque(pack(targets, request))
        self._ready: deque[int] = deque()
        self._made: set[int] = set()
        self._met: dict[int, int | None] = {}
        self._out: dict[int, list[SweepTarget]] = {}
        self._elsewhere: list[SweepTarget] = []
        self._is_last_look = False
        self._given = 0

    def job_ids(self) -> Iterator[int]:
        """Jobs to run: made by this sweep, or queued by another parent for pairs of its scope.

        Ends when nothing is left; a refusal ends it too, and is kept as `error`.
        """
        while True:
            while self._ready:
                self._given += 1
                yield self._ready.popleft()
            try:
                if not self._fill():
                    return
            except ReviewError as refused:
                self.error = refused
                return

    @property
    def is_done(self) -> bool:
        """Whether every target was looked at and every job handed out."""
        return not (self._ready or self._groups or self._elsewhere)

    def settle(self, job_id: int, *, taken: bool = False) -> None:
        """A job that was handed out needs nothing more; `taken`: somebody else has it."""
        targets = self._out.pop(job_id, [])
        self._made.discard(job_id)
        self._given -= taken
        if taken and self._is_last_look:
            for target in targets:
                self.skipped.add(skipped_target(target, ALREADY_QUEUED))
        elif taken:
            self._elsewhere += targets

    def not_started(self) -> list[int]:
        """Jobs that this sweep made and handed to nobody."""
        return [job_id for job_id in self._ready if job_id in self._made]

    def _fill(self) -> bool:
        """Make the next jobs; False when there is nothing left to look at."""
        if not self._groups:
            if self._is_last_look:
                return False
            self._is_last_look = True
            self._met = {}
            self._groups.extend(pack(self._elsewhere, self._request))
            self._elsewhere = []
        if not self._groups or self._tools.stop.is_set():
            return False
        size = min(self._tools.wave, len(self._groups), self._room())
        wave = [self._groups.popleft() for _ in range(size)]
        self._make([target for group in wave for target in group.items])
        return True

    def _room(self) -> int:
        """How many jobs may still be given; at least 1: whether it may start is not asked here."""
        limit = self._request.limits.max_jobs
        return self._tools.wave if limit is None else max(1, limit - self._given)

    def _make(self, targets: Sequence[SweepTarget]) -> None:
        wanted = without_given_up(targets, self._request, skipped=self.skipped)
        if not wanted:
            return
        try:
            created = retry_while_busy(lambda: self._create(wanted), stop=self._tools.stop)
        except BadTargets as refused:
            self._make_one_by_one(wanted, refused)
            return
        for job in created.jobs:
            if not isinstance(job, JobJson):
                continue  # a plan, which only a dry run gives
            self._hand_out(
                job.review_job_id, [(pair.note_path, pair.gate_id) for pair in job.pairs]
            )
            self._made.add(job.review_job_id)
        for problem in created.problems:
            self.problems[problem.path, problem.code, problem.message] = problem
        self._skip(created.skipped)

    def _make_one_by_one(self, targets: Sequence[SweepTarget], refused: BadTargets) -> None:
        """A gate that was renamed since the selection rejects the input: find the one."""
        if len(targets) > 1:
            for target in targets:
                self._make([target])
            return
        (target,) = targets
        self.skipped.add(skipped_target(target, REJECTED))
        problem = ProblemJson(
            path=target.text.gate_path, code=REJECTED, message=refused.message, skipped=True
        )
        self.problems[problem.path, problem.code, problem.message] = problem

    def _create(self, targets: Sequence[SweepTarget]) -> CreatedJson:
        request = create_request(targets, self._request, actor=self._tools.actor)
        return create_jobs(request, config=self._tools.config, now=self._tools.clock())

    def _skip(self, skipped: Iterable[SkippedJson]) -> None:
        corpus = Corpus(self._tools.config)
        for item in skipped:
            if item.reason == ALREADY_QUEUED and item.review_job_id is not None:
                self._meet(item, item.review_job_id, corpus)
            else:
                self.skipped.add(item)

    def _meet(self, item: SkippedJson, job_id: int, corpus: Corpus) -> None:
        """Another parent has queued the pair: its job is as good as one of ours."""
        if job_id not in self._met:
            tools = self._tools
            self._met[job_id] = take_over(
                job_id,
                corpus=corpus,
                actor=tools.actor,
                config=tools.config,
                processes=tools.processes,
                now=tools.clock(),
            )
        ours = self._met[job_id]
        if ours is not None:
            if ours != job_id:
                self._made.add(ours)
            self._hand_out(ours, [(item.note_path, item.gate_id)])
        elif self._is_last_look:
            self.skipped.add(item)
        else:
            self._elsewhere.append(self._targets[item.note_path, item.gate_id])

    def _hand_out(self, job_id: int, keys: Iterable[tuple[str, str]]) -> None:
        if job_id not in self._out:
            self._ready.append(job_id)
        targets = [self._targets[key] for key in keys if key in self._targets]
        self._out.setdefault(job_id, []).extend(targets)
