"""Words findings as commands show them."""

from __future__ import annotations

from review.findings.documents import QueueFindingJson
from review.vocabulary import DispositionState


def finding_state(finding: QueueFindingJson) -> str:
    """The finding's fingerprint, with what became of it."""
    state = "" if finding.status == DispositionState.OPEN else f", {finding.status}"
    return f"{finding.fingerprint}{state}{', regressed' if finding.regressed else ''}"
