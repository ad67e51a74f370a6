"""Everything the page of one note shows; the note may be gone, its reviews are not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from review import models
from review.documents.base import (
    AcceptedJson,
    Document,
    Problems,
    from_row,
    timestamp,
)
from review.domain.paths import lens_of, normalise_path
from review.domain.staleness import Digests, regions_of, staleness_reasons
from review.findings.states import QueueFindingJson, read_findings_now
from review.knowledge_base import Corpus, Gate, NoSuchNote, NoteFacts, UnreadableFile
from review.reviews.pair_states import FRESH, Obligations, read_obligations
from review.selection.documents import ChangeJson
from review.selection.freshness import ChangeReader
from review.vocabulary import (
    GRAVITY,
    OPEN_JOB_STATUSES,
    QUEUED_DECISIONS,
    RULES_PARTITION,
    AcceptanceKind,
    Decision,
    DispositionState,
    Staleness,
)

ACT, REVIEW, NOTHING = "something", "review", "nothing"  # what a pair wants


GATE_GONE, NOT_APPLICABLE = "gate-gone", "not-applicable"


class NotePairJson(Document, kw_only=True):
    """The state of a note with one gate in one model partition.

    `state` is `fresh`, a staleness reason, or `gate-gone` or `not-applicable` where the gate no longer
    applies. Pairs with one `accepted_note_sha256` are stale for the same change of the note.
    `change` is null where nothing changed, or where it was not measured. `undecided` is a later
    review without a readable decision.
    """

    gate_id: str
    gate_path: str
    gate_sha256: str | None
    lens: str
    model_partition: str
    state: str
    reasons: list[str]
    decision: str | None = None
    kind: str | None = None
    accepted_at: str | None = None
    accepted_note_sha256: str | None = None
    accepted_note_snapshot_id: int | None = None
    actor: str | None = None
    reason: str | None = None
    review_pair_id: int | None
    undecided_pair_id: int | None
    open_review_job_id: int | None
    change: ChangeJson | None = None

    @property
    def is_gone(self) -> bool:
        return self.state in (GATE_GONE, NOT_APPLICABLE)

    @property
    def is_note_changed(self) -> bool:
        return Staleness.NOTE_CHANGED in self.reasons and not self.is_gone

    @property
    def is_changed(self) -> bool:
        return bool(self.accepted_at and self.reasons) and not self.is_gone

    @property
    def wants(self) -> str:
        """An act of a person, a first review, or nothing: fresh and passed, or no longer applicable."""
        if self.undecided_pair_id:
            return ACT
        if self.is_gone or (not self.reasons and self.decision == Decision.PASS):
            return NOTHING
        return ACT if self.accepted_at else REVIEW

    @property
    def can_ack(self) -> bool:
        """True if an ack of the note's change alone makes the pair fresh."""
        return self.reasons == [Staleness.NOTE_CHANGED] and self.review_pair_id is not None

    @property
    def is_trivial(self) -> bool:
        return self.can_ack and self.change is not None and self.change.trivial

    @property
    def percent(self) -> str:
        """The share of the body's words that changed; "<1" for a change that rounds to none."""
        if self.change is None or self.change.body_ratio is None:
            return ""
        percent = 100 * self.change.body_ratio
        return "<1" if 0 < percent < 1 else f"{percent:.0f}"


class NoteEventJson(AcceptedJson, kw_only=True):
    """One acceptance of the note's past."""

    acceptance_event_id: int
    decision: str
    note_sha256: str
    note_snapshot_id: int


class NoteFindingJson(Document, kw_only=True):
    gate_id: str
    model_partition: str
    review_pair_id: int
    finding: QueueFindingJson


class NoteJson(Document, kw_only=True, tag_field="schema", tag="note/1"):
    """The answer of a note's page; `sha256` is null when it is gone or cannot be read."""

    note_path: str
    sha256: str | None
    title: str
    status: str
    type: str
    traits: list[str]
    pairs: list[NotePairJson]
    unjudged_gates: list[str]
    findings: list[NoteFindingJson]
    history: list[NoteEventJson]
    problems: Problems


HISTORY = 30

Key = tuple[str, str]  # gate path and model partition


class NotePage(NamedTuple):
    """The document of a note with its text on disk, or as last `kept`."""

    document: NoteJson
    text: str | None
    kept: models.FileSnapshot | None


