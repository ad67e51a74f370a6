"""One finding: its text, its passage in the note, the gate's question, and earlier decisions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

from django.db.models import Q

from review import models
from review.documents.base import from_row
from review.domain.finding_identity import finding_state
from review.errors import InputRejected
from review.findings import states
from review.knowledge_base import Corpus, UnreadableFile
from review.queue.entries import make_entry
from review.queue.queue import Queue
from review.vocabulary import AcceptanceKind, Decision, NoteNow, Seen

_MAX_HISTORY = 50


class FindingPage(NamedTuple):
    """A finding and its context.

    :param line: in the queue, or made of the latest report of a finding that is not in it.
    :param passage: of today's note; of the reviewed one if `passage_is_old`.
    :param occurrences: other reviews' reports of it.
    """

    document: states.FindingPageJson
    line: models.FindingState
    passage: tuple[PassageLine, ...]
    passage_is_old: bool
    gate_description: str
    pair: models.ReviewPair
    dispositions: list[models.Disposition]
    occurrences: list[models.Finding]


def read_finding(fingerprint: str, *, queue: Queue, corpus: Corpus) -> FindingPage:
    """Read the finding with this fingerprint, in the queue or not."""
    line, out_because = _in_queue(fingerprint, queue) or _out_of_queue(fingerprint, corpus)
    pair = _pair(line.pair_id)
    rows = models.Disposition.objects.filter(fingerprint=fingerprint).order_by("-pk")
    dispositions, occurrences = list(rows[:_MAX_HISTORY]), _occurrences(line)
    latest = {it.fingerprint: it for it in dispositions[:1]}
    entry = make_entry(queue, [line], states.QuoteFinder(corpus), latest)
    passage, is_old = _passage(entry.findings[0], pair, corpus, line.note_path)
    document = from_row(
        states.FindingPageJson,
        entry,
        note_now=line.since,
        seen=line.seen,
        in_queue=not out_because,
        out_because=out_because,
        later_pass_in=list(entry.later_pass_in),
        finding=entry.findings[0],
        dispositions=[
            from_row(states.DispositionJson, it, disposition=it.state) for it in dispositions
        ],
        occurrences=[
            from_row(
                states.OccurrenceJson,
                it.pair,
                review_pair_id=it.pair_id,
                severity=it.severity,
                text=it.text,
                model_partition=it.pair.job.model_partition.name,
            )
            for it in occurrences
        ],
    )
    described = (gate.description for gate in corpus.gates.gates if gate.path == line.gate_path)
    about = next(described, "")
    return FindingPage(document, line, passage, is_old, about, pair, dispositions, occurrences)


def _in_queue(fingerprint: str, queue: Queue) -> tuple[models.FindingState, str] | None:
    """Return a line of the queue, and the reason if it is not shown."""
    rows = queue.every_row().filter(fingerprint=fingerprint)
    current = rows.filter(queue.condition("gate_now"))
    if shown := next(queue.lines(current.filter(queue.condition("shown"))), None):
        is_gone = shown.since == NoteNow.GONE
        return shown, queue.why_muted(shown) or ("its note is gone" if is_gone else "")
    latest = max(queue.lines(rows), key=lambda line: line.event_id, default=None)
    if latest is None:
        return None
    is_there = latest.gate_path in queue.gates.values()
    why = "its gate changed since" if is_there else "its gate is gone"
    later = "a later review by another model stands for this note and gate"
    return latest, later if current.exists() else why


def _out_of_queue(fingerprint: str, corpus: Corpus) -> tuple[models.FindingState, str]:
    """Return the latest report of a finding that no current acceptance rests on, as a line."""
    found = states.find_finding(fingerprint)
    if found is None:
        hint = "the queue lists those that want an edit"
        raise InputRejected(
            f"no review reported a finding {fingerprint!r}", "no-such-finding", hint=hint
        )
    pair = _pair(found.pair_id)
    row = models.Finding.objects.get(pair=pair, ordinal=found.ordinal)
    reports = models.Finding.objects.filter(fingerprint=row.fingerprint).order_by("pk")
    first_at = reports.values_list("pair__job__created_at", flat=True)[0]
    read_at, reviewed = pair.job.created_at, pair.note_snapshot.content_sha256
    digest = corpus.digests_of([found.note_path]).get(found.note_path)
    decided = models.latest_of([fingerprint]).get(fingerprint)
    now = finding_state(decided, text_read_at=read_at, note_sha256=digest or "")
    seen = Seen.PERSISTING if first_at < read_at else Seen.NEW
    note_now = NoteNow.SAME if digest == reviewed else NoteNow.CHANGED
    keys = models.KbPath.objects.ids([found.note_path, found.gate_path])
    key = Q(note_id=keys[found.note_path], gate_id=keys[found.gate_path])
    passed = models.CurrentAcceptance.objects.filter(key, decision=Decision.PASS)
    others = passed.exclude(model_partition=pair.job.model_partition)
    line = models.FindingState(
        note_path=found.note_path,
        gate_path=found.gate_path,
        ordinal=found.ordinal,
        pair=pair,
        finding=row,
        model_partition_id=pair.job.model_partition_id,
        decision=pair.decision,
        severity=row.severity,
        fingerprint=fingerprint,
        seen=Seen.REGRESSED if now.regressed else seen,
        first_at=first_at,
        passed_in=",".join(map(str, others.values_list("model_partition_id", flat=True))),
    )
    line.state_now, line.rank, line.accepted_at = now.state.value, 0, read_at
    line.text, line.quote, line.line = row.text, row.quote, row.note_line
    line.since = NoteNow.GONE if digest is None else note_now
    return line, _why_out(key, pair)


def _why_out(key: Q, pair: models.ReviewPair) -> str:
    rows = models.CurrentAcceptance.objects.select_related("event").filter(key)
    current = rows.filter(model_partition_id=pair.job.model_partition_id).first()
    if current is None:
        return "its review was not accepted"
    if current.event.kind == AcceptanceKind.OVERRIDE:
        return f"{current.event.actor} accepted the note as it is: {current.event.reason}"
    same = current.event.review_pair_id == pair.pk
    passed = "its review counts as a pass" if same else "a later review passed the note"
    return passed if current.decision == Decision.PASS else "the latest review does not report it"


def _pair(pair_id: int) -> models.ReviewPair:
    related = ("note_snapshot", "gate_snapshot", "job__model_partition", "review_text")
    return models.ReviewPair.objects.select_related(*related).get(pk=pair_id)


def _passage(
    finding: states.QueueFindingJson, pair: models.ReviewPair, corpus: Corpus, note_path: str
) -> tuple[tuple[PassageLine, ...], bool]:
    is_old, text = finding.line_now is None, ""
    with suppress(UnreadableFile):
        text = pair.note_snapshot.text if is_old else corpus.read_note(note_path).text
    line = finding.line_now or finding.line
    return () if line is None else cut_passage(text, line=line, quote=finding.quote), is_old


def _occurrences(line: models.FindingState) -> list[models.Finding]:
    """Return other reports of it, under its fingerprint here or where it was before."""
    finding_id = line.finding_id or 0
    own = models.Finding.objects.filter(pk=finding_id).values("fingerprint")
    rows = models.Finding.objects.filter(Q(fingerprint=line.fingerprint) | Q(fingerprint__in=own))
    rows = rows.exclude(pk=finding_id).select_related("pair__job__model_partition")
    return list(rows.order_by("-pk")[:_MAX_HISTORY])


_AROUND = 4
_MOST_LINES = 40
# A paragraph is often one line; a line may be a whole file.
_MAX_LINE = 1200
_MAX_BEFORE_QUOTE = 300
_WORD = re.compile(r"\w+")

Span = tuple[int, int]


class PassageLine(NamedTuple):
    """A line of the note, from 1; `marked` is the part of it that is quoted."""

    number: int
    before: str
    marked: str = ""
    after: str = ""


def cut_passage(text: str, *, line: int, quote: str) -> tuple[PassageLine, ...]:
    """Return the lines around `line`, where the quote begins; lines end at a line feed only."""
    lines = text.removesuffix("\n").split("\n") if text else []
    first = max(1, line - _AROUND)
    spans = _quoted(lines[line - 1 : first + _MOST_LINES - 1], quote)
    last = min(len(lines), line + max(spans, default=0) + _AROUND, first + _MOST_LINES - 1)
    shown = enumerate(lines[first - 1 : last], first)
    return tuple(_clipped(n, text.removesuffix("\r"), spans.get(n - line)) for n, text in shown)


def _quoted(lines: Sequence[str], quote: str) -> dict[int, Span]:
    """Return the range, in each line, of most words of the quote; the first line without any."""
    words = [re.escape(word) for word in _WORD.findall(quote)[:100]]
    if not words or not lines:
        return {}
    pattern = r"(?:\W+".join(rf"\b{word}\b" for word in words) + ")?" * (len(words) - 1)
    matches = re.finditer(pattern, "\n".join(lines), re.IGNORECASE)
    best = max(matches, key=lambda found: len(found[0]), default=None)
    if best is None:
        return {0: (0, len(lines[0]))}
    offsets = accumulate((len(line) + 1 for line in lines), initial=0)
    spans = (
        (max(0, best.start() - offset), min(len(line), best.end() - offset))
        for line, offset in zip(lines, offsets, strict=False)
    )
    return {at: (start, end) for at, (start, end) in enumerate(spans) if start < end}


def _clipped(number: int, text: str, span: Span | None) -> PassageLine:
    if span is None:
        return PassageLine(number, _short(text))
    start, end = span
    cut = max(0, start - _MAX_BEFORE_QUOTE) if len(text) > _MAX_LINE else 0
    before = ("…" if cut else "") + text[cut:start]
    after = text[end : end + max(0, _MAX_LINE - len(before) - (end - start))]
    more = "…" if len(text) > end + len(after) else ""
    return PassageLine(number, before, _short(text[start:end]), after + more)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]}…"
