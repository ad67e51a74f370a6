"""Earlier findings of the pairs whose reviews are read, and the note texts that were reviewed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from review.domain.finding_identity import KnownFinding, own_fingerprints
from review.models import Acceptance, FileSnapshot, Finding, ReviewPair, batched
from review.vocabulary import AcceptanceKind

# The newest, of a hundred pairs.
_EARLIER_FINDINGS = 5_000
_COLUMNS = ("fingerprint", "quote", "text", "severity", "note_line", "pair__note_snapshot_id")

_Key = tuple[int, int]  # of a note and a gate


class KnownFindings:
    """Earlier findings and note texts for jobs that are read one after the other.

    What is added of a job is earlier for those after it, as if it were stored already.
    """

    def __init__(self, pairs: Collection[ReviewPair]) -> None:
        """Take the pairs that report findings; fetches for all of them together."""
        self._texts: dict[int, str] = {}
        self._found: defaultdict[_Key, list[KnownFinding]] = defaultdict(list)
        self._read_texts(pair.note_snapshot_id for pair in pairs)
        for keys in batched(dict.fromkeys((pair.note_id, pair.gate_id) for pair in pairs), 100):
            self._read_findings(keys)

    def note_text(self, pair: ReviewPair) -> str:
        """Return the note's text as it was reviewed."""
        self._read_texts([pair.note_snapshot_id])
        return self._texts[pair.note_snapshot_id]

    def earlier(self, pair: ReviewPair) -> list[KnownFinding]:
        """Return findings of earlier reviews of the note and gate, newest first."""
        return self._found[pair.note_id, pair.gate_id]

    def add(self, pair: ReviewPair, findings: Iterable[Finding]) -> None:
        """Count the findings of a pair among the earlier ones from now on."""
        self.earlier(pair)[:0] = [
            KnownFinding(
                new.fingerprint,
                new.quote,
                new.text,
                new.severity,
                new.note_line,
                self.note_text(pair),
            )
            for new in findings
        ]

    def _read_findings(self, keys: Collection[_Key]) -> None:
        notes, gates = {note for note, _gate in keys}, {gate for _note, gate in keys}
        stored = (
            Finding.objects.filter(pair__note_id__in=notes, pair__gate_id__in=gates)
            .order_by("-pair_id", "ordinal")
            .values_list("pair__note_id", "pair__gate_id", *_COLUMNS)[:_EARLIER_FINDINGS]
        )
        found: list[tuple[Any, ...]] = [*stored, *_carried(notes, gates)]
        rows = [row for row in found if row[:2] in keys]
        self._read_texts(row[-1] for row in rows)
        for note_id, gate_id, mark, quote, text, severity, line, text_id in rows:
            known = KnownFinding(mark, quote, text, severity, line, self._texts[text_id])
            self._found[note_id, gate_id].append(known)

    def _read_texts(self, snapshot_ids: Iterable[int]) -> None:
        for chunk in batched(sorted(set(snapshot_ids) - self._texts.keys()), 500):
            rows = FileSnapshot.objects.filter(pk__in=chunk)
            self._texts.update(rows.values_list("pk", "text"))


def _carried(notes: set[int], gates: set[int]) -> Iterator[tuple[Any, ...]]:
    """Findings of reviews that were carried over to one of the keys, as they are known there."""
    carried = (
        Acceptance.objects.filter(
            kind=AcceptanceKind.CARRY_OVER, note_id__in=notes, gate_id__in=gates
        )
        .order_by("-pk")
        .values_list("review_pair_id", "note_id", "gate_id", "note__path", "gate__path")
    )
    keys = list(dict.fromkeys(carried))
    found: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for chunk in batched(sorted({key[0] for key in keys}), 500):
        rows = Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal")
        for pair_id, *row in rows.values_list("pair_id", *_COLUMNS):
            found[pair_id].append(tuple(row))
    for pair_id, note_id, gate_id, note_path, gate_path in keys:
        known = [KnownFinding(*row[:3]) for row in found[pair_id]]
        values = own_fingerprints(known, note_path=note_path, gate_path=gate_path)
        for value, row in zip(values, found[pair_id], strict=True):
            yield (note_id, gate_id, value, *row[1:])
