"""One finding: what it says, where in the note, why the gate asks, and what was said about it before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from review.contracts.base import timestamp
from review.contracts.finding import FindingJson, OccurrenceJson, SpokenJson
from review.contracts.queue import QueueFindingJson
from review.corpus import Corpus, UnreadableFile
from review.domain.identity import lens_of
from review.errors import InputRejected
from review.models import CurrentAcceptance, Disposition, Finding, KbPath, ReviewPair
from review.queries.files_now import Files
from review.queries.finding_places import find_finding
from review.queries.passages import PassageLine, cut_passage
from review.queries.queue_board import GONE, NEW, PERSISTING, REGRESSED, QueueBoard
from review.queries.queue_lines import QueueLine
from review.queries.queue_shown import Shown, Spoken, as_spoken, read_shown
from review.queries.review_details import gate_label
from review.vocabulary import AcceptanceKind, Decision

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

    :param number: of its line on the board, None where it is not on it.
    :param passage: of today's note; of the reviewed one where `passage_is_old`.
    :param gate_text: as the reviewer read it; the description is today's, or "".
    :param review_text: all that the review says.
    """

    document: FindingJson
    number: int | None
    passage: tuple[PassageLine, ...]
    passage_is_old: bool
    gate_description: str
    gate_text: str
    review_text: str
    first_at: datetime
    last_word_id: int
    spoken: tuple[Spoken, ...]
    occurrences: tuple[Occurrence, ...]


@dataclass(frozen=True)
class _Found:
    line: QueueLine
    pair: ReviewPair
    number: int | None
    out_because: str


def read_finding(
    mark: str, *, board: QueueBoard, files: Files, corpus: Corpus, gates_folder: str
) -> FindingPage:
    """The finding with this fingerprint, in the queue or not.

    :raises NoSuchFinding: no review reported it.
    """
    found = _on_board(mark, board, files) or _off_board(mark)
    line = found.line
    shown = read_shown(board, corpus, [line])
    finding = shown.finding(line)
    if finding is None:
        raise _no_such(mark)
    occurrences, spoken = _occurrences(line), _spoken(mark)
    gate = files.gate_of.get(line.gate_path)
    passage, is_old = _passage(finding, found.pair, corpus, line.note_path)
    return FindingPage(
        document=_document(
            found,
            finding,
            shown,
            gate_id=gate_label(line.gate_path, gates_folder),
            spoken=spoken,
            occurrences=occurrences,
        ),
        number=found.number,
        passage=passage,
        passage_is_old=is_old,
        gate_description=gate.description if gate else "",
        gate_text=found.pair.gate_snapshot.text,
        review_text=found.pair.review_text.text,
        first_at=line.first_at,
        last_word_id=spoken[0].disposition_id if spoken else 0,
        spoken=spoken,
        occurrences=occurrences,
    )


def _on_board(mark: str, board: QueueBoard, files: Files) -> _Found | None:
    numbers = board.layout.places.get(mark, ())
    if not numbers:
        return None
    placing = board.placing
    number = max(numbers, key=lambda n: (placing.latest[n], board.lines[n].event_id))
    line = board.lines[number]
    why = ""
    if not placing.current[number]:
        why = "its gate changed since" if line.gate_path in files.gate_of else "its gate is gone"
    elif not placing.latest[number]:
        why = "a later review by another model stands for this note and gate"
    elif placing.since[number] == GONE:
        why = "its note is gone"
    return _Found(line, _pair(line.pair_id), number, why)


def _off_board(mark: str) -> _Found:
    placed = find_finding(mark)
    if placed is None:
        raise _no_such(mark)
    pair = _pair(placed.pair_id)
    paths = KbPath.objects.ids([placed.note_path, placed.gate_path])
    row = Finding.objects.get(pair=pair, ordinal=placed.ordinal)
    first = Finding.objects.filter(fingerprint=row.fingerprint).order_by("pk")
    read_at = first.values_list("pair__job__created_at", flat=True)[0]
    line = QueueLine(
        note_path=placed.note_path,
        gate_path=placed.gate_path,
        ordinal=placed.ordinal,
        event_id=0,
        note_id=paths[placed.note_path],
        gate_id=paths[placed.gate_path],
        folder=placed.note_path.rpartition("/")[0],
        partition=pair.job.model_partition.name,
        decision=pair.decision,
        pair_id=pair.pk,
        note_sha256=pair.note_snapshot.content_sha256,
        gate_sha256=pair.gate_snapshot.content_sha256,
        finding_id=row.pk,
        severity=row.severity,
        fingerprint=mark,
        text_read_at=pair.job.created_at,
        first_at=read_at,
        repeated=read_at < pair.job.created_at,
        moved=(placed.note_path, placed.gate_path) != (pair.note.path, pair.gate.path),
    )
    return _Found(line, pair, None, _why_out(line, pair))


def _why_out(line: QueueLine, pair: ReviewPair) -> str:
    current = (
        CurrentAcceptance.objects.select_related("event")
        .filter(
            note_id=line.note_id,
            gate_id=line.gate_id,
            model_partition_id=pair.job.model_partition_id,
        )
        .first()
    )
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
        "note",
        "gate",
        "note_snapshot",
        "gate_snapshot",
        "job__model_partition",
        "review_text",
    ).get(pk=pair_id)


def _no_such(mark: str) -> NoSuchFinding:
    return NoSuchFinding(
        f"no review reported a finding {mark!r}", hint="the queue lists those that want an edit"
    )


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
    own = Finding.objects.filter(pk=line.finding_id).values("fingerprint")
    rows = (
        Finding.objects.filter(Q(fingerprint=line.fingerprint) | Q(fingerprint__in=own))
        .exclude(pk=line.finding_id)
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


def _spoken(mark: str) -> tuple[Spoken, ...]:
    rows = Disposition.objects.filter(fingerprint=mark).order_by("-pk")
    return tuple(as_spoken(row) for row in rows[:_SAID_AT_MOST])


def _document(
    found: _Found,
    finding: QueueFindingJson,
    shown: Shown,
    *,
    gate_id: str,
    spoken: Iterable[Spoken],
    occurrences: Iterable[Occurrence],
) -> FindingJson:
    line = found.line
    return FindingJson(
        note_path=line.note_path,
        gate_path=line.gate_path,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        model_partition=line.partition,
        decision=line.decision,
        review_pair_id=line.pair_id,
        note_now=shown.since(line),
        seen=REGRESSED if finding.regressed else PERSISTING if line.repeated else NEW,
        in_queue=not found.out_because,
        out_because=found.out_because,
        later_pass_in=list(shown.passed_later(line)),
        finding=finding,
        dispositions=[
            SpokenJson(
                disposition=word.state,
                actor=word.actor,
                reason=word.reason,
                at=timestamp(word.at) or "",
            )
            for word in spoken
        ],
        occurrences=[
            OccurrenceJson(
                review_pair_id=one.pair_id,
                model_partition=one.partition,
                decision=one.decision,
                severity=one.severity,
                text=one.text,
                reviewed_at=timestamp(one.reviewed_at),
            )
            for one in occurrences
        ],
    )
