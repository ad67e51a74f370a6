"""Findings of reviewed pairs: their documents, their state and line in today's text, and by fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from review.documents.base import Document, ListJson, Problems, SaidJson, from_row, grouped
from review.domain.finding_identity import (
    finding_state,
    own_finding_text,
    own_fingerprints,
    review_fingerprint,
)
from review.jobs.job_documents import FindingJson
from review.knowledge_base import Corpus, UnreadableFile
from review.models import (
    Acceptance,
    FileSnapshot,
    Finding,
    FindingState,
    NamedKeys,
    ReviewPair,
    ReviewText,
    batched,
    latest_of,
)
from review.protocol.quote_location import follow_quote, lines_after, quote_lines
from review.selection.documents import KeyJson
from review.vocabulary import AcceptanceKind, DispositionState

WARN_SCHEMA = "warn-selector/1"


class QueueFindingJson(FindingJson, kw_only=True):
    """A finding in the queue.

    `line` is 1-based in the text that was reviewed, `line_now` in today's; null: not found there.
    `quote_gone`: it was found in the first, and is not in the other. `of_whole_review`: the review
    decided so and lists no such finding; this entry represents its decision. `decided_by` and
    `decision_reason` are those of its last disposition.
    """

    line_now: int | None
    status: str
    regressed: bool
    quote_gone: bool = False
    of_whole_review: bool = False
    decided_by: str | None = None
    decision_reason: str | None = None


class DecidedPairJson(KeyJson, kw_only=True):
    lens: str
    model_partition: str
    decision: str
    review_pair_id: int


class QueueEntryJson(DecidedPairJson, kw_only=True):
    """A pair that wants an edit; `noisy` says why it comes last in the order of priority."""

    accepted_at: str | None
    note_changed_since: bool
    later_pass_in: tuple[str, ...]
    findings: list[QueueFindingJson]
    rationale: str | None
    noisy: str | None = None


class DispositionJson(SaidJson, kw_only=True):
    disposition: str


class OccurrenceJson(Document, kw_only=True):
    review_pair_id: int
    model_partition: str
    decision: str
    severity: str
    text: str
    reviewed_at: str | None


class FindingPageJson(DecidedPairJson, kw_only=True, tag_field="schema", tag="finding/1"):
    """A finding as its latest review reports it; dispositions and occurrences, the last first."""

    note_now: str
    seen: str
    in_queue: bool
    out_because: str
    later_pass_in: list[str]
    finding: QueueFindingJson
    dispositions: list[DispositionJson]
    occurrences: list[OccurrenceJson]


class LookJson(DecidedPairJson, kw_only=True):
    """A review that wants a person's eye; `why` is a `LookReason`."""

    why: str
    problem: str | None
    findings: list[QueueFindingJson]
    rationale: str | None


class QueueJson(ListJson, kw_only=True, tag_field="schema", tag=WARN_SCHEMA):
    """The answer of `warn_selector`; findings of notes that are gone are listed separately.

    `summary` counts entries if requested.
    `waiting_findings` are not among them: their gate changed, and they wait for a new review. Nor are
    `muted_findings`, of gates that `kb/review.toml` mutes.
    """

    entries: list[QueueEntryJson]
    deleted_notes: list[QueueEntryJson]
    problems: Problems
    waiting_findings: int = 0
    muted_findings: int = 0


class LooksJson(ListJson, kw_only=True, tag_field="schema", tag=WARN_SCHEMA):
    """The answer of `warn_selector --needs-a-look`."""

    needs_a_look: list[LookJson]
    problems: Problems


class FixPromptJson(Document, kw_only=True, tag_field="schema", tag="fix-prompt/1"):
    """The answer of `fix_prompt`; `prompt` is null where it was written to `output`."""

    note_path: str
    note_sha256: str
    fingerprints: list[str]
    output: str | None = None
    prompt: str | None


# Names stand in cookies, which hold 4 kB.
_TEXT_SHOWN = 90
_PATH_SHOWN = 80

# A pair, loaded with its job, paths and note snapshot, and the paths of the note and gate whose
# acceptance rests on it: others than its own if it was carried over.
ReviewedPair = tuple[ReviewPair, str, str]


class QuoteNow(NamedTuple):
    """Return the line of a quote in the current note; None if it is gone or unknown."""

    line: int | None
    is_gone: bool


