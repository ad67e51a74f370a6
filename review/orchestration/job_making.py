"""Makes queued jobs: texts kept, rows written and folders filled before anybody can see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.artifacts import ArtifactStore
from review.conf import Config
from review.corpus import Corpus, UnreadableFile
from review.domain.identity import lens_of
from review.errors import Conflict
from review.models import (
    FileSnapshot,
    FileSnapshotKey,
    JobEvent,
    ModelPartition,
    ReviewJob,
    ReviewPair,
    ReviewStore,
)
from review.orchestration.job_drafts import (
    Dropped,
    JobDraft,
    PairRequest,
    ReadyJob,
    job_row,
    manifest_of,
    pair_rows,
)
from review.orchestration.job_prompts import DraftPair, draw_token
from review.orchestration.note_shelf import NoteShelf, gate_snapshot
from review.vocabulary import Grouping, JobStatus, PairStatus


class NothingToReplace(Conflict):
    """No pair of the job can be reviewed any more."""


@dataclass(frozen=True)
class Made:
    """The ids of the jobs that were made, and the pairs that were dropped on the way."""

    job_ids: tuple[int, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True)
class _TextKeys:
    """The keys of kept texts, by path and digest."""

    keys: dict[tuple[str, str], FileSnapshotKey]

    def of(self, pair: DraftPair) -> tuple[FileSnapshotKey, FileSnapshotKey]:
        note, gate = pair.note, pair.gate
        return self.keys[note.path, note.sha256], self.keys[gate.path, gate.sha256]
