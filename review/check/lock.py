"""The review lock: decisions and findings as text that is committed, or as the store holds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated

import msgspec
from msgspec.structs import asdict, astuple

from review.check.formats import CheckFindingJson, NotesCheckJson, Report
from review.documents.base import Problems, encode, from_row
from review.domain.printing import UNSAFE
from review.findings.states import QueueEntryJson
from review.git import prefix_of
from review.knowledge_base import Corpus, NoteFacts, NoteList, Problem
from review.models import CurrentAcceptance, KbPath, ModelPartition, NamedKeys
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from review.vocabulary import ACCEPTING_DECISIONS, Decision, DispositionState, ProblemCode, Severity

LOCK_PATH = "kb/review.lock"
_HEADER = b'{"schema":"review-lock/1"}'
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class LockedFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding of a review; `line` is 1-based in the reviewed text."""

    gate: str
    model: str
    severity: Severity
    fingerprint: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z")]
    line: Annotated[int, msgspec.Meta(ge=1)] | None = None
    text: str
    quote: str = ""
    state: DispositionState = DispositionState.OPEN


class LockedReview(msgspec.Struct, frozen=True):
    """Decisions of a model about one text of the note, by gate id."""

    model: str
    sha256: Sha256
    decisions: dict[str, Decision]


class LockedNote(msgspec.Struct, frozen=True):
    """The line of a note; findings are listed by gate, in the order in which reviews were accepted."""

    note: str
    reviews: tuple[LockedReview, ...] = ()
    findings: tuple[LockedFinding, ...] = ()

    def findings_of(self, gate_id: str) -> list[LockedFinding]:
        return [found for found in self.findings if found.gate == gate_id]

    def texts_of(self, gate_id: str, *models: str) -> list[str]:
        return [
            review.sha256
            for review in self.reviews
            if review.decisions.get(gate_id) in ACCEPTING_DECISIONS
            and (not models or review.model in models)
        ]


class LockedGate(msgspec.Struct, frozen=True):
    """The line of a gate: the text of it that all decisions in the lock were made by."""

    gate: str
    sha256: Sha256


@dataclass(frozen=True)
class Lock:
    """Reviews that count: digests by gate id, lines by note path."""

    gates: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, LockedNote] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def note(self, path: str) -> LockedNote:
        return self.notes.get(path) or LockedNote(path)