class QuoteFinder:
    """Follows quotes into the notes as they are now; caches texts."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._text_of = lru_cache(maxsize=64)(self._read)
        self._reviewed: dict[int, str] = {}

    def load(self, pair_ids: Collection[int]) -> None:
        """Read the texts that these pairs judged, in place of those that were read before."""
        if not pair_ids:
            return
        pairs = ReviewPair.objects.filter(pk__in=NamedKeys(pair_ids))
        snapshots = dict(pairs.values_list("pk", "note_snapshot_id"))
        texts = FileSnapshot.objects.filter(pk__in=NamedKeys(set(snapshots.values())))
        by_key = dict(texts.values_list("pk", "text"))
        self._reviewed = {pair_id: by_key[key] for pair_id, key in snapshots.items()}

    def follow(self, note_path: str, quote: str, *, pair_id: int, line: int | None) -> QuoteNow:
        """Follow a quote that was on a line (from 1) of the text that a pair judged."""
        if not quote:
            return QuoteNow(None, is_gone=False)
        if pair_id not in self._reviewed:
            self.load([pair_id])
        before, now = self._reviewed[pair_id], self._text_of(note_path)
        line_now = follow_quote(before, now, quote=quote, line=line)
        was_there = bool(now and quote_lines(before, quote))
        is_gone = was_there and line_now is None and not lines_after(before, now, quote)
        return QuoteNow(line_now, is_gone=is_gone)

    def _read(self, note_path: str) -> str:
        try:
            return self._corpus.read_note(note_path).text
        except UnreadableFile:
            return ""


def rationales(pair_ids: Iterable[int]) -> dict[int, str]:
    """Return the texts of the reviews of pairs."""
    found: dict[int, str] = {}
    for chunk in batched(pair_ids, 5000):
        rows = ReviewText.objects.filter(pair_id__in=NamedKeys(chunk))
        found.update(rows.values_list("pair_id", "text"))
    return found


def read_findings_now(
    corpus: Corpus, pairs: Sequence[ReviewedPair], *, digests: Mapping[str, str]
) -> list[list[QueueFindingJson]]:
    """Findings of each pair; only notes whose digest on disk in `digests` changed are read."""
    quotes = QuoteFinder(corpus)
    read = {pair.pk: pair.note_snapshot.content_sha256 for pair, _note_path, _gate_path in pairs}
    reported = findings_of(read)
    found = [_reported(reported.get(each[0].pk, ()), each) for each in pairs]
    decided = latest_of(finding.fingerprint for findings in found for finding in findings)
    quotes.load([pair.pk for pair, path, _ in pairs if digests.get(path) != read[pair.pk]])
    for (pair, note_path, _gate_path), findings in zip(pairs, found, strict=True):
        digest = digests.get(note_path, "")
        for finding in findings:
            if digest != read[pair.pk]:
                finding.line_now, finding.quote_gone = quotes.follow(
                    note_path, finding.quote, pair_id=pair.pk, line=finding.line
                )
            if last := decided.get(finding.fingerprint):
                # Of when the reviewer's text was taken; an ack since then does not move it.
                read_at = pair.job.created_at
                state = finding_state(last, text_read_at=read_at, note_sha256=digest)
                finding.status, finding.regressed = state.state.value, state.regressed
    return found


def findings_of(pair_ids: Iterable[int]) -> dict[int, list[Finding]]:
    rows = Finding.objects.filter(pair_id__in=NamedKeys(pair_ids)).order_by("pair", "ordinal")
    return grouped((row.pair_id, row) for row in rows)


def _reported(rows: Sequence[Finding], reviewed: ReviewedPair) -> list[QueueFindingJson]:
    """The findings of a review as it has them; of one that moved as of where it is now."""
    pair, note_path, gate_path = reviewed
    fingerprints = fingerprints_at((note_path, gate_path), pair, rows)
    return [
        from_row(
            QueueFindingJson,
            row,
            fingerprint=fingerprint,
            line=row.note_line,
            line_now=row.note_line,
            status=DispositionState.OPEN.value,
            regressed=False,
        )
        for fingerprint, row in zip(fingerprints, rows, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class FoundFinding:
    """A finding where it is known, the `ordinal`-th of `pair_id`; 0 for its own decision."""

    note_path: str
    gate_path: str
    severity: str
    text: str
    pair_id: int
    ordinal: int

    def name(self, gate_label: Callable[[str], str]) -> str:
        words = " ".join(self.text.split())
        text = words if len(words) <= _TEXT_SHOWN else f"{words[:_TEXT_SHOWN].rstrip()}…"
        gate_id = gate_label(self.gate_path)
        return f"“{text}” ({_tail(gate_id)} in {_tail(self.note_path)})"


def _tail(path: str) -> str:
    return path if len(path) <= _PATH_SHOWN else f"…{path[-_PATH_SHOWN:]}"


def find_finding(fingerprint: str) -> FoundFinding | None:
    """Return the latest finding with this fingerprint, or None.

    Of reviews carried over that count no more all fingerprints are computed, which takes long.
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


def fingerprints_at(place: tuple[str, str], pair: ReviewPair, rows: Sequence[Finding]) -> list[str]:
    """Return the fingerprints of a review's findings at a place: the stored ones at its own."""
    if place == (pair.note.path, pair.gate.path):
        return [row.fingerprint for row in rows]
    return own_fingerprints(rows, note_path=place[0], gate_path=place[1])


def carried_to(found: FoundFinding) -> Iterator[tuple[str, FoundFinding]]:
    """Yield it as it is known where its review was carried over to, the latest first."""
    for mark, known in _carried(review_pair_id=found.pair_id):
        if known.ordinal == found.ordinal:
            yield mark, replace(known, severity=found.severity, text=found.text)


def _find_carried(fingerprint: str) -> FoundFinding | None:
    known = (found for mark, found in _carried() if mark == fingerprint and found.ordinal)
    return next(known, None)


def _carried(**which: int) -> Iterator[tuple[str, FoundFinding]]:
    """Yield decisions and findings as they are known where their reviews were carried over to."""
    related = ("note", "gate", "model_partition", "review_pair__note", "review_pair__gate")
    rows = Acceptance.objects.filter(kind=AcceptanceKind.CARRY_OVER, **which).order_by("-pk")
    events = list(rows.select_related(*related))
    reported = findings_of({event.review_pair_id or 0 for event in events})
    for event in events:
        if pair := event.review_pair:
            place, found = (event.note.path, event.gate.path), reported.get(pair.pk, [])
            key = {"note_path": place[0], "gate_path": place[1]}
            own = review_fingerprint(**key, partition=event.model_partition.name)
            yield own, FoundFinding(*place, "", "", pair.pk, 0)
            for mark, row in zip(fingerprints_at(place, pair, found), found, strict=True):
                yield mark, FoundFinding(*place, row.severity, row.text, pair.pk, row.ordinal)
