"""Turns a selection into queued jobs: checked whole, packed, and made a few dozen at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.artifacts import ArtifactNotWritten, ForeignJobFolder
from review.conf import RULES_PARTITION, Config
from review.contracts.jobs import CreatedJson, JobJson, PlannedJobJson, PlannedPairJson, TotalsJson
from review.corpus import Corpus
from review.domain.grouping import Group, group_targets, split_by_cost
from review.domain.problems import Problem
from review.errors import UsageRefused
from review.orchestration.job_making import Dropped, JobDraft, JobMaker
from review.orchestration.job_prompts import estimate
from review.orchestration.note_shelf import NoteShelf, PairRequest
from review.orchestration.selection_input import read_selection
from review.orchestration.survey import Survey
from review.queries.freshness import in_flight
from review.queries.job_board import show_jobs
from review.vocabulary import Grouping, ProblemCode

DEFAULT_BATCH_SIZE = 8
JOBS_PER_TRANSACTION = 50
# Of notes: what is written in one transaction keeps others from writing for less than a second.
_BYTES_PER_TRANSACTION = 2_000_000


@dataclass(frozen=True)
class CreateRequest:
    """What to make jobs of, and how.

    :param selection: selector JSON; `source` is what messages call it.
    :param batch_size: notes in a job of grouping `gate`; None is the default.
    :param max_prompt_tokens: larger prompts are split by pairs, and a pair that is larger alone is
        skipped; None is the configured limit. Embedded rules read no prompt: only splitting is theirs.
    :param force: request pairs that an open job of the partition has already.
    :param skip_fresh: leave out pairs that were accepted since they were selected.
    """

    selection: bytes
    source: str
    grouping: Grouping
    actor: str
    batch_size: int | None = None
    max_prompt_tokens: int | None = None
    force: bool = False
    skip_fresh: bool = False
    dry_run: bool = False


def create_jobs(request: CreateRequest, *, config: Config, now: datetime) -> CreatedJson:
    """Make queued jobs for what is selected; what cannot be requested is skipped with a reason.

    Jobs are made in transactions of a few dozen, so a refusal in the middle keeps those before it;
    running the same again then skips them as queued.

    :raises UsageRefused: a batch size with grouping `note`.
    :raises NotThisDocument, PartitionNotConcrete, BadTargets: the input as a whole is rejected.
    :raises ForeignJobFolder: another store has a folder of an id that was to be handed out.
    :raises ArtifactNotWritten: the system refused to write a file.
    """
    if request.batch_size is not None and request.grouping is not Grouping.GATE:
        raise UsageRefused("--batch-size goes with --grouping gate: a note's job has all its gates")
    corpus = Corpus(config)
    selection = read_selection(
        request.selection, source=request.source, config=config, catalog=corpus.gates
    )
    shelf = NoteShelf(corpus)
    partition = selection.model_partition
    named = {target.note_path for target in selection.targets}
    taken = {} if request.force else in_flight(partition, note_paths=named)
    survey = Survey(corpus, shelf, taken=taken)
    pairs = [pair for target in selection.targets if (pair := survey.admit(target)) is not None]
    packer = _Packer(request, partition, shelf, config)
    jobs: Sequence[JobJson | PlannedJobJson]
    if request.dry_run:
        jobs = [packer.planned(draft) for draft in packer.drafts(pairs)]
    else:
        maker = JobMaker(config=config, shelf=shelf, actor=request.actor, now=now)
        job_ids = _make(packer.drafts(pairs), maker, survey, request, shelf=shelf)
        jobs = show_jobs(job_ids, gates_folder=config.gates_folder)
        corpus.save()
    for item in packer.dropped:
        survey.drop(item)
    totals = TotalsJson(
        jobs=len(jobs),
        pairs=sum(job.pair_count for job in jobs),
        estimated_prompt_tokens=sum(job.estimated_prompt_tokens for job in jobs),
    )
    return CreatedJson(
        dry_run=request.dry_run,
        totals=totals,
        jobs=list(jobs),
        skipped=survey.skipped(),
        problems=survey.problems(),
    )


def _make(
    drafts: Iterator[JobDraft],
    maker: JobMaker,
    survey: Survey,
    request: CreateRequest,
    *,
    shelf: NoteShelf,
) -> list[int]:
    job_ids: list[int] = []
    for some in _turns(drafts, shelf):
        try:
            made = maker.make(some, allow_queued=request.force, allow_fresh=not request.skip_fresh)
        except (ArtifactNotWritten, ForeignJobFolder) as refused:
            raise type(refused)(
                f"{refused.message}; {len(job_ids)} jobs were made before that and stay queued",
                hint=refused.hint,
            ) from refused
        job_ids += made.job_ids
        for item in made.dropped:
            survey.drop(item)
    return job_ids


def _turns(drafts: Iterator[JobDraft], shelf: NoteShelf) -> Iterator[list[JobDraft]]:
    """The drafts in lists for one transaction each: not too many, and not too much text."""
    some: list[JobDraft] = []
    size = 0
    for draft in drafts:
        some.append(draft)
        size += shelf.byte_size(draft.pairs)
        if len(some) == JOBS_PER_TRANSACTION or size >= _BYTES_PER_TRANSACTION:
            yield some
            some, size = [], 0
    if some:
        yield some


class _Packer:
    """Packs pairs into drafts, each with a prompt below the limit; drops what is larger alone."""

    def __init__(
        self, request: CreateRequest, partition: str, shelf: NoteShelf, config: Config
    ) -> None:
        self._partition = partition
        self._grouping = request.grouping
        self._batch_size = request.batch_size or DEFAULT_BATCH_SIZE
        self._limit = request.max_prompt_tokens or config.max_prompt_tokens
        self._shelf = shelf
        self.dropped: list[Dropped] = []

    def drafts(self, pairs: Sequence[PairRequest]) -> Iterator[JobDraft]:
        """The drafts, one at a time, so that a note is read shortly before its job is made."""
        groups = group_targets(
            pairs,
            grouping=self._grouping,
            batch_size=self._batch_size,
            note_of=lambda pair: pair.note_path,
            gate_of=lambda pair: pair.gate.path,
            lens_of=lambda pair: pair.gate.lens,
        )
        for group in groups:
            for part in self._split(group):
                yield JobDraft(self._partition, group.grouping, group.lens, tuple(part))

    def planned(self, draft: JobDraft) -> PlannedJobJson:
        """What `--dry-run` says of a draft."""
        return PlannedJobJson(
            model_partition=draft.model_partition,
            grouping=draft.grouping,
            lens=draft.lens,
            estimated_prompt_tokens=self._cost(draft.pairs),
            pair_count=len(draft.pairs),
            pairs=[
                PlannedPairJson(
                    ordinal=ordinal,
                    note_path=pair.note_path,
                    gate_path=pair.gate.path,
                    gate_id=pair.gate.gate_id,
                )
                for ordinal, pair in enumerate(draft.pairs, 1)
            ],
        )

    def _split(self, group: Group[PairRequest]) -> list[Sequence[PairRequest]]:
        if self._cost(group.items) <= self._limit:
            return [group.items]
        kept = [pair for pair in group.items if self._fits(pair)]
        return list(split_by_cost(kept, cost=self._cost, limit=self._limit))

    def _fits(self, pair: PairRequest) -> bool:
        """Whether the pair can be asked for by itself; one that cannot is dropped."""
        if self._partition == RULES_PARTITION:
            return True
        cost = self._cost([pair])
        if cost > self._limit:
            self.dropped.append(_too_large(pair, cost=cost, limit=self._limit))
        return cost <= self._limit

    def _cost(self, pairs: Sequence[PairRequest]) -> int:
        return estimate(self._shelf.readable(pairs), shelf=self._shelf)


def _too_large(pair: PairRequest, *, cost: int, limit: int) -> Dropped:
    code = ProblemCode.PROMPT_TOO_LARGE
    message = (
        f"the prompt for {pair.gate.gate_id} alone has about {cost} tokens; the limit is {limit}"
        " (--max-prompt-tokens, or max_prompt_tokens in kb/review.toml)"
    )
    return Dropped(pair, code.value, problem=Problem(pair.note_path, code, message, skipped=True))
