"""Records what a person decided about a finding; the last word counts, and none is erased."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.acceptance.documents import DisposedJson
from review.acceptance.finding_states import restate_findings
from review.domain.paths import gate_id_of, near_matches
from review.errors import InputRejected, UsageRefused
from review.findings.lookup import find_finding, known_fingerprints
from review.knowledge_base import Corpus, UnreadableFile
from review.models import Disposition, ReviewStore
from review.settings.config import Config
from review.vocabulary import DispositionState


class UnknownFinding(InputRejected):
    """No review reported a finding with this fingerprint."""


@dataclass(frozen=True)
class DispositionRequest:
    """What to record about a finding, and in whose name."""

    fingerprint: str
    state: DispositionState
    actor: str
    reason: str = ""


def dispose_finding(
    request: DispositionRequest, *, corpus: Corpus, config: Config, now: datetime
) -> DisposedJson:
    """Append a disposition, with the note's digest as it is now: `deferred` holds until it changes.

    :raises UsageRefused: no actor is given.
    :raises UnknownFinding: no finding has this fingerprint; names near ones.
    """
    if not request.actor.strip():
        raise UsageRefused("a person's decision needs to say whose it is: --actor A")
    mark = request.fingerprint.strip().lower()
    finding = find_finding(mark)
    if finding is None:
        near = near_matches(mark, known_fingerprints())
        raise UnknownFinding(
            f"no finding has the fingerprint {mark!r}",
            hint=f"did you mean {', '.join(near)}?"
            if near
            else "commonplace warn_selector lists them",
        )
    gate_id = gate_id_of(finding.gate_path, gates_folder=config.gates_folder)
    digest = _digest_now(corpus, finding.note_path)
    with transaction.atomic():
        ReviewStore.objects.take_turn()
        earlier = Disposition.objects.latest_of([mark]).get(mark)
        row = Disposition.objects.create(
            fingerprint=mark,
            state=request.state,
            reason=request.reason,
            actor=request.actor,
            note_sha256=digest,
            at=now,
        )
        restate_findings([mark])
    return DisposedJson(
        fingerprint=mark,
        note_path=finding.note_path,
        gate_path=finding.gate_path,
        gate_id=gate_id,
        severity=finding.severity,
        text=finding.text,
        disposition=row.state,
        was=earlier.state if earlier is not None else None,
        reason=row.reason,
        note_sha256=row.note_sha256,
    )


def _digest_now(corpus: Corpus, note_path: str) -> str:
    """The note's digest, or nothing when it is gone or cannot be read."""
    try:
        return corpus.read_note(note_path).sha256
    except UnreadableFile:
        return ""
