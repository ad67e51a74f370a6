"""The state on disk of the queue's notes, by key; a large base is scanned once a minute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from review.knowledge_base import Corpus, Gate, GateCatalog, NoteList
from review.models import FileSnapshot, FindingState, KbPath, NamedKeys
from review.selection.names import within
from review.settings import Config
from review.vocabulary import DispositionState

# So few notes are scanned in a time that nobody notices; 25,000 take half a second.
SMALL_BASE = 2_000
MAX_AGE = timedelta(seconds=60)

# Gives the digests of notes by path; a note that is gone has none.
DigestReader = Callable[[Collection[str]], Mapping[str, str]]


# The notes and gates as they were at a moment.
FilesNow = tuple[NoteList, GateCatalog, datetime]
_looks: dict[str, FilesNow] = {}


def files_now(config: Config, *, now: datetime) -> FilesNow:
    """The files as they are; of a large base as they were at most a minute ago."""
    key = f"{config.root}\0{config.index_path}\0{config.note_roots}\0{config.excludes}"
    if known := _looks.get(key):
        notes, _gates, looked_at = known
        if len(notes.notes) > SMALL_BASE and now - looked_at < MAX_AGE:
            return known
    _looks.clear()
    with Corpus(config) as corpus:
        found = _looks[key] = (corpus.notes(), corpus.gates, now)
    return found


@dataclass(frozen=True)
class NoteStates:
    """The notes of some rows.

    :param paths: by key; `digests` by path, as the notes are now.
    :param changed: keys of the notes of which a reviewed text is another than today's; these texts
        are `changed_texts`.
    :param reopened: rows that were deferred until their note changed, which it did.
    """

    paths: Mapping[int, str]
    digests: Mapping[str, str]
    gone: Collection[int]
    changed: Collection[int]
    changed_texts: Collection[int]
    reopened: Collection[int]


def read_note_states(rows: QuerySet[FindingState], digests_of: DigestReader) -> NoteStates:
    """Compare the notes of the rows with the texts that were reviewed."""
    reviewed = list(
        rows.order_by().values_list("note_id", "note_path", "read_snapshot_id").distinct()
    )
    paths = {note_id: path for note_id, path, _text in reviewed}
    digests = digests_of(paths.values())
    snapshots = FileSnapshot.objects.filter(pk__in=NamedKeys({text for *_note, text in reviewed}))
    texts = dict(snapshots.values_list("pk", "content_sha256"))
    changed = [
        (note_id, text)
        for note_id, path, text in reviewed
        if path in digests and digests[path] != texts[text]
    ]
    deferred = rows.filter(state=DispositionState.DEFERRED)
    return NoteStates(
        paths=paths,
        digests=digests,
        gone=[note_id for note_id, path in paths.items() if path not in digests],
        changed={note_id for note_id, _text in changed},
        changed_texts={text for _note_id, text in changed},
        reopened=[
            key
            for key, path, sha256 in deferred.values_list("pk", "note_path", "decided_sha256")
            if digests.get(path, "") != sha256
        ],
    )


def gate_keys(gates: Collection[Gate]) -> tuple[dict[int, str], list[int]]:
    """Path of each gate by its key, and the keys of the gates' texts as they are."""
    digests = {gate.path: gate.sha256 for gate in gates}
    paths = {key: path for path, key in KbPath.objects.ids(digests).items()}
    rows = FileSnapshot.objects.filter(path_id__in=NamedKeys(paths))
    texts = [
        key
        for key, path_id, sha256 in rows.values_list("pk", "path_id", "content_sha256")
        if digests[paths[path_id]] == sha256
    ]
    return paths, texts


def values_below(paths: tuple[str, ...], path: str, value: str) -> list[Any]:
    """Return the values of a column in rows whose path is at or below one of these paths."""
    if not paths:  # the filter is not set
        return []
    is_wanted = within(paths)
    found = FindingState.objects.order_by().values_list(path, value).distinct()
    return [kept for found_path, kept in found if is_wanted(found_path)] or [0]
