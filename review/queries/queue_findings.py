"""Findings of reviewed pairs with their state today and their place in today's text.

Rows are named tuples: a queue has tens of thousands, and they cost a third of a dataclass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from review.contracts.queue import QueueFindingJson
from review.corpus import Corpus
from review.corpus.reading import UnreadableFile
from review.domain.dispositions import Decided, finding_state
from review.domain.finding_identity import own_fingerprints
from review.models import Disposition, FileSnapshot, Finding, NamedKeys, ReviewPair, batched
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


# As `QueueFindingJson` has them, as far as the review itself tells.
_COLUMNS = ("pair_id", "fingerprint", "severity", "text", "quote", "note_line")


class FindingReader:
    """Reads findings in bulk; reads a note only where it changed since its review."""

    def __init__(self, corpus: Corpus, *, digests: Mapping[str, str]) -> None:
        """Take the digests of the notes on disk, by path."""
        self._corpus = corpus
        self._digests = digests
        self._text_of = lru_cache(maxsize=64)(self._read_text)

    def read_each(self, pairs: Sequence[ReviewedPair | QueueRow]) -> list[list[QueueFindingJson]]:
        """Findings of each pair, in the order of `pairs`, which may be several of one key."""
        known = _reported(pairs)
        decided = _decided(finding.fingerprint for found in known for finding in found)
        read_at = _texts_read_at(
            pair.pair_id
            for pair, found in zip(pairs, known, strict=True)
            if decided and any(finding.fingerprint in decided for finding in found)
        )
        reviewed = _reviewed_texts(
            pair.pair_id
            for pair, found in zip(pairs, known, strict=True)
            if self._digests.get(pair.note_path) not in (None, pair.note_sha256)
            and any(finding.quote for finding in found)
        )
        for pair, found in zip(pairs, known, strict=True):
            digest = self._digests.get(pair.note_path, "")
            if digest != pair.note_sha256:
                for finding in found:
                    before = reviewed.get(pair.pair_id)
                    finding.line_now = self._line_now(pair.note_path, before, finding)
            for finding in found if pair.pair_id in read_at else ():
                word, read = decided.get(finding.fingerprint), read_at[pair.pair_id]
                state = finding_state(word, text_read_at=read, note_sha256=digest)
                finding.status, finding.regressed = state.state.value, state.regressed
        return known

    def _line_now(
        self, note_path: str, before: str | None, finding: QueueFindingJson
    ) -> int | None:
        if not finding.quote or before is None:
            return None
        from review.protocol.quotes import follow_quote

        now = self._text_of(note_path)
        return follow_quote(before, now, quote=finding.quote, line=finding.line)

    def _read_text(self, note_path: str) -> str:
        try:
            return self._corpus.read_note(note_path).text
        except UnreadableFile:
            return ""


_OPEN = DispositionState.OPEN.value


def _reviewed_texts(pair_ids: Iterable[int]) -> dict[int, str]:
    """The notes' texts that were reviewed; pairs of one text share it."""
    found: dict[int, str] = {}
    for chunk in batched(pair_ids, 500):
        rows = ReviewPair.objects.filter(pk__in=chunk).values_list("pk", "note_snapshot_id")
        snapshots = dict(rows)
        texts = FileSnapshot.objects.filter(pk__in=set(snapshots.values()))
        by_key = dict(texts.values_list("pk", "text"))
        found.update((pair_id, by_key[key]) for pair_id, key in snapshots.items())
    return found


def _texts_read_at(pair_ids: Iterable[int]) -> dict[int, datetime]:
    """When the text that a pair's reviewer read was taken; an ack since then does not move it."""
    found: dict[int, datetime] = {}
    for chunk in batched(pair_ids, 500):
        rows = ReviewPair.objects.filter(pk__in=chunk)
        found.update(rows.values_list("pk", "job__created_at"))
    return found


def _reported(pairs: Sequence[ReviewedPair | QueueRow]) -> list[list[QueueFindingJson]]:
    """Findings of each pair as its review has them; of one that moved as of where it is now."""
    rows = _rows({pair.pair_id for pair in pairs})
    return [
        _moved(rows.get(pair.pair_id, []), pair) if pair.moved else rows.get(pair.pair_id, [])
        for pair in pairs
    ]


def _moved(
    findings: list[QueueFindingJson], pair: ReviewedPair | QueueRow
) -> list[QueueFindingJson]:
    values = own_fingerprints(findings, note_path=pair.note_path, gate_path=pair.gate_path)
    return [
        replace(finding, fingerprint=value) for finding, value in zip(findings, values, strict=True)
    ]


def _rows(pair_ids: Iterable[int]) -> dict[int, list[QueueFindingJson]]:
    found: dict[int, list[QueueFindingJson]] = {}
    for chunk in batched(sorted(pair_ids), 5000):
        rows = Finding.objects.filter(pair_id__in=NamedKeys(chunk)).order_by("pair_id", "ordinal")
        for pair_id, mark, severity, text, quote, line in rows.values_list(*_COLUMNS):
            finding = QueueFindingJson(
                fingerprint=mark,
                severity=severity,
                text=text,
                quote=quote,
                line=line,
                line_now=line,
                status=_OPEN,
                regressed=False,
            )
            found.setdefault(pair_id, []).append(finding)
    return found


def _decided(fingerprints: Iterable[str]) -> dict[str, Decided]:
    if not Disposition.objects.exists():
        return {}
    return {
        mark: Decided(DispositionState(row.state), row.note_sha256, row.at)
        for mark, row in Disposition.objects.latest_of(fingerprints).items()
    }
