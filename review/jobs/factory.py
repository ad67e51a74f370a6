"""Create queued jobs: texts kept, rows written and folders filled before anyone can claim them."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache

from django.db import transaction

from review.domain.grouping import Group
from review.domain.paths import sha256_hex
from review.errors import ReviewError
from review.job_files import ArtifactStore, job_folder
from review.job_files.naming import MANIFEST_NAME, OUTPUT_NAME, PROMPT_NAME
from review.jobs.job_documents import SkippedJson
from review.jobs.mirror import JobFiles
from review.jobs.prompts import render_pairs
from review.knowledge_base import Corpus, DraftPair
from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    JobEvent,
    JobMove,
    ModelPartition,
    ReviewJob,
    ReviewPair,
    ReviewStore,
)
from review.protocol.prompt import VERSION, estimate_tokens
from review.protocol.sentinels import token_is_free
from review.settings.config import Config
from review.vocabulary import JobPurpose, JobStatus, PairStatus

_Keys = dict[tuple[str, str], FileSnapshot]

ALREADY_QUEUED = "already-queued"
FRESH = "fresh"
# As long as real ones, to measure a prompt before its job has an id.
_MEASURING_TOKEN = "00000000"  # noqa: S105
_MEASURING_PATH = "kb/reports/bundle-reviews/review-job-1000000/bundle-output.md"


class JobFactory:
    """Creates the jobs of one command, all of one model partition."""

    def __init__(
        self, model_partition: str, *, corpus: Corpus, config: Config, actor: str, now: datetime
    ) -> None:
        self.model_partition = model_partition
        self._prompt_note = cache(corpus.linker.prompt_note)
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
    ) -> tuple[list[int], list[SkippedJson]]:
        """Create a job for each group, in one transaction; a group without a pair becomes none.

        Folders are filled before the commit, so a job that can be claimed has its prompt. What a
        rollback leaves of them is moved aside when the id is allocated again.

        :param omit: drop pairs that are `ALREADY_QUEUED` in an open job, or `FRESH`.
        :param replaces: the failed job that the one group takes over.
        :raises ForeignJobFolder: another store has a folder of one of the ids.
        :raises ArtifactNotWritten: the system refused to write a file.
        """
        pairs = [pair for group in groups for pair in group.items]
        sides = [side for pair in pairs for side in (pair.note, pair.gate)]
        texts = {(side.path, side.sha256): side.text for side in sides}
        with transaction.atomic():
            # First: creators take turns here, so what is queued cannot change below.
            first_id = ReviewStore.objects.allocate_job_ids(len(groups))
            keys = FileSnapshot.objects.take(texts, now=self._now)
            skipped = self._omitted(pairs, omit, keys)
            wanted = [
                replace(group, items=tuple(it for it in group.items if _key(it) not in skipped))
                for group in groups
            ]
            partition, _ = ModelPartition.objects.get_or_create(name=self.model_partition)
            jobs = []
            for job_id, group in enumerate((group for group in wanted if group.items), first_id):
                folder = job_folder(self._config, job_id)
                output_path = f"{folder}/{OUTPUT_NAME}"
                token = _draw_token(group.items)
                prompt = self._prompt(group.items, token, output_path)
                job = ReviewJob(
                    pk=job_id,
                    model_partition=partition,
                    status=JobStatus.QUEUED,
                    purpose=purpose,
                    grouping=group.grouping,
                    lens=group.lens,
                    sentinel_token=token,
                    prompt_path=f"{folder}/{PROMPT_NAME}",
                    bundle_output_path=output_path,
                    prompt_sha256=sha256_hex(prompt.encode()),
                    prompt_version=VERSION,
                    estimated_prompt_tokens=estimate_tokens(prompt),
                    pair_count=len(group.items),
                    created_at=self._now,
                    replaces_id=replaces,
                )
                jobs.append((job, _pair_rows(job, group.items, keys), prompt))
            self._store(jobs)
        return [job.pk for job, _pairs, _prompt in jobs], list(skipped.values())

    def _omitted(
        self, pairs: Sequence[DraftPair], omit: Collection[str], keys: _Keys
    ) -> dict[tuple[str, str], SkippedJson]:
        """Return the pairs that are left out, each with the reason."""
        note_ids = {keys[pair.note_path, pair.note.sha256].path_id for pair in pairs}
        queued = _open_jobs(note_ids, self.model_partition) if ALREADY_QUEUED in omit else {}
        # After the look at open jobs: one that closed in between is accepted by now.
        accepted = CurrentAcceptance.objects.filter(
            model_partition__name=self.model_partition, note_id__in=note_ids
        )
        snapshots = ("note_snapshot_id", "gate_snapshot_id")
        fresh = set(accepted.values_list(*snapshots)) if FRESH in omit else set()
        omitted = {}
        for pair in pairs:
            note, gate = (
                keys[pair.note_path, pair.note.sha256],
                keys[pair.gate_path, pair.gate.sha256],
            )
            job_id = queued.get((note.path_id, gate.path_id))
            if job_id is not None or (note.pk, gate.pk) in fresh:
                reason = FRESH if job_id is None else ALREADY_QUEUED
                omitted[_key(pair)] = SkippedJson(pair.note_path, pair.gate_id, reason, job_id)
        return omitted

    def _prompt(self, pairs: Sequence[DraftPair], token: str, bundle_output_path: str) -> str:
        texts = ((pair.note_path, pair.note.text, pair.gate) for pair in pairs)
        return render_pairs(texts, token, bundle_output_path, prompt_note=self._prompt_note)

    def _store(self, jobs: Sequence[tuple[ReviewJob, list[ReviewPair], str]]) -> None:
        ReviewJob.objects.bulk_create([job for job, _pairs, _prompt in jobs])
        ReviewPair.objects.bulk_create([pair for _job, pairs, _prompt in jobs for pair in pairs])
        moves = (JobMove(job.pk, "", JobStatus.QUEUED, "created") for job, _pairs, _prompt in jobs)
        JobEvent.objects.record(moves, actor=self._actor, now=self._now)
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


def _key(pair: DraftPair) -> tuple[str, str]:
    return pair.note_path, pair.gate_path


def _open_jobs(note_ids: Collection[int], model_partition: str) -> dict[tuple[int, int], int]:
    """Return note and gate of the pairs of these notes in open jobs, with the oldest such job.

    By the notes first: a join from the open jobs takes longer the more are queued.
    """
    pending = ReviewPair.objects.filter(note_id__in=note_ids, status=PairStatus.PENDING)
    rows = list(pending.order_by("-job_id").values_list("note_id", "gate_id", "job_id"))
    jobs = ReviewJob.objects.open().of_partition(model_partition)
    open_ids = set(jobs.filter(pk__in={row[2] for row in rows}).values_list("pk", flat=True))
    return {(note, gate): job_id for note, gate, job_id in rows if job_id in open_ids}


def _pair_rows(job: ReviewJob, pairs: Sequence[DraftPair], keys: _Keys) -> list[ReviewPair]:
    rows = []
    for ordinal, pair in enumerate(pairs, 1):
        note, gate = keys[pair.note_path, pair.note.sha256], keys[pair.gate_path, pair.gate.sha256]
        row = ReviewPair(
            job=job,
            ordinal=ordinal,
            note=note.path,
            gate=gate.path,
            note_snapshot=note,
            gate_snapshot=gate,
            status=PairStatus.PENDING,
        )
        rows.append(row)
    return rows


def _draw_token(pairs: Sequence[DraftPair]) -> str:
    """Return a random 8-hex token that occurs in no text or name of the pairs."""
    texts = {
        part for pair in pairs for side in (pair.note, pair.gate) for part in (side.path, side.text)
    }
    token = secrets.token_hex(4)
    while not token_is_free(token, texts):
        token = secrets.token_hex(4)
    return token
