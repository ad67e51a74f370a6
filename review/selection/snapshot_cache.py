"""Scan of notes and gates for pages, cached for a minute above 2,000 notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from threading import Lock

from review.knowledge_base import Gate, NoteList
from review.knowledge_base.gate_catalog import GateCatalog
from review.knowledge_base.opening import open_corpus
from review.selection.path_filters import digests_of
from review.settings.config import Config

# So few notes are scanned in a time that nobody notices; 25,000 take half a second.
SMALL_BASE = 2_000
MAX_AGE = timedelta(seconds=60)
_ROOTS_KEPT = 4


@dataclass(frozen=True, eq=False)
class Files:
    """The notes and gates of one look; two looks that found the same give the same object."""

    notes: NoteList
    gates: GateCatalog

    @cached_property
    def digests(self) -> Mapping[str, str]:
        return {note.path: note.sha256 for note in self.notes.notes}

    @cached_property
    def gate_of(self) -> Mapping[str, Gate]:
        return {gate.path: gate for gate in self.gates.gates}

    def found_again(self, earlier: Files) -> bool:
        return self.digests == earlier.digests and (self.notes.problems, self.gates) == (
            earlier.notes.problems,
            earlier.gates,
        )


@dataclass(frozen=True)
class FilesNow:
    files: Files
    looked_at: datetime


@dataclass
class _Kept:
    now: FilesNow | None = None
    lock: Lock = field(default_factory=Lock)


_kept: dict[str, _Kept] = {}


def files_now(config: Config, *, now: datetime, max_age: timedelta = MAX_AGE) -> FilesNow:
    """The files as they are; of a large base as they were at most `max_age` ago.

    Who comes while somebody else looks at a large base takes what there was before.
    """
    kept = _kept_for(config)
    known = kept.now
    if known is not None and _is_large(known):
        if now - known.looked_at < max_age or not kept.lock.acquire(blocking=False):
            return known
    else:
        kept.lock.acquire()
    try:
        kept.now = _look(config, kept.now, now=now)
        return kept.now
    finally:
        kept.lock.release()


def digests_now(config: Config, files: Files, paths: Iterable[str]) -> dict[str, str]:
    """Digests of notes at `paths` that lie outside the note roots or cannot be read (`""`)."""
    unlisted = sorted({path for path in paths if path not in files.digests})
    if not unlisted:
        return {}
    with open_corpus(config) as corpus:
        return digests_of(corpus, NoteList((), ()), unlisted)


def _kept_for(config: Config) -> _Kept:
    key = f"{config.root}\0{config.index_path}\0{config.note_roots}\0{config.excludes}"
    if key not in _kept and len(_kept) >= _ROOTS_KEPT:
        _kept.clear()
    return _kept.setdefault(key, _Kept())


def _is_large(known: FilesNow) -> bool:
    return len(known.files.notes.notes) > SMALL_BASE


def _look(config: Config, before: FilesNow | None, *, now: datetime) -> FilesNow:
    with open_corpus(config) as corpus:
        found = Files(corpus.notes(), corpus.gates)
    if before is not None and found.found_again(before.files):
        return FilesNow(before.files, now)
    return FilesNow(found, now)
