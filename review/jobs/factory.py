"""Makes queued jobs: texts kept, rows written and folders filled before anybody can see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.domain.problems import Problem
from review.job_files import ArtifactStore, job_paths
from review.jobs.prompts import draw_token, prompt_of
from review.jobs.rows import JobHead, JobRows, TextKeys, job_rows
from review.knowledge_base import Gate, UnreadableFile
from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    JobEvent,
    ModelPartition,
    ReviewJob,
    ReviewPair,
    ReviewStore,
)
from review.selection.note_cache import (
    DraftPair,
    NoteShelf,
    PairRequest,
    ShelvedNote,
    gate_snapshot,
)
from review.settings.config import Config
from review.vocabulary import Grouping, PairStatus

ALREADY_QUEUED = "already-queued"
FRESH = "fresh"


@dataclass(frozen=True)
class JobDraft:
    """A job to be made, with its pairs in the order of their numbers.

    :param replaces: the failed job whose place it takes.
    """

    model_partition: str
    grouping: Grouping
    lens: str
    pairs: tuple[PairRequest, ...]
    replaces: int | None = None


@dataclass(frozen=True)
class Dropped:
    """A pair that went into no job after all, and why."""

    pair: PairRequest
    reason: str
    review_job_id: int | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class Made:
    """The ids of the jobs that were made, and the pairs that were dropped on the way."""

    job_ids: tuple[int, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True)
class _Texted:
    draft: JobDraft
    pairs: tuple[DraftPair, ...]


class JobMaker:
    """Makes jobs from drafts; one maker for all the drafts of a command."""

    def __init__(self, *, config: Config, shelf: NoteShelf, actor: str, now: datetime) -> None:
        self._config = config
        self._shelf = shelf
        self._actor = actor
        self._now = now
        self._files = ArtifactStore(config)

    def make(
        self, drafts: Sequence[JobDraft], *, allow_queued: bool, allow_fresh: bool = True
    ) -> Made:
        """Make the jobs in one transaction; a draft that is left without a pair becomes none.

        Folders are filled before the commit, so a job that can be claimed has its prompt. What a
        rollback leaves of them is moved aside when the id is handed out again.

        :param allow_queued: whether a pair may stand in a second open job of its partition.
        :param allow_fresh: whether a pair may be asked for whose texts are accepted already.
        :raises ForeignJobFolder: another store has a folder of one of the ids.
        :raises ArtifactNotWritten: the system refused to write a file.
        """
        texted, dropped = self._read(drafts)
        with transaction.atomic():
            # First: creators take turns here, so what is queued cannot change below.
            first_id = ReviewStore.objects.allocate_job_ids(len(texted))
            keys = _keep_texts(texted, now=self._now)
            if not allow_queued:
                texted, queued = _without_queued(texted, keys)
                dropped += queued
            if not allow_fresh:
                # After the look at open jobs: one that closed in between is accepted by now.
                texted, fresh = _without_fresh(texted, keys)
                dropped += fresh
            names = {item.draft.model_partition for item in texted}
            partitions = {name: ModelPartition.objects.intern(name) for name in names}
            jobs = [
                self._rows(job_id, item, keys, partitions[item.draft.model_partition])
                for job_id, item in enumerate(texted, first_id)
            ]
            self._store(jobs)
        return Made(tuple(item.job.pk for item in jobs), tuple(dropped))

    def _read(self, drafts: Iterable[JobDraft]) -> tuple[list[_Texted], list[Dropped]]:
        texted: list[_Texted] = []
        dropped: list[Dropped] = []
        for draft in drafts:
            pairs = []
            for pair in draft.pairs:
                try:
                    note = self._shelf.note(pair.note_path)
                    pairs.append(DraftPair(note, pair.gate))
                    # Its links are resolved here: nobody waits for that in the transaction.
                    self._shelf.for_prompt(note)
                except UnreadableFile as refused:
                    problem = refused.problem
                    dropped.append(Dropped(pair, problem.code.value, problem=problem))
            if pairs:
                texted.append(_Texted(draft, tuple(pairs)))
        return texted, dropped

    def _rows(
        self, job_id: int, item: _Texted, keys: TextKeys, partition: ModelPartition
    ) -> JobRows:
        draft = item.draft
        paths = job_paths(self._config, job_id)
        token = draw_token(item.pairs)
        prompt = prompt_of(
            item.pairs, token=token, bundle_output_path=paths.bundle_output, shelf=self._shelf
        )
        head = JobHead(
            job_id=job_id,
            model_partition=partition,
            grouping=draft.grouping,
            lens=draft.lens,
            replaces_id=draft.replaces,
            paths=paths,
            created_at=self._now,
        )
        return job_rows(head, item.pairs, keys=keys, token=token, prompt=prompt)

    def _store(self, jobs: Sequence[JobRows]) -> None:
        ReviewJob.objects.bulk_create([item.job for item in jobs])
        ReviewPair.objects.bulk_create([pair for item in jobs for pair in item.pairs])
        JobEvent.objects.record(item.creation_event(actor=self._actor) for item in jobs)
        store_id = ReviewStore.objects.identity()
        written: list[int] = []
        with ExitStack() as undo:
            # Not needed to be safe, but a refusal that repeats should not pile up folders.
            undo.callback(self._files.discard_folders, written)
            for item in jobs:
                files = item.files(store_id=store_id)
                self._files.make_folder(item.job.pk, store_id=store_id, files=files)
                written.append(item.job.pk)
            undo.pop_all()


def _keep_texts(texted: Iterable[_Texted], *, now: datetime) -> TextKeys:
    pairs = [pair for item in texted for pair in item.pairs]
    notes = {(pair.note.path, pair.note.sha256): pair.note for pair in pairs}
    gates = {(pair.gate.path, pair.gate.sha256): pair.gate for pair in pairs}
    texts = [note.snapshot for note in notes.values()]
    texts += [gate_snapshot(gate) for gate in gates.values()]
    return FileSnapshot.objects.take(texts, now=now)


def _without_queued(
    texted: Sequence[_Texted], keys: TextKeys
) -> tuple[list[_Texted], list[Dropped]]:
    """Leave out the pairs that an open job of their partition has."""
    waiting = _open_jobs([pair for item in texted for pair in item.pairs], keys)

    def drop(pair: DraftPair, partition: str) -> Dropped | None:
        job_id = waiting.get((*_key(pair, keys), partition))
        return None if job_id is None else Dropped(_request(pair), ALREADY_QUEUED, job_id)

    return _without(texted, drop)


def _without_fresh(
    texted: Sequence[_Texted], keys: TextKeys
) -> tuple[list[_Texted], list[Dropped]]:
    """Leave out the pairs of which exactly these texts are accepted in their partition."""
    accepted = _accepted(texted, keys)

    def drop(pair: DraftPair, partition: str) -> Dropped | None:
        texts = (_snapshot(pair.note, keys), _snapshot(pair.gate, keys))
        is_fresh = (*texts, partition) in accepted
        return Dropped(_request(pair), FRESH) if is_fresh else None

    return _without(texted, drop)


def _without(
    texted: Sequence[_Texted], drop: Callable[[DraftPair, str], Dropped | None]
) -> tuple[list[_Texted], list[Dropped]]:
    kept: list[_Texted] = []
    dropped: list[Dropped] = []
    for item in texted:
        answers = [drop(pair, item.draft.model_partition) for pair in item.pairs]
        dropped += [answer for answer in answers if answer is not None]
        pairs = [pair for pair, answer in zip(item.pairs, answers, strict=True) if answer is None]
        if pairs:
            kept.append(_Texted(item.draft, tuple(pairs)))
    return kept, dropped


def _accepted(texted: Sequence[_Texted], keys: TextKeys) -> set[tuple[int, int, str]]:
    """Note snapshot, gate snapshot and partition of the current acceptances of these texts."""
    pairs = [pair for item in texted for pair in item.pairs]
    rows = CurrentAcceptance.objects.filter(
        model_partition__name__in={item.draft.model_partition for item in texted},
        note_id__in={_key(pair, keys)[0] for pair in pairs},
        gate_id__in={_key(pair, keys)[1] for pair in pairs},
    )
    return set(rows.values_list("note_snapshot_id", "gate_snapshot_id", "model_partition__name"))


def _request(pair: DraftPair) -> PairRequest:
    return PairRequest(pair.note.path, pair.gate)


def _snapshot(item: ShelvedNote | Gate, keys: TextKeys) -> int:
    return keys[item.path, item.sha256].snapshot_id


def _open_jobs(pairs: Iterable[DraftPair], keys: TextKeys) -> dict[tuple[int, int, str], int]:
    """Note, gate and partition of the pairs that stand in an open job, to the oldest such job.

    By the pairs' own index and not by a join from the open jobs: what it costs does not grow with
    the queue.
    """
    wanted = {_key(pair, keys) for pair in pairs}
    rows = ReviewPair.objects.filter(
        status=PairStatus.PENDING,
        note_id__in={note for note, _gate in wanted},
        gate_id__in={gate for _note, gate in wanted},
    ).values_list("note_id", "gate_id", "job_id")
    found = sorted((row for row in rows if row[:2] in wanted), key=lambda row: -row[2])
    jobs = ReviewJob.objects.open().filter(pk__in={row[2] for row in found})
    names = dict(jobs.values_list("pk", "model_partition__name"))
    return {(note, gate, names[job_id]): job_id for note, gate, job_id in found if job_id in names}


def _key(pair: DraftPair, keys: TextKeys) -> tuple[int, int]:
    return (
        keys[pair.note.path, pair.note.sha256].path_id,
        keys[pair.gate.path, pair.gate.sha256].path_id,
    )
