"""What the store has no column for: the state of the queue's notes on disk, and the ranks of findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Case, Count, QuerySet, Value, When
from django.db.models.expressions import Combinable

from review.calibration.labels import Cell, Labels, Standings
from review.domain.statistics import NOISY
from review.knowledge_base import Corpus, Gate, GateCatalog, NoteList
from review.models import FileSnapshot, FindingState, KbPath, NamedKeys
from review.selection.names import within
from review.settings import Config
from review.vocabulary import GRAVITY, DispositionState

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
    """The notes of some rows: paths by key, digests now by path.

    :param changed: keys of the notes of which a reviewed text is another than today's.
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
    columns = ("note_id", "note_path", "read_snapshot_id")
    reviewed = list(rows.order_by().values_list(*columns).distinct())
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
    stored = rows.values_list("pk", "path_id", "content_sha256")
    return paths, [key for key, path_id, sha256 in stored if digests[paths[path_id]] == sha256]


def values_below(paths: tuple[str, ...], path: str, value: str) -> list[Any]:
    """Return the values of a column in rows whose path is at or below one of these paths."""
    if not paths:  # the filter is not set
        return []
    is_wanted = within(paths)
    found = FindingState.objects.order_by().values_list(path, value).distinct()
    return [kept for found_path, kept in found if is_wanted(found_path)] or [0]


# A rank is one number: noisy gates last, then by severity, by gate and partition, by age.
_SINKS, _BY_SEVERITY, _BY_CELL = 1_000_000, 100_000, 10


class QueueSort(StrEnum):
    """By place; by severity, precision and age; or by the information that a label would add."""

    PLACE = "place"
    PRIORITY = "priority"
    LABELS = "labels"


@dataclass(frozen=True)
class Ranking:
    """The rank of a row, and why the rows of a gate and partition come last."""

    rank: Combinable
    sinks_because: dict[tuple[int, int], str]


def make_ranking(
    sort: QueueSort,
    gate_texts: Collection[int],
    steps_of_age: Collection[str],
    gate_label: Callable[[str], str],
) -> Ranking:
    """Rank the rows of these texts of gates, with steps of `age`, the youngest first."""
    if sort is QueueSort.PLACE:
        return Ranking(Value(0), {})
    rows = FindingState.objects.filter(gate_snapshot_id__in=NamedKeys(gate_texts))
    open_rows = rows.filter(state=DispositionState.OPEN)
    counted = open_rows.values_list("gate_id", "gate_snapshot_id", "model_partition_id")
    counts = {Cell(*cell): n for *cell, n in counted.annotate(Count("pk")).order_by()}
    found = Standings(Labels(), counts, gate_label=gate_label)
    standings = {cell: found.of(cell) for cell in counts}
    if sort is QueueSort.LABELS:
        gains = {cell: n * standings[cell].belief.learned_by_one for cell, n in counts.items()}
        disputed = Case(When(passed_in="", then=Value(1)), default=Value(0))
        cells = sorted(gains, key=lambda cell: (-gains[cell], cell))
        return Ranking(_position(cells) * Value(_BY_CELL) + disputed, {})
    noisy = {cell for cell, standing in standings.items() if standing.people.word == NOISY}
    cells = sorted(counts, key=lambda cell: (-standings[cell].belief.mean, cell))
    sinks = Case(*(_when(cell, 1) for cell in noisy), default=Value(0))
    steps = {word: position for position, word in enumerate(reversed([*steps_of_age]))}
    rank = (
        sinks * Value(_SINKS)
        + _steps("severity", {word: 3 - n for word, n in GRAVITY.items()}) * Value(_BY_SEVERITY)
        + _position(cells) * Value(_BY_CELL)
        + (_steps("age", steps) if steps else Value(0))
    )
    why = "noisy gate: {0.k} of {0.n} findings were right, at most {0.high:.0%}".format
    return Ranking(rank, {(c.gate, c.partition): why(standings[c].people) for c in noisy})


def _position(cells: list[Cell]) -> Case:
    whens = [_when(cell, position) for position, cell in enumerate(cells)]
    return Case(*whens, default=Value(len(cells)))


def _when(cell: Cell, value: int) -> When:
    return When(gate_id=cell.gate, model_partition_id=cell.partition, then=Value(value))


def _steps(column: str, steps: dict[str, int]) -> Case:
    whens = [When(**{column: word}, then=Value(position)) for word, position in steps.items()]
    return Case(*whens, default=Value(len(steps)))
