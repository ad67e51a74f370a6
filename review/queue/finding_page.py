"""One finding: what it says, where in the note, why the gate asks, and what was said about it before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from review.documents.base import timestamp
from review.domain.disposition import Decided, finding_state
from review.domain.paths import lens_of
from review.errors import InputRejected
from review.findings.documents import QueueFindingJson
from review.findings.lookup import find_finding
from review.findings.page_documents import DispositionJson, FindingJson, OccurrenceJson
from review.findings.passages import PassageLine, cut_passage
from review.findings.quotes import QuoteFinder
from review.knowledge_base import Corpus, NoteList, UnreadableFile
from review.models import (
    CurrentAcceptance,
    Disposition,
    Finding,
    KbPath,
    ReviewPair,
)
from review.queue.entries import finding_json
from review.queue.queue import Queue, QueueLine
from review.selection.path_filters import digests_of
from review.vocabulary import AcceptanceKind, Decision, DispositionState, NoteNow, Seen

_SAID_AT_MOST = 50


class NoSuchFinding(InputRejected):
    """No review reported a finding with this fingerprint."""


@dataclass(frozen=True)
class Occurrence:
    """A review that reported the finding."""

    pair_id: int
    partition: str
    decision: str
    severity: str
    text: str
    reviewed_at: datetime | None


@dataclass(frozen=True)
class FindingPage:
    """A finding and what surrounds it.

    :param line: in the queue; None where it is not part of it.
    :param passage: of today's note; of the reviewed one where `passage_is_old`.
    :param gate_text: as the reviewer read it; the description is today's, or "".
    :param review_text: all that the review says.
    """

    document: FindingJson
    line: QueueLine | None
    passage: tuple[PassageLine, ...]
    passage_is_old: bool
    gate_description: str
    gate_text: str
    review_text: str
    first_at: datetime
    dispositions: tuple[Disposition, ...]
    occurrences: tuple[Occurrence, ...]

    @property
    def last_disposition_id(self) -> int:
        """0 where there is none."""
        return self.dispositions[0].pk if self.dispositions else 0


def read_finding(mark: str, *, queue: Queue, corpus: Corpus) -> FindingPage:
    """The finding with this fingerprint, in the queue or not.

    :raises NoSuchFinding: no review reported it.
    """
    in_queue = _in_queue(mark, queue)
    line, out_because = in_queue or _out_of_queue(mark, corpus)
    pair = _pair(line.pair_id)
    finding = finding_json(line, QuoteFinder(corpus))
    passage, is_old = _passage(finding, pair, corpus, line.note_path)
    dispositions = Disposition.objects.filter(fingerprint=mark).order_by("-pk")[:_SAID_AT_MOST]
    occurrences = _occurrences(line)
    gate_id = queue.gate_id(line.gate_path)
    descriptions = {gate.path: gate.description for gate in corpus.gates.gates}
    return FindingPage(
        document=FindingJson(
            note_path=line.note_path,
            gate_path=line.gate_path,
            gate_id=gate_id,
            lens=lens_of(gate_id),
            model_partition=queue.partitions[line.partition_id],
            decision=line.decision,
            review_pair_id=line.pair_id,
            note_now=line.since,
            seen=line.seen,
            in_queue=not out_because,
            out_because=out_because,
            later_pass_in=list(queue.passed_in(line)),
            finding=finding,
            dispositions=list(map(_disposition_json, dispositions)),
            occurrences=list(map(_occurrence_json, occurrences)),
        ),
        line=line if in_queue else None,
        passage=passage,
        passage_is_old=is_old,
        gate_description=descriptions.get(line.gate_path, ""),
        gate_text=pair.gate_snapshot.text,
        review_text=pair.review_text.text,
        first_at=line.first_at,
        dispositions=tuple(dispositions),
        occurrences=occurrences,
    )


def _in_queue(mark: str, queue: Queue) -> tuple[QueueLine, str] | None:
    """A line of the queue, and why it is not shown, if it is not."""
    shown = queue.every_row().filter(queue.filters["shown"].condition, fingerprint=mark)
    current = shown.filter(queue.filters["gate_now"].condition)
    found = list(queue.lines(current))
    if found:
        return found[0], "its note is gone" if found[0].since == NoteNow.GONE else ""
    rows = queue.every_row().filter(fingerprint=mark).order_by("-event_id")
    found = sorted(queue.lines(rows), key=lambda line: line.event_id, reverse=True)
    if not found:
        return None
    if rows.filter(queue.filters["gate_now"].condition).exists():
        return found[0], "a later review by another model stands for this note and gate"
    is_there = found[0].gate_path in queue.gates.values()
    return found[0], "its gate changed since" if is_there else "its gate is gone"


def _out_of_queue(mark: str, corpus: Corpus) -> tuple[QueueLine, str]:
    """The latest report of a finding that no current acceptance rests on, as a line."""
    placed = find_finding(mark)
    if placed is None:
        raise NoSuchFinding(
            f"no review reported a finding {mark!r}", hint="the queue lists those that want an edit"
        )
    pair = _pair(placed.pair_id)
    row = Finding.objects.get(pair=pair, ordinal=placed.ordinal)
    reports = Finding.objects.filter(fingerprint=row.fingerprint).order_by("pk")
    first_at = reports.values_list("pair__job__created_at", flat=True)[0]
    read_at, reviewed = pair.job.created_at, pair.note_snapshot.content_sha256
    digest = digests_of(corpus, NoteList((), ()), [placed.note_path]).get(placed.note_path)
    last = Disposition.objects.latest_of([mark]).get(mark)
    decided = Decided(DispositionState(last.state), last.note_sha256, last.at) if last else None
    now = finding_state(decided, text_read_at=read_at, note_sha256=digest or "")
    keys = KbPath.objects.ids([placed.note_path, placed.gate_path])
    key = Q(note_id=keys[placed.note_path], gate_id=keys[placed.gate_path])
    passed = CurrentAcceptance.objects.filter(key, decision=Decision.PASS)
    others = passed.exclude(model_partition=pair.job.model_partition)
    line = QueueLine(
        note_path=placed.note_path,
        gate_path=placed.gate_path,
        ordinal=placed.ordinal,
        event_id=0,
        pair_id=pair.pk,
        finding_id=row.pk,
        partition_id=pair.job.model_partition_id,
        decision=pair.decision,
        severity=row.severity,
        fingerprint=mark,
        state=now.state.value,
        seen=Seen.REGRESSED if now.regressed else _seen(first_at, read_at),
        since=_note_now(digest, reviewed),
        first_at=first_at,
        passed_in=",".join(map(str, others.values_list("model_partition_id", flat=True))),
        text=row.text,
        quote=row.quote,
        line=row.note_line,
        accepted_at=read_at,
    )
    return line, _why_out(key, pair)


def _seen(first_at: datetime, read_at: datetime) -> str:
    return Seen.PERSISTING if first_at < read_at else Seen.NEW


def _note_now(digest: str | None, reviewed: str) -> str:
    if digest is None:
        return NoteNow.GONE
    return NoteNow.SAME if digest == reviewed else NoteNow.CHANGED


def _why_out(key: Q, pair: ReviewPair) -> str:
    rows = CurrentAcceptance.objects.select_related("event").filter(key)
    current = rows.filter(model_partition_id=pair.job.model_partition_id).first()
    if current is None:
        return "its review was not accepted"
    if current.event.kind == AcceptanceKind.OVERRIDE:
        return f"{current.event.actor} accepted the note as it is: {current.event.reason}"
    if current.decision != Decision.PASS:
        return "the latest review does not report it"
    same = current.event.review_pair_id == pair.pk
    return "its review counts as a pass" if same else "a later review passed the note"


def _pair(pair_id: int) -> ReviewPair:
    return ReviewPair.objects.select_related(
        "note_snapshot", "gate_snapshot", "job__model_partition", "review_text"
    ).get(pk=pair_id)


def _passage(
    finding: QueueFindingJson, pair: ReviewPair, corpus: Corpus, note_path: str
) -> tuple[tuple[PassageLine, ...], bool]:
    if finding.line_now is not None:
        try:
            text = corpus.read_note(note_path).text
        except UnreadableFile:
            text = ""
        return cut_passage(text, line=finding.line_now, quote=finding.quote), False
    if finding.line is None:
        return (), True
    return cut_passage(pair.note_snapshot.text, line=finding.line, quote=finding.quote), True


def _occurrences(line: QueueLine) -> tuple[Occurrence, ...]:
    """Other reviews that reported it, under its fingerprint here or where it was before."""
    finding_id = line.finding_id or 0
    own = Finding.objects.filter(pk=finding_id).values("fingerprint")
    rows = (
        Finding.objects.filter(Q(fingerprint=line.fingerprint) | Q(fingerprint__in=own))
        .exclude(pk=finding_id)
        .order_by("-pk")
        .values_list(
            "pair_id",
            "pair__job__model_partition__name",
            "pair__decision",
            "severity",
            "text",
            "pair__reviewed_at",
        )
    )
    return tuple(Occurrence(*row) for row in rows[:_SAID_AT_MOST])


def _disposition_json(row: Disposition) -> DispositionJson:
    return DispositionJson(
        disposition=row.state, actor=row.actor, reason=row.reason, at=timestamp(row.at) or ""
    )


def _occurrence_json(one: Occurrence) -> OccurrenceJson:
    return OccurrenceJson(
        review_pair_id=one.pair_id,
        model_partition=one.partition,
        decision=one.decision,
        severity=one.severity,
        text=one.text,
        reviewed_at=timestamp(one.reviewed_at),
    )
