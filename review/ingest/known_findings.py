"""Earlier findings of the pairs whose reviews are read, and the note texts that were reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from typing import Any

from review.domain.finding_identity import KnownFinding, own_fingerprints
from review.models import Acceptance, FileSnapshot, Finding, ReviewPair, batched
from review.protocol.quote_location import locate_findings, quote_lines
from review.vocabulary import AcceptanceKind

# The newest, of a hundred pairs of one job.
_EARLIER_FINDINGS = 5_000
# With more than this of all jobs together, each is queried on its own.
_SHARED_FINDINGS = 1_000

# The keys of a note and a gate, and what a review of them reported.
_Found = tuple[int, int, KnownFinding]


class KnownFindings:
    """Earlier findings and note texts for jobs that are read one after the other.

    What is added of a job is earlier for those after it, as if it were stored already.
    """

    def __init__(self, jobs: Sequence[Sequence[ReviewPair]]) -> None:
        """Take the pairs of each job that report findings; fetches for all of them together."""
        pairs = [pair for job in jobs for pair in job]
        self._texts: dict[int, str] = {}
        self._read_texts(pair.note_snapshot_id for pair in pairs)
        self._shared: list[_Found] | None = None
        if sum(map(bool, jobs)) > 1:
            found = self._stored(pairs, _SHARED_FINDINGS + 1)
            self._shared = found if len(found) <= _SHARED_FINDINGS else None
        self._added: list[_Found] = []

    def note_text(self, pair: ReviewPair) -> str:
        """Return the note's text as it was reviewed."""
        key = pair.note_snapshot_id
        if key not in self._texts:
            self._texts[key] = FileSnapshot.objects.values_list("text", flat=True).get(pk=key)
        return self._texts[key]

    def earlier(self, pairs: Sequence[ReviewPair]) -> dict[tuple[int, int], list[KnownFinding]]:
        """Return findings of earlier reviews, newest first, by the keys of note and gate.

        :param pairs: those of one job that report findings.
        """
        found: dict[tuple[int, int], list[KnownFinding]] = {}
        for chunk in batched(pairs, 100):
            for note_id, gate_id, known in islice(self._newest(chunk), _EARLIER_FINDINGS):
                found.setdefault((note_id, gate_id), []).append(known)
        return found

    def add(self, pair: ReviewPair, findings: Iterable[Finding]) -> None:
        """Count the findings of a pair among the earlier ones from now on."""
        added = [
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
        self._added[:0] = [(pair.note_id, pair.gate_id, known) for known in added]

    def _newest(self, pairs: Sequence[ReviewPair]) -> Iterator[_Found]:
        notes = {pair.note_id for pair in pairs}
        gates = {pair.gate_id for pair in pairs}
        stored = self._stored(pairs, _EARLIER_FINDINGS) if self._shared is None else self._shared
        for found in chain(self._added, stored):
            if found[0] in notes and found[1] in gates:
                yield found

    def _stored(self, pairs: Sequence[ReviewPair], limit: int) -> list[_Found]:
        notes = {pair.note_id for pair in pairs}
        gates = {pair.gate_id for pair in pairs}
        rows = (
            Finding.objects.filter(pair__note_id__in=notes, pair__gate_id__in=gates)
            .order_by("-pair_id", "ordinal")
            .values_list("pair__note_id", "pair__gate_id", "pair_id", *_COLUMNS)[:limit]
        )
        found: list[tuple[Any, ...]] = list(rows)
        if len(found) < limit:
            found += _carried(notes, gates)
        self._read_texts(row[-1] for row in found)
        stored: list[_Found] = []
        for (note_id, gate_id, _pair_id), group in groupby(found, key=lambda row: row[:3]):
            known = [
                replace(KnownFinding(*row[3:-1]), note_text=self._texts.get(row[-1], ""))
                for row in group
            ]
            stored += [(note_id, gate_id, item) for item in _located(known)]
        return stored

    def _read_texts(self, snapshot_ids: Iterable[int]) -> None:
        wanted = set(snapshot_ids) - self._texts.keys()
        for chunk in batched(sorted(wanted), 500):
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
    found: dict[int, list[tuple[Any, ...]]] = {}
    for chunk in batched(sorted({key[0] for key in keys}), 500):
        rows = Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal")
        for pair_id, *row in rows.values_list("pair_id", *_COLUMNS):
            found.setdefault(pair_id, []).append(tuple(row))
    for pair_id, note_id, gate_id, note_path, gate_path in keys:
        rows_of_pair = found.get(pair_id, [])
        known = [KnownFinding(*row[:3]) for row in rows_of_pair]
        values = own_fingerprints(known, note_path=note_path, gate_path=gate_path)
        for value, row in zip(values, rows_of_pair, strict=True):
            yield (note_id, gate_id, pair_id, value, *row[1:])


def _located(findings: list[KnownFinding]) -> list[KnownFinding]:
    """The findings of a review, with lines that can be relied on.

    Of a quote that occurs several times, older versions always stored the first line.
    """
    doubtful = [
        len(places := quote_lines(item.note_text, item.quote)) > 1 and item.line == places[0]
        for item in findings
    ]
    if not any(doubtful):
        return findings
    sure = [
        replace(item, line=None) if doubt else item
        for item, doubt in zip(findings, doubtful, strict=True)
    ]
    lines = locate_findings(sure[0].note_text, sure)
    return [
        replace(item, line=line if doubt else item.line)
        for item, line, doubt in zip(findings, lines, doubtful, strict=True)
    ]


_COLUMNS = ("fingerprint", "quote", "text", "severity", "note_line", "pair__note_snapshot_id")
