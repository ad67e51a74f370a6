"""Entries of the queue as documents give them: the findings of one review, with its text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from review.contracts.base import timestamp
from review.contracts.queue import QueueEntryJson, QueueFindingJson
from review.corpus import Corpus, UnreadableFile
from review.domain.dispositions import own_finding_text
from review.domain.identity import lens_of
from review.models import FileSnapshot, NamedKeys, ReviewPair, batched
from review.queries.queue import Queue, QueueLine
from review.queries.review_texts import rationales
from review.vocabulary import NoteNow, Seen

_AT_ONCE = 2500


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
        from review.protocol.quotes import follow_quote, quote_lines

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


def read_entries(
    queue: Queue, corpus: Corpus, lines: Iterable[QueueLine], *, with_rationale: bool = True
) -> Iterator[QueueEntryJson]:
    """The entries of lines that are in the order of the queue, a part at a time."""
    quotes = QuoteFinder(corpus)
    reviews = (list(found) for _event, found in groupby(lines, key=lambda line: line.event_id))
    for part in batched(reviews, _AT_ONCE):
        texts = rationales(found[0].pair_id for found in part) if with_rationale else {}
        quotes.load({found[0].pair_id for found in part if found[0].since == NoteNow.CHANGED})
        for found in part:
            yield _entry(queue, found, quotes, texts.get(found[0].pair_id))


def finding_json(line: QueueLine, quotes: QuoteFinder) -> QueueFindingJson:
    """The finding of a line, with its place in today's note."""
    quote = line.quote or ""
    now = QuoteNow(line.line if line.since == NoteNow.SAME else None, is_gone=False)
    if line.since == NoteNow.CHANGED:
        now = quotes.follow(line.note_path, quote, pair_id=line.pair_id, line=line.line)
    return QueueFindingJson(
        fingerprint=line.fingerprint,
        severity=line.severity,
        text=text_of(line),
        quote=quote,
        line=line.line,
        line_now=now.line,
        status=line.state,
        regressed=line.seen == Seen.REGRESSED,
        quote_gone=now.is_gone,
        of_whole_review=line.finding_id is None,
    )


def text_of(line: QueueLine) -> str:
    """What the finding says; of a review's own decision, that it is no finding's."""
    return own_finding_text(line.decision) if line.text is None else line.text


def _entry(
    queue: Queue, lines: Sequence[QueueLine], quotes: QuoteFinder, rationale: str | None
) -> QueueEntryJson:
    first = lines[0]
    gate_id = queue.gate_id(first.gate_path)
    return QueueEntryJson(
        note_path=first.note_path,
        gate_path=first.gate_path,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        model_partition=queue.partitions[first.partition_id],
        decision=first.decision,
        review_pair_id=first.pair_id,
        accepted_at=timestamp(first.accepted_at),
        note_changed_since=first.since != NoteNow.SAME,
        later_pass_in=queue.passed_in(first),
        findings=[finding_json(line, quotes) for line in lines],
        rationale=rationale,
    )
