"""What was found before in the pairs that are judged, and the texts that findings quote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from review.domain.finding_identity import KnownFinding
from review.models import FileSnapshot, Finding, ReviewPair, batched

# The newest, of a hundred pairs of one job.
_EARLIER_FINDINGS = 500
# With more than this of all jobs together each is asked for on its own.
_SHARED_FINDINGS = 1_000

# The keys of a note and a gate, and what a review of them reported.
_Found = tuple[int, int, KnownFinding]


class KnownFindings:
    """Earlier findings and note texts for jobs that are judged one after the other.

    What a job brings is earlier for those after it, as if it were stored before they are judged.
    """

    def __init__(self, jobs: Sequence[Sequence[ReviewPair]]) -> None:
        """Take the pairs of each job that report findings; fetches for all of them together."""
        pairs = [pair for job in jobs for pair in job]
        snapshots = FileSnapshot.objects.filter(pk__in={pair.note_snapshot_id for pair in pairs})
        self._texts = dict(snapshots.values_list("pk", "text"))
        self._shared = _shared(pairs) if sum(map(bool, jobs)) > 1 else None
        self._brought: list[_Found] = []

    def note_text(self, pair: ReviewPair) -> str:
        """Return the note's text as it was reviewed."""
        key = pair.note_snapshot_id
        if key not in self._texts:
            self._texts[key] = FileSnapshot.objects.values_list("text", flat=True).get(pk=key)
        return self._texts[key]

    def earlier(self, pairs: Sequence[ReviewPair]) -> dict[tuple[int, int], list[KnownFinding]]:
        """What earlier reviews reported, the newest first, by the keys of note and gate.

        :param pairs: those of one job that report findings.
        """
        found: dict[tuple[int, int], list[KnownFinding]] = {}
        for chunk in batched(pairs, 100):
            for note_id, gate_id, known in islice(self._newest(chunk), _EARLIER_FINDINGS):
                found.setdefault((note_id, gate_id), []).append(known)
        return found

    def bring(self, pair: ReviewPair, findings: Sequence[KnownFinding]) -> None:
        """Count the findings of a pair among the earlier ones from now on."""
        self._brought += [(pair.note_id, pair.gate_id, known) for known in findings]

    def _newest(self, pairs: Sequence[ReviewPair]) -> Iterator[_Found]:
        notes = {pair.note_id for pair in pairs}
        gates = {pair.gate_id for pair in pairs}
        stored = _stored(pairs, _EARLIER_FINDINGS) if self._shared is None else self._shared
        for found in chain(reversed(self._brought), stored):
            if found[0] in notes and found[1] in gates:
                yield found


def _shared(pairs: Sequence[ReviewPair]) -> list[_Found] | None:
    found = _stored(pairs, _SHARED_FINDINGS + 1)
    return found if len(found) <= _SHARED_FINDINGS else None


def _stored(pairs: Sequence[ReviewPair], limit: int) -> list[_Found]:
    rows = Finding.objects.filter(
        pair__note_id__in={pair.note_id for pair in pairs},
        pair__gate_id__in={pair.gate_id for pair in pairs},
    ).order_by("-pk")
    columns = ("pair__note_id", "pair__gate_id", "fingerprint", "quote", "text")
    return [
        (note_id, gate_id, KnownFinding(*known))
        for note_id, gate_id, *known in rows.values_list(*columns)[:limit]
    ]
