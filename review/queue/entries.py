"""Entries of the queue as documents give them: the findings of one review, with its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from review.documents.base import timestamp
from review.domain.disposition import own_finding_text
from review.domain.paths import lens_of
from review.findings.documents import QueueEntryJson, QueueFindingJson
from review.findings.quotes import QuoteFinder, QuoteNow
from review.knowledge_base import Corpus
from review.models import batched
from review.queue.queue import Queue, QueueLine
from review.reviews.texts import rationales
from review.vocabulary import NoteNow, Seen

_AT_ONCE = 2500


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
