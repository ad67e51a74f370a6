"""Findings of reviewed pairs, in the queue or not, with their state today and their place in today's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from review.contracts.queue import QueueFindingJson
from review.corpus import Corpus
from review.domain.dispositions import Decided, finding_state
from review.domain.identity import fingerprint
from review.models import Disposition, Finding, NamedKeys, ReviewPair, batched
from review.queries.queue_entries import QuoteFinder
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


class FindingReader:
    """Reads findings in bulk; reads a note only where it changed since its review."""

    def __init__(self, corpus: Corpus, *, digests: Mapping[str, str]) -> None:
        """Take the digests of the notes on disk, by path."""
        self._quotes = QuoteFinder(corpus)
        self._digests = digests

    def read_each(self, pairs: Sequence[ReviewedPair]) -> list[list[QueueFindingJson]]:
        """Findings of each pair, in the order of `pairs`, which may be several of one key."""
        rows = _rows({pair.pair_id for pair in pairs})
        found = [[_reported(row, pair) for row in rows.get(pair.pair_id, ())] for pair in pairs]
        decided = _decided(finding.fingerprint for findings in found for finding in findings)
        read_at = _texts_read_at(pairs) if decided else {}
        for pair, findings in zip(pairs, found, strict=True):
            digest = self._digests.get(pair.note_path, "")
            for finding in findings:
                if digest != pair.note_sha256:
                    finding.line_now = self._line_now(pair.note_path, finding.quote)
                    finding.quote_gone = bool(digest and finding.line and not finding.line_now)
                if last := decided.get(finding.fingerprint):
                    read = read_at[pair.pair_id]
                    state = finding_state(last, text_read_at=read, note_sha256=digest)
                    finding.status, finding.regressed = state.state.value, state.regressed
        return found

    def _line_now(self, note_path: str, quote: str) -> int | None:
        return self._quotes.line_of(note_path, quote) if note_path in self._digests else None


def _texts_read_at(pairs: Iterable[ReviewedPair]) -> dict[int, datetime]:
    """When the text that a pair's reviewer read was taken; an ack since then does not move it."""
    rows = ReviewPair.objects.filter(pk__in=NamedKeys({pair.pair_id for pair in pairs}))
    return dict(rows.values_list("pk", "job__created_at"))


def _reported(row: Finding, pair: ReviewedPair) -> QueueFindingJson:
    """A finding as its review has it; of one that moved as of where it is now."""
    mark = row.fingerprint
    if pair.moved:
        mark = fingerprint(
            note_path=pair.note_path, gate_path=pair.gate_path, quote=row.quote, text=row.text
        )
    return QueueFindingJson(
        fingerprint=mark,
        severity=row.severity,
        text=row.text,
        quote=row.quote,
        line=row.note_line,
        line_now=row.note_line,
        status=DispositionState.OPEN.value,
        regressed=False,
    )


def _rows(pair_ids: Iterable[int]) -> dict[int, list[Finding]]:
    found: dict[int, list[Finding]] = {}
    for chunk in batched(sorted(pair_ids), 5000):
        for row in Finding.objects.filter(pair_id__in=NamedKeys(chunk)).order_by("pair", "ordinal"):
            found.setdefault(row.pair_id, []).append(row)
    return found


def _decided(fingerprints: Iterable[str]) -> dict[str, Decided]:
    return {
        mark: Decided(DispositionState(row.state), row.note_sha256, row.at)
        for mark, row in Disposition.objects.latest_of(fingerprints).items()
    }
