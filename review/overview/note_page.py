"""Everything the page of one note shows; the note may be gone, its reviews are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from review.documents.base import from_row, timestamp
from review.documents.problems import problem_json
from review.domain.paths import normalise_path
from review.domain.problems import Problem
from review.domain.regions import regions_of
from review.findings.states import read_findings_now
from review.knowledge_base import Corpus, NoSuchNote, UnreadableFile
from review.models import Acceptance, CurrentAcceptance, FileSnapshot, KbPath
from review.overview.documents import NoteEventJson, NoteFindingJson, NoteJson
from review.overview.note_pairs import (
    CurrentNote,
    PairRow,
    applicable_gates,
    read_accepted,
    read_pairs,
)
from review.reviews.pair_states import read_obligations
from review.selection.path_filters import gate_label
from review.settings.config import Config
from review.vocabulary import AcceptanceKind, DispositionState, Severity

_GRAVEST_FIRST: dict[str, int] = {Severity.FAIL: 0, Severity.WARN: 1, Severity.INFO: 2}


@dataclass(frozen=True)
class NotePageRequest:
    """A request for the page of a note.

    :param partitions: model partitions; none is those that the note has something in.
    :param before: acceptances of the history below this key; None starts with the newest.
    """

    path: str
    partitions: tuple[str, ...] = ()
    before: int | None = None
    history_size: int = 30


@dataclass(frozen=True)
class NotePage:
    """The note as it is, with its pairs, its open findings and its past, newest first.

    :param kept: the last text of the note that the store kept, where the file is gone.
    """

    now: CurrentNote
    document: NoteJson
    pairs: tuple[PairRow, ...]
    kept: FileSnapshot | None


def read_note_page(corpus: Corpus, request: NotePageRequest, *, config: Config) -> NotePage:
    """The page of a note that is there, or that the store has reviews of.

    :raises NoSuchNote: neither; the hint names near ones.
    :raises BadPath: the path is none below the root.
    """
    path = normalise_path(request.path)
    note_id = KbPath.objects.filter(path=path).values_list("pk", flat=True).first()
    now, problems = _now(corpus, path, note_id)
    _require_note(corpus, now, config)
    accepted = read_accepted(note_id)
    obligations = read_obligations(config)
    rows = read_pairs(
        corpus,
        now,
        accepted,
        partitions=request.partitions,
        obligations=obligations,
        gates_folder=config.gates_folder,
    )
    shown = {row.gate_path for row in rows}
    facts = now.facts
    document = NoteJson(
        note_path=path,
        sha256=facts.sha256 if facts else None,
        title=regions_of(now.text).title_text if now.text else "",
        status=facts.status if facts else "",
        type=facts.kind.type_path if facts else "",
        traits=sorted(facts.kind.traits) if facts else [],
        pairs=list(rows),
        unjudged_gates=[
            gate.gate_id
            for gate in applicable_gates(corpus, now)
            if gate.path not in shown and not obligations.is_owed(gate)
        ],
        findings=_findings(corpus, now, accepted, config),
        history=list(_history(note_id, request, config)),
        problems=[problem_json(problem) for problem in problems],
    )
    kept = None
    if now.text is None:
        texts = FileSnapshot.objects.filter(path_id=note_id)
        kept = texts.order_by("-captured_at", "-pk").first()
    return NotePage(now, document, rows, kept)


def _now(corpus: Corpus, path: str, path_id: int | None) -> tuple[CurrentNote, tuple[Problem, ...]]:
    try:
        note = corpus.read_note(path)
    except UnreadableFile as refused:
        return CurrentNote(path, path_id, None, None), (refused.problem,)
    facts = corpus.facts_of(note)
    return CurrentNote(path, path_id, facts, note.text), facts.problems


def _require_note(corpus: Corpus, now: CurrentNote, config: Config) -> None:
    """Refuse a path that is no note now and that the store does not know as one."""
    # A gate is known by its path, too.
    is_gate = now.path.startswith(f"{config.gates_folder}/")
    if now.path_id and not (is_gate and not Acceptance.objects.filter(note=now.path_id).exists()):
        return
    if not any(now.path.startswith(f"{root}/") for root in config.note_roots):
        raise NoSuchNote(
            f"{now.path!r} is no note: notes are below {', '.join(config.note_roots)}",
            hint="kb/review.toml names the folders of notes",
        )
    if now.text is None:
        corpus.notes([now.path])  # refuses it, with the names that look like it


def _findings(
    corpus: Corpus, now: CurrentNote, accepted: Iterable[CurrentAcceptance], config: Config
) -> list[NoteFindingJson]:
    """Open findings of current reviews: each once, as its latest review has it; gravest first."""
    gates = {gate.path: gate.sha256 for gate in corpus.gates.gates}
    rows = [
        (row, pair)
        for row in accepted
        if (pair := row.event.review_pair) is not None
        and row.event.kind != AcceptanceKind.OVERRIDE
        and gates.get(row.gate.path) == row.gate_snapshot.content_sha256
    ]
    digests = {now.path: now.facts.sha256} if now.facts else {}
    reviewed = [(pair, now.path, row.gate.path) for row, pair in rows]
    found = read_findings_now(corpus, reviewed, digests=digests)
    seen: dict[str, NoteFindingJson] = {}
    for (row, pair), findings in zip(rows, found, strict=True):
        for finding in findings:
            if finding.status == DispositionState.OPEN:
                item = NoteFindingJson(
                    gate_id=gate_label(row.gate.path, config.gates_folder),
                    model_partition=row.model_partition.name,
                    review_pair_id=pair.pk,
                    finding=finding,
                )
                seen.setdefault(finding.fingerprint, item)
    return sorted(
        seen.values(),
        key=lambda item: (
            _GRAVEST_FIRST[item.finding.severity],
            item.finding.line_now or 0,
            item.finding.fingerprint,
        ),
    )


def _history(
    note_id: int | None, request: NotePageRequest, config: Config
) -> Iterable[NoteEventJson]:
    rows = Acceptance.objects.filter(note_id=note_id).select_related(
        "gate", "model_partition", "note_snapshot"
    )
    if request.before is not None:
        rows = rows.filter(pk__lt=request.before)
    for row in rows.defer("note_snapshot__text").order_by("-pk")[: request.history_size + 1]:
        yield from_row(
            NoteEventJson,
            row,
            acceptance_event_id=row.pk,
            gate_id=gate_label(row.gate.path, config.gates_folder),
            model_partition=row.model_partition.name,
            at=timestamp(row.accepted_at),
            note_sha256=row.note_snapshot.content_sha256,
        )
