"""Follow the quotes of findings into the notes as they are now."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from review.knowledge_base import Corpus, UnreadableFile
from review.models import FileSnapshot, NamedKeys, ReviewPair


class QuoteNow(NamedTuple):
    """The line of a quote in the note as it is now; None where it is gone or cannot be told."""

    line: int | None
    is_gone: bool


class QuoteFinder:
    """Follows quotes into the notes as they are now; reads each text once while it is in use."""

    def __init__(self, corpus: Corpus) -> None:
        """Read from an open knowledge base."""
        self._corpus = corpus
        self._text_of = lru_cache(maxsize=64)(self._read)
        self._reviewed: dict[int, str] = {}

    def load(self, pair_ids: Collection[int]) -> None:
        """Read the texts that these pairs judged, in place of those that were read before."""
        pairs = ReviewPair.objects.filter(pk__in=NamedKeys(pair_ids))
        snapshots = dict(pairs.values_list("pk", "note_snapshot_id"))
        texts = FileSnapshot.objects.filter(pk__in=NamedKeys(set(snapshots.values())))
        by_key = dict(texts.values_list("pk", "text"))
        self._reviewed = {pair_id: by_key[key] for pair_id, key in snapshots.items()}

    def follow(self, note_path: str, quote: str, *, pair_id: int, line: int | None) -> QuoteNow:
        """Follow a quote that stood on a line (from 1) of the text that a pair judged."""
        from review.protocol.quote_location import follow_quote, quote_lines

        if not quote:
            return QuoteNow(None, is_gone=False)
        if pair_id not in self._reviewed:
            self.load([pair_id])
        before, now = self._reviewed[pair_id], self._text_of(note_path)
        line_now = follow_quote(before, now, quote=quote, line=line)
        is_gone = (
            bool(now and quote_lines(before, quote))
            and line_now is None
            and not quote_lines(now, quote)
        )
        return QuoteNow(line_now, is_gone=is_gone)

    def _read(self, note_path: str) -> str:
        try:
            return self._corpus.read_note(note_path).text
        except UnreadableFile:
            return ""
