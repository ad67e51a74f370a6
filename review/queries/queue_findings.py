"""Findings of reviewed pairs with their state today and their place in today's text.

Rows are named tuples: a queue has tens of thousands, and they cost a third of a dataclass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from review.contracts.queue import QueueFindingJson
from review.corpus import Corpus
from review.corpus.reading import UnreadableFile
from review.domain.dispositions import Decided, finding_state
from review.domain.identity import fingerprint
from review.models import Disposition, Finding, NamedKeys, ReviewPair, batched
from review.protocol.findings import locate_quote
from review.queries.queue_rows import QueueRow
from review.vocabulary import DispositionState


class ReviewedPair(NamedTuple):
    """A pair whose findings are wanted.

    :param moved: the acceptance was carried over: the review judged the text under another path.
    :param note_sha256: digest of the text that the reviewer read.
    """

    pair_id: int
    note_path: str
    gate_path: str
    moved: bool
    note_sha256: str


class _Row(NamedTuple):
    pair_id: int
    fingerprint: str
    severity: str
    text: str
    quote: str
    note_line: int | None


class FindingReader:
    """Reads findings in bulk; reads a note only where it changed since its review."""

    def __init__(self, corpus: Corpus, *, digests: Mapping[str, str]) -> None:
        """Take the digests of the notes on disk, by path."""
        self._corpus = corpus
        self._digests = digests
        self._text_of = lru_cache(maxsize=64)(self._read_text)

    def read_each(self, pairs: Sequence[ReviewedPair | QueueRow]) -> list[list[QueueFindingJson]]:
        """Findings of each pair, in the order of `pairs`, which may be several of one key."""
        known = _known(pairs)
        decided = _decided(row.fingerprint for rows in known for row in rows)
        read_at = _texts_read_at(
            pair.pair_id
            for pair, rows in zip(pairs, known, strict=True)
            if decided and any(row.fingerprint in decided for row in rows)
        )
        return [
            self._findings(pair, rows, decided, read_at)
            for pair, rows in zip(pairs, known, strict=True)
        ]

    def _findings(
        self,
        pair: ReviewedPair | QueueRow,
        rows: Iterable[_Row],
        decided: Mapping[str, Decided],
        read_at: Mapping[int, datetime],
    ) -> list[QueueFindingJson]:
        digest = self._digests.get(pair.note_path, "")
        unchanged = digest == pair.note_sha256
        found = []
        for _pair_id, mark, severity, text, quote, line in rows:
            status, regressed = _OPEN, False
            if mark in decided:
                read = read_at[pair.pair_id]
                state = finding_state(decided[mark], text_read_at=read, note_sha256=digest)
                status, regressed = state.state.value, state.regressed
            finding = QueueFindingJson(
                fingerprint=mark,
                severity=severity,
                text=text,
                quote=quote,
                line=line,
                line_now=line if unchanged else self._line_now(pair.note_path, quote),
                status=status,
                regressed=regressed,
            )
            found.append(finding)
        return found

    def _line_now(self, note_path: str, quote: str) -> int | None:
        if not quote or note_path not in self._digests:
            return None
        return locate_quote(self._text_of(note_path), quote)

    def _read_text(self, note_path: str) -> str:
        try:
            return self._corpus.read_note(note_path).text
        except UnreadableFile:
            return ""


# A member of an enumeration takes ten times as long to compare, and twice to write.
_OPEN = DispositionState.OPEN.value


def _texts_read_at(pair_ids: Iterable[int]) -> dict[int, datetime]:
    """When the text that a pair's reviewer read was taken; an ack since then does not move it."""
    found: dict[int, datetime] = {}
    for chunk in batched(pair_ids, 500):
        rows = ReviewPair.objects.filter(pk__in=chunk)
        found.update(rows.values_list("pk", "job__created_at"))
    return found


def _rows(pair_ids: Iterable[int]) -> dict[int, list[_Row]]:
    found: dict[int, list[_Row]] = {}
    for chunk in batched(sorted(pair_ids), 5000):
        rows = Finding.objects.filter(pair_id__in=NamedKeys(chunk)).order_by("pair_id", "ordinal")
        for row in map(_Row._make, rows.values_list(*_Row._fields)):
            found.setdefault(row.pair_id, []).append(row)
    return found


def _known(pairs: Sequence[ReviewedPair | QueueRow]) -> list[Sequence[_Row]]:
    """Rows of each pair; those of one that moved are under the fingerprints of where it is now."""
    rows = _rows({pair.pair_id for pair in pairs})
    return [
        [row._replace(fingerprint=_fingerprint(pair, row)) for row in rows.get(pair.pair_id, ())]
        if pair.moved
        else rows.get(pair.pair_id, ())
        for pair in pairs
    ]


def _fingerprint(pair: ReviewedPair | QueueRow, row: _Row) -> str:
    return fingerprint(
        note_path=pair.note_path, gate_path=pair.gate_path, quote=row.quote, text=row.text
    )


def _decided(fingerprints: Iterable[str]) -> dict[str, Decided]:
    if not Disposition.objects.exists():
        return {}
    return {
        mark: Decided(DispositionState(row.state), row.note_sha256, row.at)
        for mark, row in Disposition.objects.latest_of(fingerprints).items()
    }
