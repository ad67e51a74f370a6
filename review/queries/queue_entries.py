"""Entries of the queue as documents give them: the findings of one review, with its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from review.contracts.base import timestamp
from review.contracts.queue import QueueEntryJson, QueueFindingJson
from review.corpus import Corpus, UnreadableFile
from review.domain.dispositions import own_finding_text
from review.domain.identity import lens_of
from review.models import batched
from review.queries.queue import Queue, QueueLine
from review.queries.review_texts import rationales
from review.vocabulary import NoteNow, Seen

_AT_ONCE = 2500


class QuoteFinder:
    """Finds quotes in the notes as they are now; reads each note once while it is in use."""

    def __init__(self, corpus: Corpus) -> None:
        """Read from an open knowledge base."""
        self._corpus = corpus
        self._text_of = lru_cache(maxsize=64)(self._read)

    def line_of(self, note_path: str, quote: str) -> int | None:
        """The line of the quote in the note, or None."""
        from review.protocol.findings import locate_quote

        return locate_quote(self._text_of(note_path), quote) if quote else None

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
        for found in part:
            yield _entry(queue, found, quotes, texts.get(found[0].pair_id))


def finding_json(line: QueueLine, quotes: QuoteFinder) -> QueueFindingJson:
    """The finding of a line, with its place in today's note."""
    quote = line.quote or ""
    line_now = line.line
    if line.since == NoteNow.CHANGED:
        line_now = quotes.line_of(line.note_path, quote)
    elif line.since == NoteNow.GONE:
        line_now = None
    return QueueFindingJson(
        fingerprint=line.fingerprint,
        severity=line.severity,
        text=text_of(line),
        quote=quote,
        line=line.line,
        line_now=line_now,
        status=line.state,
        regressed=line.seen == Seen.REGRESSED,
        quote_gone=line.since == NoteNow.CHANGED and line.line is not None and line_now is None,
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
