"""Keeps the queue's board from page to page, and brings it up to date with what was stored since.

Acceptances and dispositions are only ever added, and their writers take turns: what a board lacks is
what lies above the last keys it has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from django.db.models import Max

from review.conf import Config
from review.domain.dispositions import Decided
from review.models import Acceptance, Disposition, ReviewStore
from review.queries.files_now import FilesNow, digests_now
from review.queries.queue_board import LastWord, Layout, QueueBoard, make_board
from review.queries.queue_lines import NoteAndGate, QueueLine, read_lines
from review.vocabulary import DispositionState

# More moved keys than this, and reading everything is no slower.
_MOVED_AT_MOST = 1_000
_STORES_KEPT = 4


class _Stamp(NamedTuple):
    store_id: str
    revision: int
    event_id: int
    disposition_id: int


@dataclass
class _Kept:
    board: QueueBoard | None = None
    stamp: _Stamp | None = None
    lock: Lock = field(default_factory=Lock)


_kept: dict[str, _Kept] = {}


def queue_board(config: Config, now: FilesNow) -> QueueBoard:
    """The queue as it is now: of the files as they were looked at, and of all that is stored."""
    kept = _kept_for(config)
    with kept.lock:
        # First: what is stored while we read is read again by the next page.
        stamp = _read_stamp()
        board = _current(kept, stamp, config=config, now=now)
        kept.board, kept.stamp = board, stamp
    return board


def _current(kept: _Kept, stamp: _Stamp, *, config: Config, now: FilesNow) -> QueueBoard:
    board, before = kept.board, kept.stamp
    if board is None or before is None or before.store_id != stamp.store_id:
        return _make(read_lines(), config, now, _last_words(0))
    lines = _moved_lines(board.layout, before, stamp)
    words = (
        _last_words(before.disposition_id) if stamp.disposition_id != before.disposition_id else {}
    )
    if lines is not None:
        return _make(lines, config, now, {**board.standing.last_words, **words})
    if words:
        board = board.told(words)
    if now.files is not board.placing.files:
        board = board.moved_to(now, digests_now(config, now.files, board.layout.notes))
    return board


def _make(
    lines: list[QueueLine], config: Config, now: FilesNow, words: Mapping[str, LastWord]
) -> QueueBoard:
    unlisted = digests_now(config, now.files, (line.note_path for line in lines))
    return make_board(lines, now, unlisted, words)


def _moved_lines(layout: Layout, before: _Stamp, stamp: _Stamp) -> list[QueueLine] | None:
    """The lines with those that acceptances moved since; None when none did."""
    if stamp.revision == before.revision:
        return None
    keys = _moved_keys(before.event_id)
    # A revision without an event: current acceptances were made again from the events.
    if not keys or len(keys) > _MOVED_AT_MOST:
        return read_lines()
    fresh = read_lines(keys)
    if not fresh and not any((line.note_id, line.gate_id) in keys for line in layout.lines):
        return None
    return sorted([*layout.without(keys), *fresh])


def _moved_keys(after: int) -> set[NoteAndGate]:
    rows = Acceptance.objects.filter(pk__gt=after).order_by("pk")
    return set(rows.values_list("note_id", "gate_id")[: _MOVED_AT_MOST + 1])


def _read_stamp() -> _Stamp:
    store_id, revision = ReviewStore.objects.values_list("store_id", "acceptance_revision").get(
        pk=1
    )
    event = Acceptance.objects.aggregate(last=Max("pk"))["last"]
    disposition = Disposition.objects.aggregate(last=Max("pk"))["last"]
    return _Stamp(store_id, revision, event or 0, disposition or 0)


def _last_words(after: int) -> dict[str, LastWord]:
    """The dispositions that count, of fingerprints that have one above the key `after`."""
    last = (
        Disposition.objects.filter(pk__gt=after)
        .values("fingerprint")
        .annotate(last=Max("pk"))
        .values("last")
        .order_by()
    )
    columns = ("fingerprint", "pk", "state", "note_sha256", "at")
    rows = Disposition.objects.filter(pk__in=last).values_list(*columns)
    return {
        mark: LastWord(key, Decided(DispositionState(state), sha256, at))
        for mark, key, state, sha256, at in rows.iterator()
    }


def _kept_for(config: Config) -> _Kept:
    key = f"{config.root}\0{config.database}"
    if key not in _kept and len(_kept) >= _STORES_KEPT:
        _kept.clear()
    return _kept.setdefault(key, _Kept())
