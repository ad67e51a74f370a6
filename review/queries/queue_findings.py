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
from review.domain.dispositions import Decided, FindingState, finding_state
from review.domain.identity import fingerprint
from review.models import Disposition, Finding, NamedKeys, ReviewPair, batched
from review.protocol.findings import locate_quote
from review.vocabulary import DispositionState, Severity


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

    @property
    def key(self) -> tuple[str, str]:
        """Note and gate path."""
        return (self.note_path, self.gate_path)


class QueueFinding(NamedTuple):
    """A finding as the queue shows it; lines are 1-based, None where the quote is not found."""

    fingerprint: str
    severity: Severity
    text: str
    quote: str
    line: int | None
    line_now: int | None
    state: DispositionState
    regressed: bool

    def as_json(self) -> QueueFindingJson:
        """For the document of the queue."""
        return QueueFindingJson(
            fingerprint=self.fingerprint,
            severity=self.severity,
            text=self.text,
            quote=self.quote,
            line=self.line,
            line_now=self.line_now,
            status=self.state,
            regressed=self.regressed,
        )


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

    def read(self, pairs: Sequence[ReviewedPair]) -> dict[tuple[str, str], list[QueueFinding]]:
        """Findings in their order by note and gate path; a pair without any has an empty list."""
        return {pair.key: found for pair, found in zip(pairs, self.read_each(pairs), strict=True)}

    def read_each(self, pairs: Sequence[ReviewedPair]) -> list[list[QueueFinding]]:
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
        pair: ReviewedPair,
        rows: Iterable[_Row],
        decided: Mapping[str, Decided],
        read_at: Mapping[int, datetime],
    ) -> list[QueueFinding]:
        digest = self._digests.get(pair.note_path, "")
        unchanged = digest == pair.note_sha256
        found = []
        for _pair_id, mark, severity, text, quote, line in rows:
            state = _OPEN
            if mark in decided:
                read = read_at[pair.pair_id]
                state = finding_state(decided[mark], text_read_at=read, note_sha256=digest)
            line_now = line if unchanged else self._line_now(pair.note_path, quote)
            grave = _SEVERITIES[severity]
            found.append(
                QueueFinding(mark, grave, text, quote, line, line_now, state.state, state.regressed)
            )
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


_OPEN = FindingState(DispositionState.OPEN)
_SEVERITIES = {
    word.value: word for word in Severity
}  # calling the enumeration takes ten times as long


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


def _known(pairs: Sequence[ReviewedPair]) -> list[Sequence[_Row]]:
    """Rows of each pair; those of one that moved are under the fingerprints of where it is now."""
    rows = _rows({pair.pair_id for pair in pairs})
    return [
        [row._replace(fingerprint=_fingerprint(pair, row)) for row in rows.get(pair.pair_id, ())]
        if pair.moved
        else rows.get(pair.pair_id, ())
        for pair in pairs
    ]


def _fingerprint(pair: ReviewedPair, row: _Row) -> str:
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
