"""Makes the jobs of a sweep, a few at a time and shortly before they are run, and hands them out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from review.errors import ReviewError
from review.jobs.create import create_jobs
from review.jobs.factory import ALREADY_QUEUED
from review.jobs.job_documents import CreatedJson, JobJson, SkippedJson
from review.knowledge_base import Corpus, UnreadableFile
from review.models import ReviewJob
from review.recovery.recover import RecoveryAction, RecoveryRequest, recover
from review.store.retry import retry_while_busy
from review.sweeps.report import SweepReport
from review.sweeps.targets import SweepTarget, create_request, pack, without_given_up
from review.vocabulary import JobStatus

_OUTDATED = "a text of it has changed since it was queued"


class Feeder:
    """Gives job ids, one at a time; what others have taken is left to them.

    :param wave: how many groups of targets become jobs at a time: few, so that little is left
        over when the sweep ends early, and that a job asks for the text there is when it runs.
    """

    def __init__(self, targets: Sequence[SweepTarget], report: SweepReport, *, wave: int) -> None:
        self.error: ReviewError | None = None
        self._report = report
        self._request = report.request
        self._context = report.context
        self._wave = wave
        self._targets = {target.key: target for target in targets}
        self._groups = deque(pack(targets, self._request))
        self._ready: deque[int] = deque()
        self._made: set[int] = set()
        self._met: dict[int, int | None] = {}
        self._out: dict[int, list[SweepTarget]] = {}
        self._given = 0

    def job_ids(self) -> Iterator[int | None]:
        """Jobs to run: made by this sweep, or queued by another parent for pairs of its scope.

        None: nothing more for now. A refusal ends it, and is kept as `error`.
        """
        while self.error is None:
            try:
                while not self._ready and self._fill():
                    pass
            except ReviewError as refused:
                self.error = refused
            if self.error is None and self._ready:
                self._given += 1
                yield self._ready.popleft()
            else:
                yield None

    @property
    def is_done(self) -> bool:
        """Whether every target was looked at and every job handed out."""
        return not (self._ready or self._groups)

    def settle(self, job_id: int, *, taken: bool = False) -> None:
        """A job that was handed out needs nothing more; `taken`: somebody else has it."""
        targets = self._out.pop(job_id, [])
        self._made.discard(job_id)
        self._given -= taken
        for target in targets if taken else ():
            self._report.skipped.add_target(target, ALREADY_QUEUED)

    def again(self, keys: Iterable[tuple[str, str]]) -> None:
        """Make new jobs for these pairs: note paths with gate ids."""
        found = [self._targets[key] for key in keys if key in self._targets]
        self._groups.extend(pack(found, self._request))

    def not_started(self) -> list[int]:
        """Jobs that this sweep made and handed to nobody."""
        return [job_id for job_id in self._ready if job_id in self._made]

    def _fill(self) -> bool:
        """Make the next jobs; False when there is nothing left to look at."""
        if not self._groups or self._context.stop.is_set():
            return False
        size = min(self._wave, len(self._groups), self._room())
        wave = [self._groups.popleft() for _ in range(size)]
        self._make([target for group in wave for target in group.items])
        return True

    def _room(self) -> int:
        """How many jobs may still be given; at least 1: whether it may start is not asked here."""
        limit = self._request.limits.max_jobs
        return self._wave if limit is None else max(1, limit - self._given)

    def _make(self, targets: Sequence[SweepTarget]) -> None:
        wanted = without_given_up(targets, self._request, skipped=self._report.skipped)
        if not wanted:
            return
        created = retry_while_busy(lambda: self._create(wanted), stop=self._context.stop)
        for job in created.jobs:
            if isinstance(job, JobJson):  # and no plan, which only a dry run gives
                keys = [(pair.note_path, pair.gate_id) for pair in job.pairs]
                self._hand_out(job.review_job_id, keys)
                self._made.add(job.review_job_id)
        self._report.add_problems(created.problems)
        corpus = Corpus(self._context.config)
        for item in created.skipped:
            if item.reason == ALREADY_QUEUED and item.review_job_id is not None:
                self._meet(item, item.review_job_id, corpus)
            else:
                self._report.skipped.add(item)

    def _create(self, targets: Sequence[SweepTarget]) -> CreatedJson:
        request = create_request(targets, self._request, actor=self._context.actor)
        return create_jobs(request, config=self._context.config, now=self._context.clock())

    def _meet(self, item: SkippedJson, job_id: int, corpus: Corpus) -> None:
        """Another parent has queued the pair: its job is as good as one of ours."""
        if job_id not in self._met:
            self._met[job_id] = self._take_over(job_id, corpus)
        ours = self._met[job_id]
        if ours is None:
            self._report.skipped.add(item)
            return
        if ours != job_id:
            self._made.add(ours)
        self._hand_out(ours, [(item.note_path, item.gate_id)])

    def _take_over(self, job_id: int, corpus: Corpus) -> int | None:
        """The job to run for its pairs: this one, or a new one when a text has changed since.

        None when it is not queued any more, or none of its pairs can be reviewed.
        """
        job = ReviewJob.objects.filter(pk=job_id, status=JobStatus.QUEUED).first()
        if job is None or _is_current(job, corpus):
            return None if job is None else job_id
        context = self._context
        request = RecoveryRequest(
            action=RecoveryAction.REPLACE,
            actor=context.actor,
            older_than=context.config.abandoned_after,
            job_ids=(job_id,),
            reason=_OUTDATED,
        )
        found = recover(
            request,
            corpus=corpus,
            config=context.config,
            processes=context.processes,
            now=context.clock(),
        )
        return found.answer.done[0].replaced_by if found.answer.done else None

    def _hand_out(self, job_id: int, keys: Iterable[tuple[str, str]]) -> None:
        if job_id not in self._out:
            self._ready.append(job_id)
        targets = [self._targets[key] for key in keys if key in self._targets]
        self._out.setdefault(job_id, []).extend(targets)


def _is_current(job: ReviewJob, corpus: Corpus) -> bool:
    columns = (
        "note__path",
        "gate__path",
        "note_snapshot__content_sha256",
        "gate_snapshot__content_sha256",
    )
    try:
        return all(
            (note_sha256, gate_sha256)
            == (corpus.read_note(note_path).sha256, corpus.gate(gate_path).sha256)
            for note_path, gate_path, note_sha256, gate_sha256 in job.pairs.values_list(*columns)
        )
    except UnreadableFile:
        return False