def lock_text(lock: Lock) -> str:
    """Write a lock, with nothing in it that acts on a terminal; equal reviews give equal bytes."""
    gates = [LockedGate(*item) for item in sorted(lock.gates.items())]
    notes = [lock.notes[path] for path in sorted(lock.notes)]
    text = "\n".join([_HEADER.decode(), *map(encode, gates), *map(encode, notes), ""])
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def read_lock(data: bytes, *, source: str = LOCK_PATH) -> Lock:
    """Read a lock; lines that cannot be read, or are two of one note or gate, are problems."""
    header, *lines = data.removesuffix(b"\n").split(b"\n")
    if header != _HEADER:
        message = f"expected {_HEADER.decode()}; nothing in the file counts"
        return Lock(problems=(_damaged(source, 1, message),))
    found: dict[tuple[type, str], LockedGate | LockedNote | None] = {}
    problems = []
    for number, line in enumerate(lines, 2):
        kind: type[LockedGate | LockedNote] = (
            LockedGate if line.startswith(b'{"gate":') else LockedNote
        )
        try:
            read = msgspec.json.decode(line, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            problems.append(_damaged(source, number, str(error)))
            continue
        key = kind, astuple(read)[0]
        if key in found:
            message = "a second line of this note or gate; neither counts"
            problems.append(_damaged(source, number, message))
        found[key] = None if key in found else read
    kept = found.values()
    return Lock(
        gates={item.gate: item.sha256 for item in kept if isinstance(item, LockedGate)},
        notes={item.note: item for item in kept if isinstance(item, LockedNote)},
        problems=tuple(problems),
    )


def _damaged(source: str, line: int, message: str) -> Problem:
    told = f"{message}: export the lock again"
    return Problem(source, ProblemCode.DAMAGED_LOCK, told, skipped=True, line=line)


_COLUMNS = (
    "note__path", "gate__path", "model_partition__name", "note_snapshot__content_sha256",
    "gate_snapshot__content_sha256", "decision",
)  # fmt: skip


def stored_lock(corpus: Corpus, notes: Sequence[NoteFacts]) -> Lock:
    """Return what is accepted of notes, and the findings of the queue in every state.

    Decisions about a gate were made by one text of it: today's if any was, else the last.
    """
    models = dict(ModelPartition.objects.values_list("pk", "name")) if notes else {}
    rows = CurrentAcceptance.objects.filter(model_partition_id__in=list(models))
    paths = {note.path for note in notes}
    rows = rows.filter(note_id__in=NamedKeys(KbPath.objects.ids(paths).values()))
    today = {gate.gate_id: gate.sha256 for gate in corpus.gates.gates}
    accepted = [
        (note, gate_id, *others)
        for note, gate, *others in rows.order_by("event_id").values_list(*_COLUMNS)
        if (gate_id := corpus.config.gate_label(gate)) in today
    ]
    # Today's come last.
    by_age = sorted(accepted, key=lambda row: row[4] == today[row[1]])
    gates = {gate_id: by_text for _note, gate_id, _model, _sha256, by_text, _decision in by_age}
    reviews: dict[str, dict[tuple[str, str], dict[str, Decision]]] = defaultdict(dict)
    for note, gate_id, model, sha256, by_text, decision in accepted:
        if gates[gate_id] == by_text:
            reviews[note].setdefault((model, sha256), {})[gate_id] = Decision(decision)
    findings = _findings(corpus, notes, sorted(models.values()))
    lines = {}
    for path, by in reviews.items():
        locked = [LockedReview(*key, dict(sorted(by[key].items()))) for key in sorted(by)]
        lines[path] = LockedNote(path, tuple(locked), tuple(findings[path]))
    return Lock(gates, lines)


def _findings(
    corpus: Corpus, notes: Sequence[NoteFacts], models: Sequence[str]
) -> dict[str, list[LockedFinding]]:
    wanted = QueueFilter(
        notes=tuple(note.path for note in notes),
        gates=tuple(gate.path for gate in corpus.gates.gates),  # muted ones only if named
        states=tuple(DispositionState.values),
    )
    listed = NoteList(tuple(notes), ())
    found: dict[str, list[LockedFinding]] = defaultdict(list)
    # Of all models at once the queue has one entry a pair.
    filters = [replace(wanted, partitions=(model,)) for model in models]
    queues = [read_warn_queue(corpus, one, listed=listed).entries for one in filters]
    for entry in sorted(chain(*queues), key=lambda entry: (entry.gate_id, entry.accepted_at or "")):
        keys = {"gate": entry.gate_id, "model": entry.model_partition}
        found[entry.note_path] += [
            msgspec.convert({**asdict(item), **keys, "state": item.status}, LockedFinding)
            for item in entry.findings
        ]
    return found


def queue_report(listed: Iterable[QueueEntryJson], problems: Problems, corpus: Corpus) -> Report:
    entries = list(listed)
    pairs = tuple((entry.note_path, entry.gate_id) for entry in entries)
    document = NotesCheckJson(
        notes=len({note for note, _gate in pairs}),
        gates=len({gate for _note, gate in pairs}),
        pairs=len(pairs),
        findings=[
            from_row(
                CheckFindingJson,
                item,
                note_path=entry.note_path,
                gate_id=entry.gate_id,
                model_partition=entry.model_partition,
                line=item.line_now,
            )
            for entry in entries
            for item in entry.findings
        ],
        stale=[],
        problems=problems,
        notices=[],
    )
    return Report(document, corpus.gates.gates, pairs, prefix_of(corpus.config.root))
