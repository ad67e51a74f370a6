"""The document of a check, `review-check/1`, and the report that its formats are written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from review.documents.base import Document, ProblemJson
from review.domain.printing import count_words
from review.knowledge_base import Gate
from review.vocabulary import Severity


class CheckFindingJson(Document, kw_only=True):
    """An open finding; `line` is in today's note; `new` is null without a baseline."""

    note_path: str
    gate_id: str
    model_partition: str
    severity: str
    text: str
    quote: str
    line: int | None
    fingerprint: str
    new: bool | None = None


class StalePairJson(Document, kw_only=True):
    """A pair without a review of it as it is; `reason` is one of staleness, or `decision-error`."""

    note_path: str
    gate_id: str
    reason: str


class NotesCheckJson(Document, kw_only=True):
    """The answer of `review_check`; `known` findings were hidden by `--new-only`."""

    schema: str = "review-check/1"
    merge_base: str | None = None
    notes: int
    gates: int
    pairs: int
    findings: list[CheckFindingJson]
    stale: list[StalePairJson]
    known: int = 0
    problems: list[ProblemJson]
    notices: list[str]
    tripped: str | None = None


@dataclass(frozen=True)
class Report:
    """A check with all gates, the pairs (note path, gate id) looked at, and the root's prefix."""

    document: NotesCheckJson
    gates: tuple[Gate, ...]
    pairs: tuple[tuple[str, str], ...]
    prefix: str

    def by_gravity(self) -> list[CheckFindingJson]:
        rank, findings = Severity.values.index, self.document.findings
        return sorted(findings, key=lambda found: (-rank(found.severity), not found.new))

    def stale_notes(self) -> Iterator[tuple[str, str]]:
        for note_path, pairs in groupby(self.document.stale, key=lambda pair: pair.note_path):
            reasons = sorted(Counter(pair.reason for pair in pairs).items())
            told = ", ".join(f"{number} {reason}" for reason, number in reasons)
            yield note_path, f"stale pairs: {told}"

    def summary(self) -> str:
        found = self.document
        counted = Counter(item.severity for item in found.findings)
        numbers = ", ".join(f"{counted[word]} {word}" for word in reversed(Severity.values))
        more = {
            "new,new": sum(bool(item.new) for item in found.findings),
            "known finding hidden,known findings hidden": found.known,
            "stale pair": len(found.stale),
            "problem": len(found.problems),
        }
        told = "".join(f", {count_words(n, noun)}" for noun, n in more.items() if n)
        tripped = f"; tripped: {found.tripped}" if found.tripped else ""
        looked = f"{count_words(found.notes, 'note')} by {count_words(found.gates, 'gate')}"
        return f"{looked}: {numbers}{told}{tripped}"