def read_note_page(
    corpus: Corpus, path: str, partitions: Sequence[str], before: int | None
) -> NotePage:
    """The page of a note that is there, or that the store has reviews of.

    :param before: acceptances of the history below this key; None starts with the newest.
    """
    path = normalise_path(path)
    note_id = models.KbPath.objects.filter(path=path).values_list("pk", flat=True).first()
    facts, text, problems = _now(corpus, path)
    _require_note(corpus, path, note_id, text)
    accepted = _accepted(note_id)
    sha256 = facts.sha256 if facts else None
    obligations = read_obligations(corpus)
    gates = [gate for gate in corpus.gates.gates if facts and gate.requirement.applies(facts.kind)]
    reader = _PairReader(corpus, path, facts, gates, accepted)
    pairs = reader.read(note_id, partitions, obligations)
    shown = {row.gate_path for row in pairs}
    unjudged = (gate for gate in gates if not (gate.path in shown or obligations.debtors([gate])))
    document = NoteJson(
        note_path=path,
        sha256=sha256,
        title=regions_of(text).title_text if text else "",
        status=facts.status if facts else "",
        type=facts.kind.type_path if facts else "",
        traits=sorted(facts.kind.traits) if facts else [],
        pairs=pairs,
        unjudged_gates=[gate.gate_id for gate in unjudged],
        findings=_findings(corpus, path, sha256, accepted),
        history=_history(note_id, before, corpus),
        problems=problems,
    )
    texts = models.FileSnapshot.objects.filter(path_id=note_id).order_by("-captured_at", "-pk")
    return NotePage(document, text, texts.first() if text is None else None)


def _now(corpus: Corpus, path: str) -> tuple[NoteFacts | None, str | None, Problems]:
    try:
        note = corpus.read_note(path)
    except UnreadableFile as refused:
        return None, None, (refused.problem,)
    facts = corpus.facts_of(note)
    return facts, note.text, facts.problems


def _require_note(corpus: Corpus, path: str, note_id: int | None, text: str | None) -> None:
    """Refuse a path that is no note now and that the store does not know as one."""
    # A gate is known by its path, too.
    is_gate = path.startswith(f"{corpus.config.gates_folder}/")
    if note_id and not (is_gate and not models.Acceptance.objects.filter(note=note_id).exists()):
        return
    if not corpus.config.is_among_notes(path):
        message = f"{path!r} is no note: notes are below {', '.join(corpus.config.note_roots)}"
        raise NoSuchNote(message, hint="kb/review.toml names the folders of notes")
    if text is None:
        corpus.notes([path])  # refuses it, with the names that look like it


def _accepted(note_id: int | None) -> list[models.CurrentAcceptance]:
    """Current acceptances of a note with all that a page shows of them, the latest first."""
    partitions = models.ModelPartition.objects.all()
    rows = models.CurrentAcceptance.objects.filter(model_partition__in=partitions, note_id=note_id)
    evidence = "event__review_pair"
    snapshots = ("note_snapshot", "gate_snapshot", f"{evidence}__note_snapshot")
    named = (f"{evidence}__{name}" for name in ("note", "gate", "job"))
    related = ("gate", "model_partition", "event", *named)
    rows = rows.select_related(*related, *snapshots)
    return list(rows.defer(*(f"{name}__text" for name in snapshots)).order_by("-event_id"))


class _PairReader:
    """Compares acceptances of one note with its current text and the current gates."""

    def __init__(
        self,
        corpus: Corpus,
        note_path: str,
        facts: NoteFacts | None,
        applicable: Collection[Gate],
        accepted: Iterable[models.CurrentAcceptance],
    ) -> None:
        self._corpus, self._note_path, self._facts = corpus, note_path, facts
        self._gates = {gate.path: gate for gate in corpus.gates.gates}
        self._applicable = {gate.path: gate for gate in applicable}
        self._known = {(row.gate.path, row.model_partition.name): row for row in accepted}
        self._changes = ChangeReader(corpus)
        rows = self._known.values() if facts else ()
        changed = (
            row for row in rows if facts and row.note_snapshot.content_sha256 != facts.sha256
        )
        self._changes.load({_judged_text(row) for row in changed})

    def read(
        self, note_id: int | None, partitions: Sequence[str], obligations: Obligations
    ) -> list[NotePairJson]:
        """Return the pairs that partitions must review or have accepted, by gate and partition."""
        pairs = models.ReviewPair.objects.filter(note_id=note_id)
        jobs = _latest(pairs.filter(job__status__in=OPEN_JOB_STATUSES), "job_id")
        # Without a readable decision, and without one that a person set.
        unknown = pairs.filter(decision__in=[Decision.ERROR, Decision.UNKNOWN])
        undecided = _latest(unknown.filter(decision_events__isnull=True), "pk")
        seen = {*self._known, *jobs, *undecided}
        seen_names = {name for _gate_path, name in seen}
        names = partitions or seen_names | obligations.debtors(self._applicable.values())
        owing = obligations.including(partitions)
        owed = {
            (path, name)
            for path, gate in self._applicable.items()
            for name in names
            if owing.owes(name, gate)
        }
        keys = sorted(owed | {key for key in seen if key[1] in names})
        return [self._pair(key, jobs.get(key), undecided.get(key, 0)) for key in keys]

    def _pair(self, key: Key, job_id: int | None, undecided: int) -> NotePairJson:
        gate_path, partition = key
        accepted, gate = self._known.get(key), self._gates.get(gate_path)
        event, note_text = accepted and accepted.event, accepted and accepted.note_snapshot
        current = Digests(note=self._facts and self._facts.sha256, gate=gate and gate.sha256)
        texts = (accepted.note_snapshot, accepted.gate_snapshot) if accepted else ()
        pinned = Digests(*(text.content_sha256 for text in texts)) if texts else None
        reasons = staleness_reasons(current=current, accepted=pinned)
        if not reasons and partition == RULES_PARTITION and self._is_outdated(accepted, gate):
            reasons = (Staleness.MISSING_REVIEW,)
        state = reasons[0].value if reasons else FRESH
        if gate is None or (self._facts and gate_path not in self._applicable):
            state = NOT_APPLICABLE if gate else GATE_GONE
        pair_id = event and event.review_pair_id
        gate_id = self._corpus.config.gate_label(gate_path)
        row = from_row(
            NotePairJson,
            event,  # of which None has nothing
            gate_id=gate_id,
            gate_path=gate_path,
            lens=lens_of(gate_id),
            model_partition=partition,
            state=state,
            reasons=[reason.value for reason in reasons],
            gate_sha256=gate and gate.sha256,
            review_pair_id=pair_id,
            undecided_pair_id=undecided if undecided > (pair_id or 0) else None,
            open_review_job_id=job_id,
            accepted_note_sha256=note_text and note_text.content_sha256,
            accepted_note_snapshot_id=note_text and note_text.pk,
        )
        if accepted and gate and row.is_note_changed:
            row.change = self._changes.change(self._note_path, gate, since=_judged_text(accepted))
        return row

    def _is_outdated(self, accepted: models.CurrentAcceptance | None, gate: Gate | None) -> bool:
        """True if the gate's rule saw the files that the note links to in another state."""
        seen = accepted and accepted.event.review_pair
        if not (seen and self._facts and gate):
            return False
        return seen.link_state != self._corpus.link_state(self._facts, gate)


