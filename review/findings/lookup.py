"""The note and gate that a finding's fingerprint belongs to, also where its review was carried over."""

from __future__ import annotations

from dataclasses import dataclass

from review.domain.disposition import own_finding_text
from review.domain.finding_identity import own_fingerprints
from review.models import Acceptance, Finding, FindingState
from review.selection.path_filters import gate_label
from review.vocabulary import AcceptanceKind

_NEAR_AMONG = 200_000
# Names stand in cookies, which hold 4 kB.
_TEXT_SHOWN = 90
_PATH_SHOWN = 80


@dataclass(frozen=True, slots=True)
class FoundFinding:
    """A finding at the note and gate where it is known by its fingerprint.

    :param pair_id: of the review that reported it, as its `ordinal`-th; 0 for its own decision.
    """

    note_path: str
    gate_path: str
    severity: str
    text: str
    pair_id: int
    ordinal: int

    def name(self, *, gates_folder: str) -> str:
        """Return the finding in one line."""
        words = " ".join(self.text.split())
        text = words if len(words) <= _TEXT_SHOWN else f"{words[:_TEXT_SHOWN].rstrip()}…"
        gate_id = gate_label(self.gate_path, gates_folder)
        return f"“{text}” ({_tail(gate_id)} in {_tail(self.note_path)})"


def _tail(path: str) -> str:
    return path if len(path) <= _PATH_SHOWN else f"…{path[-_PATH_SHOWN:]}"


def find_finding(fingerprint: str) -> FoundFinding | None:
    """Return the latest finding with this fingerprint, or None.

    A review that was carried over has its findings under fingerprints of the new path. Where it
    does not count any more, no row has them: they are computed again, all of them, which takes long.
    """
    states = FindingState.objects.filter(fingerprint=fingerprint).order_by(
        "later_objections", "-event_id"
    )
    columns = ("note_path", "gate_path", "severity", "finding__text", "pair_id", "ordinal")
    for note, gate, severity, text, pair_id, ordinal in states.values_list(*columns)[:1]:
        text = own_finding_text(severity) if text is None else text
        return FoundFinding(note, gate, severity, text, pair_id, ordinal)
    rows = Finding.objects.filter(fingerprint=fingerprint).order_by("-pk")
    columns = ("pair__note__path", "pair__gate__path", "severity", "text", "pair_id", "ordinal")
    row = rows.values_list(*columns).first()
    return FoundFinding(*row) if row is not None else _find_carried(fingerprint)


def known_fingerprints() -> list[str]:
    """Return fingerprints of stored findings, to suggest near ones."""
    found = Finding.objects.order_by("-pk").values_list("fingerprint", flat=True)
    return list(found[:_NEAR_AMONG])


def _find_carried(fingerprint: str) -> FoundFinding | None:
    carried = Acceptance.objects.filter(kind=AcceptanceKind.CARRY_OVER).order_by("-pk")
    keys = carried.values_list("review_pair_id", "note__path", "gate__path")
    for pair_id, note_path, gate_path in keys.iterator():
        findings = list(Finding.objects.filter(pair_id=pair_id).order_by("ordinal"))
        values = own_fingerprints(findings, note_path=note_path, gate_path=gate_path)
        if fingerprint in values:
            row = findings[values.index(fingerprint)]
            return FoundFinding(note_path, gate_path, row.severity, row.text, pair_id, row.ordinal)
    return None
