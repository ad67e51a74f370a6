"""Create queued jobs for targets: admitted one by one, packed, and stored a few dozen at a time."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from operator import attrgetter

from django.db import transaction

from review import job_files, models
from review.domain.grouping import Group, Target, group_targets, split_by_cost
from review.domain.paths import sha256_hex
from review.errors import ReviewError, UsageRefused
from review.jobs.board import show_jobs
from review.jobs.files import JobFiles, render_pairs
from review.jobs.job_documents import (
    CreatedJson,
    JobJson,
    PlannedJobJson,
    PlannedPairJson,
    SkippedJson,
    TotalsJson,
)
from review.knowledge_base import Corpus, DraftPair, Problem, UnreadableFile, in_order
from review.protocol.prompt import VERSION, estimate_tokens
from review.protocol.sentinels import token_is_free
from review.selection.freshness import in_flight
from review.settings import Config
from review.vocabulary import RULES_PARTITION, Grouping, JobPurpose, JobStatus, ProblemCode

_Keys = dict[tuple[str, str], models.FileSnapshot]

ALREADY_QUEUED = "already-queued"
FRESH = "fresh"
DUPLICATE = "duplicate"
NOT_APPLICABLE = "not-applicable"
JOBS_PER_TRANSACTION = 50
MAX_LENS_LENGTH = 200
# As long as real ones, to measure a prompt before its job has an id.
_MEASURING_TOKEN = "00000000"  # noqa: S105
_MEASURING_PATH = "kb/reports/bundle-reviews/review-job-1000000/bundle-output.md"


class JobFactory:
    """Creates the jobs of one command, all of one model partition.

    :param omit: leave out pairs that are `ALREADY_QUEUED` in an open job, or `FRESH`.
    :ivar skipped: the targets that became no pair; `problems`: those of files.
    """

    def __init__(
        self,
        model_partition: str,
        *,
        corpus: Corpus,
        actor: str,
        now: datetime,
        omit: Collection[str] = (),
    ) -> None:
        self.skipped: list[SkippedJson] = []
        self.problems: set[Problem] = set()
        self._partition, self._omit = model_partition, omit
        self._corpus, self._config = corpus, corpus.config
        self._prompt_note, self._facts_of = cache(corpus.linker.prompt_note), cache(corpus.facts_of)
        self._actor, self._now = actor, now

    def admit(self, targets: list[Target]) -> Iterator[DraftPair]:
        """Yield the pairs to request; skip the other targets, each with its reason."""
        read_note, catalog = cache(self._corpus.read_note), self._corpus.gates
        queued = self._queued(target.note_path for target in targets)
        gate_paths = {target.gate_path for target in targets}
        self.problems.update(it for it in catalog.problems if it.path in gate_paths)
        seen: set[tuple[str, str]] = set()
        for target in targets:
            key = (target.note_path, target.gate_path)
            if key in seen:
                self._skip(target, DUPLICATE)
                continue
            seen.add(key)
            try:
                gate, note = self._corpus.gate(target.gate_path), read_note(target.note_path)
            except UnreadableFile as refused:
                self.problems.add(refused.problem)
                self._skip(target, refused.problem.code.value)
                continue
            facts = self._facts_of(note)
            self.problems.update(facts.problems)
            if not gate.requirement.applies(facts.kind):
                self._skip(target, NOT_APPLICABLE)
            elif key in queued:
                self._skip(target, ALREADY_QUEUED, queued[key])
            else:
                yield DraftPair(note, gate)

    def split(
        self, groups: Iterable[Group[DraftPair]], *, limit: int
    ) -> Iterator[Group[DraftPair]]:
        """Yield the pairs of each job, with a prompt below the limit; skip what is larger alone."""
        for group in groups:
            # Nobody reads a prompt of rules.
            if self._partition == RULES_PARTITION or self.estimate(group.items) <= limit:
                yield group
                continue
            fitting = [pair for pair in group.items if self._fits(pair, limit)]
            for part in split_by_cost(fitting, cost=self.estimate, limit=limit):
                yield _named(replace(group, items=tuple(part)))

    def estimate(self, pairs: Sequence[DraftPair]) -> int:
        return estimate_tokens(self._prompt(pairs, _MEASURING_TOKEN, _MEASURING_PATH))

    def create(
        self,
        groups: Sequence[Group[DraftPair]],
        *,
        replaces: int | None = None,
        purpose: JobPurpose = JobPurpose.REVIEW,
    ) -> list[int]:
        """Create a job for each group, in one transaction; a group without a pair becomes none.

        Folders are filled before the commit, so a job that can be claimed has its prompt. What a
        rollback leaves of them is moved aside when the id is allocated again.

        :param replaces: the failed job that the one group takes over.
        """
        pairs = [pair for group in groups for pair in group.items]
        sides = [side for pair in pairs for side in (pair.note, pair.gate)]
        texts = {(side.path, side.sha256): side.text for side in sides}
        with transaction.atomic():
            # First: creators take turns here, so what is queued cannot change below.
            first_id = models.ReviewStore.objects.allocate_job_ids(len(groups))
            keys = models.FileSnapshot.objects.take(texts, now=self._now)
            skipped = self._omitted(pairs, keys)
            wanted = [
                replace(group, items=tuple(it for it in group.items if _key(it) not in skipped))
                for group in groups
            ]
            partition, _ = models.ModelPartition.objects.get_or_create(name=self._partition)
            jobs = []
            for job_id, group in enumerate((group for group in wanted if group.items), first_id):
                folder = job_files.job_folder(self._config, job_id)
                output_path = f"{folder}/{job_files.OUTPUT_NAME}"
                token = _draw_token(group.items)
                prompt = self._prompt(group.items, token, output_path)
                job = models.ReviewJob(
                    pk=job_id,
                    model_partition=partition,
                    status=JobStatus.QUEUED,
                    purpose=purpose,
                    grouping=group.grouping,
                    lens=group.lens,
                    sentinel_token=token,
                    prompt_path=f"{folder}/{job_files.PROMPT_NAME}",
                    bundle_output_path=output_path,
                    prompt_sha256=sha256_hex(prompt.encode()),
                    prompt_version=VERSION,
                    estimated_prompt_tokens=estimate_tokens(prompt),
                    pair_count=len(group.items),
                    created_at=self._now,
                    replaces_id=replaces,
                )
                rows = [self._row(job, at, pair, keys) for at, pair in enumerate(group.items, 1)]
                jobs.append((job, rows, prompt))
            self._store(jobs)
        self.skipped += skipped.values()
        return [job.pk for job, _pairs, _prompt in jobs]

    def _queued(self, note_paths: Iterable[str]) -> dict[tuple[str, str], int]:
        wanted = ALREADY_QUEUED in self._omit
        return in_flight(self._partition, note_paths=set(note_paths)) if wanted else {}

    def _omitted(
        self, pairs: Sequence[DraftPair], keys: _Keys
    ) -> dict[tuple[str, str], SkippedJson]:
        queued = self._queued(pair.note_path for pair in pairs)
        # After the look at open jobs: one that closed in between is accepted by now.
        notes = {keys[pair.note_path, pair.note.sha256].path_id for pair in pairs}
        accepted = models.CurrentAcceptance.objects.of_partition(self._partition)
        accepted = accepted.filter(note_id__in=notes)
        judged = ("note_snapshot_id", "gate_snapshot_id", "event__review_pair__link_state")
        fresh = set(accepted.values_list(*judged)) if FRESH in self._omit else set()
        omitted = {}
        for pair in pairs:
            job_id = queued.get(_key(pair))
            texts = (keys[side.path, side.sha256].pk for side in (pair.note, pair.gate))
            if job_id is not None or (*texts, self._link_state(pair)) in fresh:
                reason = FRESH if job_id is None else ALREADY_QUEUED
                omitted[_key(pair)] = SkippedJson(pair.note_path, pair.gate_id, reason, job_id)
        return omitted

    def _row(
        self, job: models.ReviewJob, ordinal: int, pair: DraftPair, keys: _Keys
    ) -> models.ReviewPair:
        note, gate = (keys[side.path, side.sha256] for side in (pair.note, pair.gate))
        texts = {"note_snapshot": note, "gate_snapshot": gate, "link_state": self._link_state(pair)}
        row = models.ReviewPair(job=job, ordinal=ordinal, note=note.path, gate=gate.path, **texts)
        row.note_path, row.gate_path = pair.note_path, pair.gate.path
        row.note_sha256, row.gate_sha256 = pair.note.sha256, pair.gate.sha256
        return row

    def _link_state(self, pair: DraftPair) -> str:
        is_of_rules = self._partition == RULES_PARTITION
        return self._corpus.link_state(self._facts_of(pair.note), pair.gate) if is_of_rules else ""

    def _prompt(self, pairs: Sequence[DraftPair], token: str, bundle_output_path: str) -> str:
        texts = ((pair.note_path, pair.note.text, pair.gate) for pair in pairs)
        return render_pairs(texts, token, bundle_output_path, self._prompt_note)

    def _store(self, jobs: Sequence[tuple[models.ReviewJob, list[models.ReviewPair], str]]) -> None:
        models.ReviewJob.objects.bulk_create([job for job, _pairs, _prompt in jobs])
        models.ReviewPair.objects.bulk_create(
            [pair for _job, pairs, _prompt in jobs for pair in pairs]
        )
        moves = (
            models.JobMove(job.pk, "", JobStatus.QUEUED, "created") for job, _pairs, _prompt in jobs
        )
        models.JobEvent.objects.record(moves, actor=self._actor, now=self._now)
        store_id = models.ReviewStore.objects.identity()
        folders, written = job_files.ArtifactStore(self._config), []
        try:
            for job, pairs, prompt in jobs:
                manifest = JobFiles(job, pairs, {}, self._config, store_id).manifest()
                # The manifest first, so that a folder says whose it is.
                files = {
                    job_files.MANIFEST_NAME: manifest.encode(),
                    job_files.PROMPT_NAME: prompt.encode(),
                }
                folders.make_folder(job.pk, store_id=store_id, files=files)
                written.append(job.pk)
        except ReviewError:
            # Not needed to be safe, but a refusal that repeats should not pile up folders.
            folders.discard_folders(written)
            raise

    def create_in_batches(self, groups: Iterable[Group[DraftPair]]) -> list[int]:
        job_ids: list[int] = []
        for some in models.batched(groups, JOBS_PER_TRANSACTION):
            try:
                job_ids += self.create(some)
            except (job_files.ArtifactNotWritten, job_files.ForeignJobFolder) as refused:
                why = f"{len(job_ids)} jobs were made before that and stay queued"
                raise type(refused)(f"{refused.message}; {why}", hint=refused.hint) from refused
        return job_ids

    def plan(self, group: Group[DraftPair]) -> PlannedJobJson:
        pairs = enumerate(group.items, 1)
        return PlannedJobJson(
            model_partition=self._partition,
            grouping=group.grouping,
            lens=group.lens,
            estimated_prompt_tokens=self.estimate(group.items),
            pair_count=len(group.items),
            pairs=[PlannedPairJson(it.note_path, it.gate_path, it.gate_id, n) for n, it in pairs],
        )

    def _fits(self, pair: DraftPair, limit: int) -> bool:
        tokens = self.estimate([pair])
        if tokens <= limit:
            return True
        code = ProblemCode.PROMPT_TOO_LARGE
        message = (
            f"the prompt for {pair.gate_id} alone has about {tokens} tokens; the limit is {limit}"
            " (--max-prompt-tokens, or max_prompt_tokens in kb/review.toml)"
        )
        self.problems.add(Problem(pair.note_path, code, message, skipped=True))
        self._skip(pair, code.value)
        return False

    def _skip(self, target: Target, reason: str, job_id: int | None = None) -> None:
        self.skipped.append(SkippedJson(target.note_path, target.gate_id, reason, job_id))


def _key(pair: DraftPair) -> tuple[str, str]:
    return pair.note_path, pair.gate_path


def _draw_token(pairs: Sequence[DraftPair]) -> str:
    """Return a random 8-hex token that occurs in no text or name of the pairs."""
    texts = {
        part for pair in pairs for side in (pair.note, pair.gate) for part in (side.path, side.text)
    }
    token = secrets.token_hex(4)
    while not token_is_free(token, texts):
        token = secrets.token_hex(4)
    return token


@dataclass(frozen=True)
class CreateRequest:
    """A request to create jobs for targets.

    :param across_lenses: a note's job holds gates of several lenses, up to the configured number.
    :param max_prompt_tokens: larger prompts are split by pairs, and a larger pair is skipped.
    :param omit: leave out pairs `ALREADY_QUEUED`, or `FRESH` since they were selected.
    """

    model_partition: str
    grouping: Grouping
    actor: str
    batch_size: int | None = None
    across_lenses: bool = False
    max_prompt_tokens: int | None = None
    omit: frozenset[str] = frozenset({ALREADY_QUEUED})
    dry_run: bool = False


def create_jobs(
    targets: Iterable[Target], request: CreateRequest, *, config: Config, now: datetime
) -> CreatedJson:
    """Create queued jobs for the targets; what cannot be requested is skipped with a reason.

    Jobs are stored in transactions of a few dozen, so a refusal in the middle keeps those before
    it; running the same again then skips them as queued.
    """
    by_gate = request.grouping is Grouping.GATE
    if request.batch_size is not None and not by_gate:
        raise UsageRefused("--batch-size goes with --grouping gate: a note's job has all its gates")
    if request.across_lenses and by_gate:
        raise UsageRefused("--across-lenses goes with --grouping note: a gate has one lens")
    corpus = Corpus(config)
    factory = JobFactory(
        request.model_partition, corpus=corpus, actor=request.actor, now=now, omit=request.omit
    )
    most = None if request.model_partition == RULES_PARTITION else config.max_gates
    packed = group_targets(
        list(factory.admit(list(targets))),
        grouping=request.grouping,
        batch_size=most if request.across_lenses else request.batch_size,
        across_lenses=request.across_lenses,
    )
    limit = request.max_prompt_tokens or config.max_prompt_tokens
    groups = factory.split(map(_named, packed), limit=limit)
    jobs: list[JobJson | PlannedJobJson]
    if request.dry_run:
        jobs = [*map(factory.plan, groups)]
    else:
        jobs = [*show_jobs(factory.create_in_batches(groups), config=config)]
        corpus.save()
    return CreatedJson(
        dry_run=request.dry_run,
        totals=TotalsJson(
            jobs=len(jobs),
            pairs=sum(job.pair_count for job in jobs),
            estimated_prompt_tokens=sum(job.estimated_prompt_tokens for job in jobs),
        ),
        jobs=jobs,
        skipped=sorted(factory.skipped, key=attrgetter("note_path", "gate_id", "reason")),
        problems=in_order(factory.problems),
    )


def _named(group: Group[DraftPair]) -> Group[DraftPair]:
    lenses = dict.fromkeys(sorted(pair.gate.lens for pair in group.items))
    return replace(group, lens="+".join(lenses)[:MAX_LENS_LENGTH])
