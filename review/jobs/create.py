"""Create queued jobs from a selection: checked as a whole, packed, and stored a few dozen at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from review.documents.problems import problem_json
from review.domain.applicability import applies
from review.domain.grouping import Group, group_targets, split_by_cost
from review.domain.problems import Problem
from review.errors import UsageRefused
from review.job_files import ArtifactNotWritten, ForeignJobFolder
from review.jobs.board import show_jobs
from review.jobs.factory import ALREADY_QUEUED, JobFactory, skipped_json
from review.jobs.job_documents import (
    CreatedJson,
    JobJson,
    PlannedJobJson,
    PlannedPairJson,
    SkippedJson,
    TotalsJson,
)
from review.jobs.selection_input import Target, read_selection
from review.knowledge_base import Corpus, DraftPair, UnreadableFile
from review.models import batched
from review.selection.freshness import in_flight
from review.settings.config import RULES_PARTITION, Config
from review.vocabulary import Grouping, ProblemCode

DEFAULT_BATCH_SIZE = 8
JOBS_PER_TRANSACTION = 50
MAX_LENS_LENGTH = 200
DUPLICATE = "duplicate"
NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True)
class CreateRequest:
    """A request to create jobs from a selection.

    :param selection: selector JSON; `source` is what messages call it.
    :param batch_size: notes in a job of grouping `gate`; None is the default.
    :param across_lenses: a note's job holds gates of several lenses, up to the configured number.
    :param max_prompt_tokens: larger prompts are split by pairs, and a pair that is larger alone is
        skipped; None is the configured limit. Embedded rules read no prompt: only splitting is theirs.
    :param omit: leave out pairs that are `ALREADY_QUEUED` in an open job of the partition, or that
        became `FRESH` since they were selected.
    """

    selection: bytes
    source: str
    grouping: Grouping
    actor: str
    batch_size: int | None = None
    across_lenses: bool = False
    max_prompt_tokens: int | None = None
    omit: frozenset[str] = frozenset({ALREADY_QUEUED})
    dry_run: bool = False


def create_jobs(request: CreateRequest, *, config: Config, now: datetime) -> CreatedJson:
    """Create queued jobs for what is selected; what cannot be requested is skipped with a reason.

    Jobs are stored in transactions of a few dozen, so a refusal in the middle keeps those before it;
    running the same again then skips them as queued.

    :raises UsageRefused: a batch size with grouping `note`.
    :raises NotThisDocument, PartitionNotConcrete, BadTargets: the input as a whole is rejected.
    :raises ForeignJobFolder: another store has a folder of an id that was to be allocated.
    :raises ArtifactNotWritten: the system refused to write a file.
    """
    by_gate = request.grouping is Grouping.GATE
    if request.batch_size is not None and not by_gate:
        raise UsageRefused("--batch-size goes with --grouping gate: a note's job has all its gates")
    if request.across_lenses and by_gate:
        raise UsageRefused("--across-lenses goes with --grouping note: a gate has one lens")
    corpus = Corpus(config)
    partition, targets = read_selection(
        request.selection, source=request.source, config=config, catalog=corpus.gates
    )
    queued = {}
    if ALREADY_QUEUED in request.omit:
        queued = in_flight(partition, note_paths={item.note_path for item in targets})
    admission = TargetAdmission(corpus, queued=queued)
    pairs = [pair for target in targets if (pair := admission.admit(target)) is not None]
    factory = JobFactory(partition, corpus=corpus, config=config, actor=request.actor, now=now)
    limit = request.max_prompt_tokens or config.max_prompt_tokens
    size = config.max_gates if request.across_lenses else None
    packed = group_targets(
        pairs,
        grouping=request.grouping,
        batch_size=size or (request.batch_size or DEFAULT_BATCH_SIZE if by_gate else None),
        note_of=lambda pair: pair.note.path,
        gate_of=lambda pair: pair.gate.path,
        lens_of=lambda pair: "" if request.across_lenses else pair.gate.lens,
    )
    groups = _split(map(_named, packed), admission, factory, limit=limit)
    jobs: list[JobJson | PlannedJobJson]
    if request.dry_run:
        jobs = [_planned(group, factory) for group in groups]
    else:
        job_ids = _create(groups, request, factory, admission)
        jobs = [*show_jobs(job_ids, gates_folder=config.gates_folder)]
        corpus.save()
    return CreatedJson(
        dry_run=request.dry_run,
        totals=TotalsJson(
            jobs=len(jobs),
            pairs=sum(job.pair_count for job in jobs),
            estimated_prompt_tokens=sum(job.estimated_prompt_tokens for job in jobs),
        ),
        jobs=jobs,
        skipped=sorted(
            admission.skipped, key=lambda item: (item.note_path, item.gate_id, item.reason)
        ),
        problems=[problem_json(item) for item in admission.problems()],
    )


class TargetAdmission:
    """Decides which selected targets can be requested, and records why the others cannot."""

    def __init__(self, corpus: Corpus, *, queued: Mapping[tuple[str, str], int]) -> None:
        """Start with nothing skipped; `queued` are pairs of open jobs by note and gate path."""
        self._corpus = corpus
        self._note = cache(corpus.read_note)
        self._facts = cache(lambda path: corpus.facts_of(self._note(path)))
        self._queued = queued
        self._seen: set[tuple[str, str]] = set()
        self.skipped: list[SkippedJson] = []
        self._problems: set[Problem] = set()

    def admit(self, target: Target) -> DraftPair | None:
        """Return the pair to request, or None for a target that is skipped."""
        key = (target.note_path, target.gate_path)
        is_duplicate = key in self._seen
        self._seen.add(key)
        if is_duplicate:
            reason = DUPLICATE
        elif isinstance(pair := self._read(target), Problem):
            self._problems.add(pair)
            reason = pair.code.value
        elif not applies(pair.gate.requirement, self._facts(pair.note.path).kind):
            reason = NOT_APPLICABLE
        elif key in self._queued:
            reason = ALREADY_QUEUED
        else:
            return pair
        job_id = self._queued[key] if reason == ALREADY_QUEUED else None
        self.skipped.append(skipped_json(target.note_path, target.gate_id, reason, job_id))
        return None

    def fits(self, pair: DraftPair, cost: int, *, limit: int) -> bool:
        """Return whether the prompt for the pair alone is small enough; skip it if not."""
        if cost <= limit:
            return True
        code = ProblemCode.PROMPT_TOO_LARGE
        message = (
            f"the prompt for {pair.gate.gate_id} alone has about {cost} tokens; the limit is {limit}"
            " (--max-prompt-tokens, or max_prompt_tokens in kb/review.toml)"
        )
        self._problems.add(Problem(pair.note.path, code, message, skipped=True))
        self.skipped.append(skipped_json(pair.note.path, pair.gate.gate_id, code.value))
        return False

    def problems(self) -> list[Problem]:
        """Return the problems of the files of all targets, sorted by path and code."""
        gates = {gate_path for _note_path, gate_path in self._seen}
        of_gates = [item for item in self._corpus.gates.problems if item.path in gates]
        found = self._problems.union(of_gates)
        return sorted(found, key=lambda item: (item.path, item.code, item.message))

    def _read(self, target: Target) -> DraftPair | Problem:
        try:
            gate = self._corpus.gate(target.gate_path)
            note = self._note(target.note_path)
        except UnreadableFile as refused:
            return refused.problem
        self._problems.update(self._facts(note.path).problems)
        return DraftPair(note, gate)


def _named(group: Group[DraftPair]) -> Group[DraftPair]:
    """Name a group by the lenses of its gates."""
    lenses = dict.fromkeys(sorted(pair.gate.lens for pair in group.items))
    return replace(group, lens="+".join(lenses)[:MAX_LENS_LENGTH])


def _split(
    groups: Iterable[Group[DraftPair]],
    admission: TargetAdmission,
    factory: JobFactory,
    *,
    limit: int,
) -> Iterator[Group[DraftPair]]:
    """Yield the pairs of each job, with a prompt below the limit; skip what is larger alone."""
    for group in groups:
        if factory.estimate(group.items) <= limit:
            yield group
            continue
        fitting = [
            pair
            for pair in group.items
            if factory.model_partition == RULES_PARTITION
            or admission.fits(pair, factory.estimate([pair]), limit=limit)
        ]
        for part in split_by_cost(fitting, cost=factory.estimate, limit=limit):
            yield _named(replace(group, items=tuple(part)))


def _planned(group: Group[DraftPair], factory: JobFactory) -> PlannedJobJson:
    return PlannedJobJson(
        model_partition=factory.model_partition,
        grouping=group.grouping,
        lens=group.lens,
        estimated_prompt_tokens=factory.estimate(group.items),
        pair_count=len(group.items),
        pairs=[
            PlannedPairJson(
                ordinal=ordinal,
                note_path=pair.note.path,
                gate_path=pair.gate.path,
                gate_id=pair.gate.gate_id,
            )
            for ordinal, pair in enumerate(group.items, 1)
        ],
    )


def _create(
    groups: Iterable[Group[DraftPair]],
    request: CreateRequest,
    factory: JobFactory,
    admission: TargetAdmission,
) -> list[int]:
    job_ids: list[int] = []
    for some in batched(groups, JOBS_PER_TRANSACTION):
        try:
            created = factory.create(some, omit=request.omit)
        except (ArtifactNotWritten, ForeignJobFolder) as refused:
            raise type(refused)(
                f"{refused.message}; {len(job_ids)} jobs were made before that and stay queued",
                hint=refused.hint,
            ) from refused
        job_ids += created.job_ids
        admission.skipped += created.skipped
    return job_ids