def _judged_text(accepted: models.CurrentAcceptance) -> int:
    """The snapshot of the note that was judged; an ack accepts a later one."""
    evidence = accepted.event.review_pair
    return evidence.note_snapshot_id if evidence else accepted.note_snapshot_id


def _latest(pairs: QuerySet[models.ReviewPair], column: str) -> dict[Key, int]:
    rows = pairs.order_by("pk").values_list("gate__path", "job__model_partition__name", column)
    return {(gate, partition): value for gate, partition, value in rows}


def _findings(
    corpus: Corpus, path: str, sha256: str | None, accepted: Iterable[models.CurrentAcceptance]
) -> list[NoteFindingJson]:
    """Open findings that the queue has: of the last review of each gate that objects; gravest first."""
    gates = {gate.path: gate.sha256 for gate in corpus.gates.gates}
    rows = [
        (row, pair)
        for row in accepted
        if (pair := row.event.review_pair) is not None
        and row.decision in QUEUED_DECISIONS
        and row.event.kind != AcceptanceKind.OVERRIDE
        and gates.get(row.gate.path) == row.gate_snapshot.content_sha256
    ]
    last = {row.gate_id: row.pk for row, _pair in sorted(rows, key=lambda item: item[0].event_id)}
    rows = [(row, pair) for row, pair in rows if last[row.gate_id] == row.pk]
    reviewed = [(pair, path, row.gate.path) for row, pair in rows]
    found = read_findings_now(corpus, reviewed, digests={path: sha256} if sha256 else {})
    items = [
        NoteFindingJson(
            gate_id=corpus.config.gate_label(row.gate.path),
            model_partition=row.model_partition.name,
            review_pair_id=pair.pk,
            finding=finding,
        )
        for (row, pair), findings in zip(rows, found, strict=True)
        for finding in findings
        if finding.status == DispositionState.OPEN
    ]
    latest = {item.finding.fingerprint: item for item in reversed(items)}
    by_line = sorted(latest.items(), key=lambda pair: (pair[1].finding.line_now or 0, pair[0]))
    return sorted((it for _mark, it in by_line), key=lambda it: -GRAVITY[it.finding.severity])


def _history(note_id: int | None, before: int | None, corpus: Corpus) -> list[NoteEventJson]:
    """The newest acceptances, one more than a page shows."""
    related = ("gate", "model_partition", "note_snapshot")
    rows = models.Acceptance.objects.filter(note_id=note_id).select_related(*related)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return [
        from_row(
            NoteEventJson,
            row,
            acceptance_event_id=row.pk,
            gate_id=corpus.config.gate_label(row.gate.path),
            model_partition=row.model_partition.name,
            at=timestamp(row.accepted_at),
            note_sha256=row.note_snapshot.content_sha256,
        )
        for row in rows.defer("note_snapshot__text").order_by("-pk")[: HISTORY + 1]
    ]
