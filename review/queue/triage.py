"""Records and undoes dispositions, each only if the finding's state is still the one shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from review.acceptance.accept import recompute_states
from review.documents.base import Document, from_row
from review.domain.finding_identity import finding_state
from review.domain.paths import did_you_mean
from review.errors import Conflict, InputRejected, UsageRefused
from review.findings.states import FoundFinding, carried_to, find_finding
from review.knowledge_base import Corpus
from review.models import Disposition, FindingState, ReviewStore, batched, latest_of
from review.protocol.fix_answers import FixAnswer
from review.queue.queue import QueueFilter, queue_now
from review.selection.documents import KeyJson
from review.selection.names import is_there
from review.settings import Config
from review.vocabulary import DispositionState


class DisposedJson(KeyJson, kw_only=True, tag_field="schema", tag="dispose-finding/1"):
    """The answer of `dispose_finding`; `was` is null for a finding without an earlier disposition."""

    fingerprint: str
    severity: str
    text: str
    disposition: str
    was: str | None
    reason: str
    note_sha256: str


class DisposedAllJson(Document, kw_only=True, tag_field="schema", tag="dispose-finding/1"):
    """The answer of `dispose_finding -`, in the order of the lines."""

    findings: list[DisposedJson]


# More notes than this are listed in one scan; fewer are read one by one.
_READ_AT_MOST = 200


class QueueMoved(Conflict):
    """The findings that match are no longer those that were counted."""


@dataclass(frozen=True)
class DispositionRequest:
    """A disposition to record; `findings`: fingerprint to the disposition shown, 0 for none."""

    state: DispositionState
    actor: str
    reason: str = ""
    findings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Triaged:
    """The result of a request, named by `at` for an undo: fingerprints moved, and not moved."""

    at: datetime
    moved: tuple[str, ...]
    not_moved: tuple[Disposition, ...]


def dispose_each(
    answers: Sequence[FixAnswer], *, actor: str, corpus: Corpus, now: datetime
) -> list[DisposedJson]:
    """Append the disposition of each answer, whatever was decided before; or of none.

    Of a finding whose review was carried over from a path that is gone it is that at the new one.
    """
    known = [_known_now(answer.fingerprint, corpus) for answer in answers]
    answers = [replace(it, fingerprint=mark) for it, (mark, _) in zip(answers, known, strict=True)]
    found = dict(known)
    notes = {name: item.note_path for name, item in found.items()}
    rows, latest = _record(answers, notes, actor=actor, corpus=corpus, now=now)
    return [
        from_row(
            DisposedJson,
            found[row.fingerprint],
            fingerprint=row.fingerprint,
            gate_id=corpus.config.gate_id(found[row.fingerprint].gate_path),
            disposition=row.state,
            was=latest[row.fingerprint].state if row.fingerprint in latest else None,
            reason=row.reason,
            note_sha256=row.note_sha256,
        )
        for row in rows
    ]


def _known_now(fingerprint: str, corpus: Corpus) -> tuple[str, FoundFinding]:
    named = (fingerprint, _require_finding(fingerprint))
    for mark, found in (named, *carried_to(named[1])):
        has_note = is_there(corpus, found.note_path, kind="note")
        if has_note and is_there(corpus, found.gate_path, kind="gate"):
            return mark, found
    return named


def _require_finding(fingerprint: str) -> FoundFinding:
    if finding := find_finding(fingerprint):
        return finding
    near = did_you_mean(fingerprint, FindingState.objects.values_list("fingerprint", flat=True))
    hint = near or "commonplace warn_selector lists them"
    raise InputRejected(
        f"no finding has the fingerprint {fingerprint!r}", "unknown-finding", hint=hint
    )


def dispose_findings(request: DispositionRequest, *, config: Config, now: datetime) -> Triaged:
    """Append a disposition for each finding that got none since it was shown."""
    if not request.findings:
        raise UsageRefused(
            "no finding is selected", "nothing-chosen", hint="select some with the boxes, or key x"
        )
    shown, notes = request.findings, _notes_of(request.findings)
    answers = [FixAnswer(item, request.state, request.reason) for item in shown]
    with Corpus(config) as corpus:
        moved, latest = _record(
            answers, notes, actor=request.actor, corpus=corpus, now=now, shown=shown
        )
    return _triaged(shown, moved, latest, now)


def _record(
    answers: Sequence[FixAnswer],
    notes: Mapping[str, str],
    *,
    actor: str,
    corpus: Corpus,
    now: datetime,
    shown: Mapping[str, int] | None = None,
) -> tuple[list[Disposition], Mapping[str, Disposition]]:
    """Append dispositions, with `shown` only of findings that got none since; return the old too."""
    paths = set(notes.values())
    listed = corpus.notes() if len(paths) > _READ_AT_MOST else None
    digests = corpus.digests_of(paths, listed)
    with transaction.atomic():
        # First, so that what is read below holds until the commit.
        ReviewStore.objects.take_turn()
        latest = latest_of(notes)
        said = [
            _with_reason(it, latest)
            for it in answers
            if shown is None or _last_id(latest, it.fingerprint) == shown[it.fingerprint]
        ]
        rows = [_disposition(it, actor, digests.get(notes[it.fingerprint]), now=now) for it in said]
        _store(rows)
    return rows, latest


def dispose_matching(
    wanted: QueueFilter,
    expected: int,
    request: DispositionRequest,
    *,
    config: Config,
    now: datetime,
) -> Triaged:
    """Append a disposition for every finding that matches, if still as many as `expected`."""
    fingerprints = queue_now(config, wanted, now=now).fingerprints()
    if len(fingerprints) != expected:
        why = "somebody decided about some, or reviews came in; nothing was changed"
        message = f"{len(fingerprints):,} findings match now, not {expected:,}: {why}"
        raise QueueMoved(message, hint="go back, look at the new number and confirm it")
    latest = latest_of(fingerprints)
    shown = {item: _last_id(latest, item) for item in fingerprints}
    return dispose_findings(replace(request, findings=shown), config=config, now=now)


def undo(at: datetime, *, actor: str, now: datetime) -> Triaged:
    """Restore the earlier states of what `actor` decided at one moment, if unchanged since."""
    with transaction.atomic():
        ReviewStore.objects.take_turn()
        rows = list(Disposition.objects.filter(at=at, actor=actor).order_by("pk"))
        if not rows:
            raise Conflict("there is nothing of yours to take back", "nothing-to-undo")
        marks = [row.fingerprint for row in rows]
        latest = latest_of(marks)
        counting = [row for row in rows if latest[row.fingerprint].pk == row.pk]
        # Nobody else can decide between two rows of one action.
        earlier = latest_of(marks, Disposition.objects.filter(pk__lt=rows[0].pk))
        _store([_restored(row, earlier.get(row.fingerprint), actor, now) for row in counting])
    return _triaged(marks, counting, latest, now)


def _last_id(latest: Mapping[str, Disposition], fingerprint: str) -> int:
    return latest[fingerprint].pk if fingerprint in latest else 0


def _with_reason(answer: FixAnswer, latest: Mapping[str, Disposition]) -> FixAnswer:
    """Keep the last reason where the same is decided again without one."""
    last = latest.get(answer.fingerprint)
    is_again = last and last.state == answer.state and not answer.reason
    return replace(answer, reason=last.reason) if last and is_again else answer


def _disposition(
    answer: FixAnswer, actor: str, note_sha256: str | None, *, now: datetime
) -> Disposition:
    said = {"state": answer.state, "reason": answer.reason, "actor": actor, "at": now}
    return Disposition(fingerprint=answer.fingerprint, note_sha256=note_sha256 or "", **said)


def _store(rows: Sequence[Disposition]) -> None:
    Disposition.objects.bulk_create(rows, batch_size=500)
    recompute_states(row.fingerprint for row in rows)


def _triaged(
    fingerprints: Iterable[str],
    moved: Sequence[Disposition],
    latest: Mapping[str, Disposition],
    now: datetime,
) -> Triaged:
    done = dict.fromkeys(row.fingerprint for row in moved)
    others = (latest[item] for item in fingerprints if item not in done and item in latest)
    return Triaged(at=now, moved=tuple(done), not_moved=tuple(others))


def _notes_of(fingerprints: Collection[str]) -> dict[str, str]:
    """Return the note of each finding; it may have left the queue."""
    notes: dict[str, str] = {}
    for chunk in batched(fingerprints, 500):
        rows = FindingState.objects.filter(fingerprint__in=chunk)
        notes.update(rows.values_list("fingerprint", "note_path"))
    others = set(fingerprints) - notes.keys()
    return notes | {mark: _require_finding(mark).note_path for mark in others}


def _restored(
    row: Disposition, earlier: Disposition | None, actor: str, now: datetime
) -> Disposition:
    """Return what held before `row`: the earlier disposition, or open if it was not in force."""
    kept = earlier if earlier and _was_in_force(earlier, row) else None
    state, reason = (kept.state, kept.reason) if kept else (DispositionState.OPEN, "undone")
    answer = FixAnswer(row.fingerprint, DispositionState(state), reason)
    return _disposition(answer, actor, (kept or row).note_sha256, now=now)


def _was_in_force(earlier: Disposition, row: Disposition) -> bool:
    states = FindingState.objects.filter(fingerprint=row.fingerprint)
    read_at = states.aggregate(last=Max("text_read_at"))["last"]
    if read_at is None:
        return True
    now = finding_state(earlier, text_read_at=read_at, note_sha256=row.note_sha256)
    return now.state == earlier.state
