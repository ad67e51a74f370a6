"""Create queued jobs: texts kept, rows written and folders filled before anyone can claim them."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial

from django.db import transaction

from review.domain.grouping import Group
from review.domain.paths import sha256_hex
from review.errors import ReviewError
from review.job_files import ArtifactStore, job_paths
from review.job_files.naming import MANIFEST_NAME, PROMPT_NAME
from review.jobs.job_documents import SkippedJson
from review.jobs.mirror import JobFiles
from review.knowledge_base import Corpus
from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    FileSnapshotKey,
    JobEvent,
    KbPath,
    ModelPartition,
    ReviewJob,
    ReviewPair,
    ReviewStore,
    SnapshotText,
)
from review.protocol.prompt import (
    VERSION,
    PromptGate,
    PromptNote,
    PromptRequest,
    estimate_tokens,
    render_prompt,
)
from review.protocol.sentinels import ExpectedPair, token_is_free
from review.selection.note_cache import CachedNote, DraftPair, gate_snapshot
from review.settings.config import Config
from review.vocabulary import JobPurpose, JobStatus, PairStatus

ALREADY_QUEUED = "already-queued"
FRESH = "fresh"
# As long as real ones, to measure a prompt before its job has an id.
_MEASURING_TOKEN = "00000000"  # noqa: S105
_MEASURING_PATH = "kb/reports/bundle-reviews/review-job-1000000/bundle-output.md"


@dataclass(frozen=True)
class CreatedJobs:
    job_ids: list[int]
    skipped: list[SkippedJson]


class JobFactory:
    """Creates the jobs of one command, all of one model partition."""

    def __init__(
        self, model_partition: str, *, corpus: Corpus, config: Config, actor: str, now: datetime
    ) -> None:
        self.model_partition = model_partition
        self._prompt_note = cache(partial(_prompt_note, corpus))
        self._config = config
        self._actor = actor
        self._now = now

    def estimate(self, pairs: Sequence[DraftPair]) -> int:
        """Estimate the tokens of the prompt of `pairs`."""
        return estimate_tokens(self._prompt(pairs, _MEASURING_TOKEN, _MEASURING_PATH))

    def create(
        self,
        groups: Sequence[Group[DraftPair]],
        *,
        omit: Collection[str] = (),
        replaces: int | None = None,
        purpose: JobPurpose = JobPurpose.REVIEW,
    ) -> CreatedJobs:
        """Create a job for each group, in one transaction; a group without a pair becomes none.

        Folders are filled before the commit, so a job that can be claimed has its prompt. What a
        rollback leaves of them is moved aside when the id is allocated again.

        :param omit: drop pairs that are `ALREADY_QUEUED` in an open job, or `FRESH`.
        :param replaces: the failed job that the one group takes over.
        :raises ForeignJobFolder: another store has a folder of one of the ids.
        :raises ArtifactNotWritten: the system refused to write a file.
        """
        with transaction.atomic():
            # First: creators take turns here, so what is queued cannot change below.
            first_id = ReviewStore.objects.allocate_job_ids(len(groups))
            keys = FileSnapshot.objects.take(_texts(groups), now=self._now)
            groups, skipped = self._omit(groups, omit, keys)
            partition = ModelPartition.objects.intern(self.model_partition)
            jobs = []
            for job_id, group in enumerate(groups, first_id):
                paths = job_paths(self._config, job_id)
                token = _draw_token(group.items)
                prompt = self._prompt(group.items, token, paths.bundle_output)
                job = ReviewJob(
                    pk=job_id,
                    model_partition=partition,
                    status=JobStatus.QUEUED,
                    purpose=purpose,
                    grouping=group.grouping,
                    lens=group.lens,
                    sentinel_token=token,
                    prompt_path=paths.prompt,
                    bundle_output_path=paths.bundle_output,
                    prompt_sha256=sha256_hex(prompt.encode()),
                    prompt_version=VERSION,
                    estimated_prompt_tokens=estimate_tokens(prompt),
                    pair_count=len(group.items),
                    created_at=self._now,
                    replaces_id=replaces,
                )
                jobs.append((job, _pair_rows(job, group.items, keys), prompt))
            self._store(jobs)
        return CreatedJobs([job.pk for job, _pairs, _prompt in jobs], skipped)

    def _omit(
        self,
        groups: Sequence[Group[DraftPair]],
        omit: Collection[str],
        keys: dict[tuple[str, str], FileSnapshotKey],
    ) -> tuple[list[Group[DraftPair]], list[SkippedJson]]:
        pairs = [pair for group in groups for pair in group.items]
        note_ids = {keys[pair.note.path, pair.note.sha256].path_id for pair in pairs}
        queued = _open_jobs(note_ids, self.model_partition) if ALREADY_QUEUED in omit else {}
        # After the look at open jobs: one that closed in between is accepted by now.
        accepted = CurrentAcceptance.objects.filter(
            model_partition__name=self.model_partition, note_id__in=note_ids
        )
        snapshots = ("note_snapshot_id", "gate_snapshot_id")
        fresh = set(accepted.values_list(*snapshots)) if FRESH in omit else set()
        kept, skipped = [], []
        for group in groups:
            wanted = []
            for pair in group.items:
                note = keys[pair.note.path, pair.note.sha256]
                gate = keys[pair.gate.path, pair.gate.sha256]
                job_id = queued.get((note.path_id, gate.path_id))
                if job_id is None and (note.snapshot_id, gate.snapshot_id) not in fresh:
                    wanted.append(pair)
                    continue
                reason = FRESH if job_id is None else ALREADY_QUEUED
                skipped.append(skipped_json(pair.note.path, pair.gate.gate_id, reason, job_id))
            if wanted:
                kept.append(replace(group, items=tuple(wanted)))
        return kept, skipped

    def _prompt(self, pairs: Sequence[DraftPair], token: str, bundle_output_path: str) -> str:
        notes = {pair.note.path: pair.note for pair in pairs}
        gates = {pair.gate.path: pair.gate for pair in pairs}
        return render_prompt(
            PromptRequest(
                token=token,
                bundle_output_path=bundle_output_path,
                pairs=[
                    ExpectedPair(ordinal, pair.note.path, pair.gate.gate_id)
                    for ordinal, pair in enumerate(pairs, 1)
                ],
                notes=[self._prompt_note(note) for note in notes.values()],
                gates=[
                    PromptGate(gate.gate_id, gate.path, gate.text, gate.reads_links)
                    for gate in gates.values()
                ],
            )
        )

    def _store(self, jobs: Sequence[tuple[ReviewJob, list[ReviewPair], str]]) -> None:
        ReviewJob.objects.bulk_create([job for job, _pairs, _prompt in jobs])
        ReviewPair.objects.bulk_create([pair for _job, pairs, _prompt in jobs for pair in pairs])
        JobEvent.objects.record(
            JobEvent(
                job_id=job.pk,
                from_status="",
                to_status=JobStatus.QUEUED,
                actor=self._actor,
                note="created",
                at=self._now,
            )
            for job, _pairs, _prompt in jobs
        )
        store_id = ReviewStore.objects.identity()
        folders, written = ArtifactStore(self._config), []
        try:
            for job, pairs, prompt in jobs:
                manifest = JobFiles(job, pairs, {}, self._config, store_id).manifest()
                # The manifest first, so that a folder says whose it is.
                files = {MANIFEST_NAME: manifest.encode(), PROMPT_NAME: prompt.encode()}
                folders.make_folder(job.pk, store_id=store_id, files=files)
                written.append(job.pk)
        except ReviewError:
            # Not needed to be safe, but a refusal that repeats should not pile up folders.
            folders.discard_folders(written)
            raise


def skipped_json(
    note_path: str, gate_id: str, reason: str, job_id: int | None = None
) -> SkippedJson:
    return SkippedJson(note_path=note_path, gate_id=gate_id, reason=reason, review_job_id=job_id)


def _open_jobs(note_ids: Collection[int], model_partition: str) -> dict[tuple[int, int], int]:
    """Return note and gate of the pairs of these notes in open jobs, with the oldest such job.

    By the notes first: a join from the open jobs takes longer the more are queued.
    """
    pending = ReviewPair.objects.filter(note_id__in=note_ids, status=PairStatus.PENDING)
    rows = list(pending.order_by("-job_id").values_list("note_id", "gate_id", "job_id"))
    jobs = ReviewJob.objects.open().of_partition(model_partition)
    open_ids = set(jobs.filter(pk__in={row[2] for row in rows}).values_list("pk", flat=True))
    return {(note, gate): job_id for note, gate, job_id in rows if job_id in open_ids}


def _prompt_note(corpus: Corpus, note: CachedNote) -> PromptNote:
    return corpus.linker.prompt_note(note.path, note.text)


def _texts(groups: Sequence[Group[DraftPair]]) -> list[SnapshotText]:
    pairs = [pair for group in groups for pair in group.items]
    return [text for pair in pairs for text in (pair.note.snapshot, gate_snapshot(pair.gate))]


def _pair_rows(
    job: ReviewJob, pairs: Sequence[DraftPair], keys: dict[tuple[str, str], FileSnapshotKey]
) -> list[ReviewPair]:
    rows = []
    for ordinal, pair in enumerate(pairs, 1):
        note, gate = (keys[side.path, side.sha256] for side in (pair.note, pair.gate))
        row = ReviewPair(
            job=job,
            ordinal=ordinal,
            note=KbPath(pk=note.path_id, path=pair.note.path),
            gate=KbPath(pk=gate.path_id, path=pair.gate.path),
            note_snapshot=FileSnapshot(pk=note.snapshot_id, content_sha256=pair.note.sha256),
            gate_snapshot=FileSnapshot(pk=gate.snapshot_id, content_sha256=pair.gate.sha256),
            status=PairStatus.PENDING,
        )
        rows.append(row)
    return rows


def _draw_token(pairs: Sequence[DraftPair]) -> str:
    """Return a random 8-hex token that occurs in no text or name of the pairs."""
    sides = {side.path: side for pair in pairs for side in (pair.note, pair.gate)}
    texts = [text for side in sides.values() for text in (side.path, side.text)]
    token = secrets.token_hex(4)
    while not token_is_free(token, texts):
        token = secrets.token_hex(4)
    return token
