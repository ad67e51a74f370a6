"""What of the queue is asked for: the lines that match, their order, and how many each facet has."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, reduce
from itertools import compress, islice
from posixpath import commonpath
from typing import Any

from django.db.models import Q

from review.domain.identity import lens_of
from review.models import Finding
from review.queries.places import is_below
from review.queries.queue_board import GONE, SINCE, Mask, QueueBoard, latest_of
from review.queries.queue_lines import QueueLine
from review.queries.review_details import gate_label
from review.vocabulary import DispositionState

Place = tuple[str, str, int]

TODAY, WEEK, MONTH, OLDER = "day", "week", "month", "older"
AGES: Mapping[str, timedelta] = {
    TODAY: timedelta(days=1),
    WEEK: timedelta(days=7),
    MONTH: timedelta(days=30),
    OLDER: timedelta.max,
}
_CHOICES_KEPT = 32


@dataclass(frozen=True)
class QueueFilter:
    """Which lines; an empty filter keeps all, but `states` keeps the open ones.

    :param notes: files; `folders` with all that is below them.
    :param since: without it, all but those of notes that are gone.
    :param words: stands in the note's path, the gate's id, the finding or its quote.
    """

    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    lenses: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True)
class QueueFacets:
    """How many lines each value has, under all filters but its own, the most frequent first."""

    states: Mapping[str, int]
    severities: Mapping[str, int]
    decisions: Mapping[str, int]
    seen: Mapping[str, int]
    ages: Mapping[str, int]
    since: Mapping[str, int]
    lenses: Mapping[str, int]
    gates: Mapping[str, int]
    folders: Mapping[str, int]
    partitions: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Choice:
    """The lines of a board that match a filter.

    :param masks: one for each filter that is set, and `base` for what is never shown.
    """

    board: QueueBoard
    wanted: QueueFilter
    gates_folder: str
    as_of: datetime
    masks: Mapping[str, Mask] = field(repr=False)

    @cached_property
    def mask(self) -> Mask:
        """Which lines match."""
        return _all_of(self.masks.values())

    @cached_property
    def total(self) -> int:
        """How many match."""
        return self.mask.count(1)

    @cached_property
    def note_count(self) -> int:
        """How many notes they are of."""
        return len(set(compress(self.board.column("note_path"), self.mask)))

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """The notes of the reviews in question, whatever became of their findings."""
        masks = [mask for key, mask in self.masks.items() if key not in ("states", "severities")]
        return frozenset(compress(self.board.column("note_path"), _all_of(masks)))

    def lines_after(self, place: Place | None, limit: int) -> list[tuple[int, QueueLine]]:
        """The next matching lines behind a place, with their numbers on the board."""
        number = self._first_after(place) if place else 0
        found: list[tuple[int, QueueLine]] = []
        while len(found) < limit and (number := self.mask.find(1, number)) >= 0:
            found.append((number, self.board.lines[number]))
            number += 1
        return found

    def rank(self, number: int) -> int:
        """How many matching lines stand before line `number`."""
        return self.mask.count(1, 0, number)

    def line_after(self, place: Place) -> QueueLine | None:
        """The next matching line behind a place."""
        number = self.mask.find(1, self._first_after(place))
        return self.board.lines[number] if number >= 0 else None

    def line_before(self, place: Place) -> QueueLine | None:
        """The last matching line before a place."""
        number = self.mask.rfind(1, 0, self._first_at(place))
        return self.board.lines[number] if number >= 0 else None

    def page_start(self, number: int, size: int) -> Place | None:
        """The place behind which the page with line `number` starts, when each has `size` lines."""
        first = self.rank(number) // size * size
        if not first:
            return None
        last_before = next(islice(compress(self.board.lines, self.mask), first - 1, None))
        return last_before[:3]

    def finding_after(self, place: Place) -> QueueLine | None:
        """The next matching line behind a place that has a finding."""
        line = self.line_after(place)
        while line is not None and not line.fingerprint:
            line = self.line_after(line[:3])
        return line

    def finding_before(self, place: Place) -> QueueLine | None:
        """The last matching line before a place that has a finding."""
        line = self.line_before(place)
        while line is not None and not line.fingerprint:
            line = self.line_before(line[:3])
        return line

    def marks(self) -> list[str]:
        """The fingerprints of all matching findings, each once, in order."""
        found = dict.fromkeys(compress(self.board.column("fingerprint"), self.mask))
        found.pop("", None)
        return list(found)

    @cached_property
    def facets(self) -> QueueFacets:
        """The counts for the filters."""
        gates = self._counts("gate_path", "gates")
        return QueueFacets(
            states=_ordered(self._counts("state", "states"), DispositionState.values),
            severities=_ordered(self._counts("severity", "severities"), ("fail", "warn", "info")),
            decisions=_ordered(self._counts("decision", "decisions"), ("fail", "warn")),
            seen=dict(self._counts("seen", "seen").most_common()),
            ages=_by_age(self._counts("first_at", "ages"), self.as_of),
            since=_ordered(self._counts("since", "since"), SINCE),
            lenses=self._lenses(gates),
            gates=_relabelled(gates, self._gate_id),
            folders=self._folders(),
            partitions=self._partitions(),
        )

    def _counts(self, column: str, name: str) -> Counter[Any]:
        masks = [mask for key, mask in self.masks.items() if key != name]
        return Counter(compress(self.board.column(column), _all_of(masks)))

    def _lenses(self, gates: Counter[str]) -> dict[str, int]:
        if "gates" in self.masks or "lenses" in self.masks:
            gates = self._counts("gate_path", "lenses")
        return _relabelled(gates, lambda path: lens_of(self._gate_id(path)))

    def _folders(self) -> dict[str, int]:
        """The folders that are set, with all below them; and the ones a step below, else the tops."""
        counts = self._counts("folder", "folders")
        chosen = self.wanted.folders
        tops = chosen or (_shared_folder(counts),)
        steps = _relabelled(counts, lambda folder: _step_below(folder, tops))
        steps.pop("", None)
        whole = {top: sum(n for f, n in counts.items() if is_below(f, (top,))) for top in chosen}
        return {**whole, **{step: n for step, n in steps.items() if step not in tops}}

    def _partitions(self) -> dict[str, int]:
        # Of each partition its own reviews, as they are when it is set: not only the latest.
        masks = {**self.masks, "base": self.board.placing.current}
        masks.pop("partitions", None)
        names = compress(self.board.column("partition"), _all_of(masks.values()))
        return dict(Counter(names).most_common())

    def _gate_id(self, path: str) -> str:
        return gate_label(path, self.gates_folder)

    def _first_after(self, place: Place) -> int:
        return bisect_right(self.board.lines, place, key=lambda line: line[:3])

    def _first_at(self, place: Place) -> int:
        return bisect_left(self.board.lines, place, key=lambda line: line[:3])


def choose(board: QueueBoard, wanted: QueueFilter, *, gates_folder: str, now: datetime) -> Choice:
    """The lines that match; kept with the board, since one page after another asks the same."""
    as_of = now.replace(minute=0, second=0, microsecond=0)
    key = (wanted, as_of)
    choice = board.kept.get(key)
    if choice is None:
        masks = _masks(board, wanted, gates_folder=gates_folder, as_of=as_of)
        choice = Choice(board, wanted, gates_folder, as_of, masks)
        if len(board.kept) >= _CHOICES_KEPT:
            board.kept.clear()
        board.kept[key] = choice
    return choice


def _masks(
    board: QueueBoard, wanted: QueueFilter, *, gates_folder: str, as_of: datetime
) -> dict[str, Mask]:
    layout = board.layout
    columns = {
        "states": ("state", wanted.states or (DispositionState.OPEN.value,)),
        "severities": ("severity", wanted.severities),
        "decisions": ("decision", wanted.decisions),
        "seen": ("seen", wanted.seen),
        "since": ("since", wanted.since or tuple(word for word in SINCE if word != GONE)),
        "partitions": ("partition", wanted.partitions),
        "notes": ("note_path", wanted.notes),
    }
    masks = {
        name: _mask(board.column(column), words)
        for name, (column, words) in columns.items()
        if words
    }
    ids = {path: gate_label(path, gates_folder) for path in layout.gates}
    if wanted.gates:
        masks["gates"] = _among(board, "gate_path", lambda path: ids[path] in wanted.gates)
    if wanted.lenses:
        masks["lenses"] = _among(board, "gate_path", lambda p: lens_of(ids[p]) in wanted.lenses)
    if wanted.folders:
        masks["folders"] = _among(board, "folder", lambda f: is_below(f, wanted.folders))
    if wanted.ages:
        masks["ages"] = _among(board, "first_at", lambda at: _age(at, as_of) in wanted.ages)
    if wanted.words:
        masks["words"] = _with_words(board, wanted.words, ids)
    return {"base": _base(board, masks.get("partitions")), **masks}


def _base(board: QueueBoard, partitions: Mask | None) -> Mask:
    """What the queue is made of: one review a note and gate, the latest of the partitions asked."""
    if partitions is None:
        return board.placing.latest
    return latest_of(board.layout, _all_of([board.placing.current, partitions]))


def _among(board: QueueBoard, column: str, is_wanted: Callable[[Any], bool]) -> Mask:
    values = board.column(column)
    return _mask(values, {value for value in set(values) if is_wanted(value)})


def _with_words(board: QueueBoard, words: str, gate_ids: Mapping[str, str]) -> Mask:
    found = Finding.objects.filter(Q(text__icontains=words) | Q(quote__icontains=words))
    ids = set(found.values_list("pk", flat=True))
    folded = words.casefold()
    notes = {path for path in board.layout.notes if folded in path.casefold()}
    gates = {path for path, gate_id in gate_ids.items() if folded in gate_id.casefold()}
    return bytes(
        line.finding_id in ids or line.note_path in notes or line.gate_path in gates
        for line in board.lines
    )


def _mask(values: Sequence[Any], wanted: Iterable[Any]) -> Mask:
    return bytes(map(frozenset(wanted).__contains__, values))


def _all_of(masks: Iterable[Mask]) -> Mask:
    given = list(masks)
    size = len(given[0])
    numbers = (int.from_bytes(mask, "little") for mask in given)
    return reduce(int.__and__, numbers).to_bytes(size, "little")


def _age(first_at: datetime, as_of: datetime) -> str:
    return next(name for name, span in AGES.items() if as_of - first_at < span)


def _by_age(moments: Mapping[datetime, int], as_of: datetime) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(AGES, 0)
    for at, number in moments.items():
        counts[_age(at, as_of)] += number
    return counts


def _ordered(counts: Mapping[str, int], words: Iterable[str]) -> dict[str, int]:
    return {word: counts.get(word, 0) for word in words}


def _relabelled(counts: Counter[str], label: Callable[[str], str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for value, number in counts.items():
        found[label(value)] += number
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _shared_folder(folders: Collection[str]) -> str:
    """The longest folder that all of them are or lie in."""
    return commonpath(folders) if folders else ""


def _step_below(folder: str, tops: Sequence[str]) -> str:
    """The part of a folder one step below the top that it lies in; "" where it lies in none."""
    for top in tops:
        if folder == top:
            return folder
        if not top or folder.startswith(f"{top}/"):
            start = len(top) + 1 if top else 0
            end = folder.find("/", start)
            return folder if end < 0 else folder[:end]
    return ""
