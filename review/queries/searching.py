"""Search over notes, findings and reviews, by an index that is kept up as it is used."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import Max

from review.conf import Config
from review.corpus import Corpus, NoteFacts, UnreadableFile
from review.domain.excerpts import Part, excerpt
from review.domain.frontmatter import parse_frontmatter
from review.models import Finding, JobEvent, ReviewPair, ReviewStore, ReviewText, batched
from review.queries.places import gate_label
from review.store.word_index import Entry, WordIndex
from review.vocabulary import JobStatus, PairStatus

PER_KIND = 50
_BEGUN, _PAIRS, _EVENTS = "begun", "pairs", "job-events"
_EVENTS_AT_ONCE = 100
_PAIRS_AT_ONCE = 500
_NOTES_AT_ONCE = 100


class Kind(StrEnum):
    """What is searched."""

    NOTE = "note"
    FINDING = "finding"
    REVIEW = "review"


@dataclass(frozen=True)
class FoundNote:
    """A note that holds the words."""

    path: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class FoundFinding:
    """A finding that holds the words, as its latest review has it."""

    fingerprint: str
    note_path: str
    gate_id: str
    severity: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class FoundReview:
    """A review that holds the words."""

    pair_id: int
    note_path: str
    gate_id: str
    decision: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Found:
    """What holds all the words, the best first; not all was looked at unless `complete`.

    :param counts: how many of each kind, of those that are not shown too; at most `PER_KIND`.
    """

    notes: tuple[FoundNote, ...] = ()
    findings: tuple[FoundFinding, ...] = ()
    reviews: tuple[FoundReview, ...] = ()
    counts: Mapping[Kind, int] = field(default_factory=dict)
    complete: bool = True


@dataclass
class _Patience:
    """How long reading may go on."""

    seconds: float
    _began: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        return time.monotonic() - self._began > self.seconds


class Searcher:
    """Searches one knowledge base and its store."""

    def __init__(self, corpus: Corpus, *, config: Config) -> None:
        """Search the base of `config`."""
        self._corpus = corpus
        self._gates_folder = config.gates_folder
        self._path = config.index_path.with_suffix(".words")

    def search(
        self, words: Sequence[str], *, kinds: Iterable[Kind] = tuple(Kind), seconds: float
    ) -> Found:
        """Find what holds all the words.

        :param seconds: how long to read what the index lacks before searching it.
        """
        wanted = set(kinds)
        with self._open() as index:
            complete = self._catch_up(index, _Patience(seconds))
            names = {kind: index.find(words, kind=kind, limit=PER_KIND) for kind in Kind}
        shown = {kind: names[kind] if kind in wanted else [] for kind in Kind}
        return Found(
            notes=tuple(self._notes(shown[Kind.NOTE], words)),
            findings=tuple(self._findings(shown[Kind.FINDING], words)),
            reviews=tuple(self._reviews(shown[Kind.REVIEW], words)),
            counts={kind: len(names[kind]) for kind in Kind},
            complete=complete,
        )

    def catch_up(self, *, seconds: float) -> bool:
        """Read what the index lacks; answers whether it lacks nothing any more."""
        with self._open() as index:
            return self._catch_up(index, _Patience(seconds))

    def _open(self) -> WordIndex:
        store_id = ReviewStore.objects.identity()
        return WordIndex(self._path, store_id=store_id)

    def _catch_up(self, index: WordIndex, patience: _Patience) -> bool:
        return self._add_notes(index, patience) and self._add_reviews(index, patience)

    def _add_notes(self, index: WordIndex, patience: _Patience) -> bool:
        known = index.digests(Kind.NOTE)
        notes = self._corpus.notes().notes
        gone = known.keys() - {note.path for note in notes}
        if gone:
            index.forget(Kind.NOTE, gone)
        changed = [note for note in notes if known.get(note.path) != note.sha256]
        for some in batched(changed, _NOTES_AT_ONCE):
            if patience.is_over:
                return False
            index.add(self._note_entries(some))
        return True

    def _note_entries(self, notes: Iterable[NoteFacts]) -> Iterator[Entry]:
        for note in notes:
            try:
                text = self._corpus.read_note(note.path).text
            except UnreadableFile:
                continue
            yield Entry(Kind.NOTE, note.path, note.path, text, note.sha256)

    def _add_reviews(self, index: WordIndex, patience: _Patience) -> bool:
        """Reviews in the order of their pairs; a pair whose review came late has left an event."""
        if not index.mark(_BEGUN):
            index.add((), marks={_BEGUN: 1, _EVENTS: _last_event()})
        return self._add_pairs(index, patience) and self._add_events(index, patience)

    def _add_pairs(self, index: WordIndex, patience: _Patience) -> bool:
        while True:
            texts = ReviewText.objects.filter(pk__gt=index.mark(_PAIRS)).order_by("pk")
            keys = list(texts.values_list("pk", flat=True)[:_PAIRS_AT_ONCE])
            if not keys:
                return True
            if patience.is_over:
                return False
            index.add(_review_entries(keys), marks={_PAIRS: keys[-1]})

    def _add_events(self, index: WordIndex, patience: _Patience) -> bool:
        """The reviews of jobs that were ingested since; one that is known is read again."""
        while True:
            rows = JobEvent.objects.filter(pk__gt=index.mark(_EVENTS)).order_by("pk")
            events = list(rows.values_list("pk", "job_id", "to_status")[:_EVENTS_AT_ONCE])
            if not events:
                return True
            if patience.is_over:
                return False
            jobs = {job for _key, job, status in events if status in _CLOSED}
            texts = ReviewText.objects.filter(pair__job_id__in=jobs)
            keys = list(texts.values_list("pk", flat=True))
            index.add(_review_entries(keys), marks={_EVENTS: events[-1][0]})

    def _notes(self, paths: Iterable[str], words: Sequence[str]) -> Iterator[FoundNote]:
        for path in paths:
            try:
                text = self._corpus.read_note(path).text
            except UnreadableFile:
                continue
            body = text[parse_frontmatter(text).body_offset :]
            parts = excerpt(body, words)
            if not any(part.found for part in parts):
                parts = excerpt(text, words)
            yield FoundNote(path, parts)

    def _findings(self, marks: Sequence[str], words: Sequence[str]) -> Iterator[FoundFinding]:
        columns = ("fingerprint", "pair__note__path", "pair__gate__path", "severity", "text")
        rows = Finding.objects.filter(fingerprint__in=marks).order_by("pk").values_list(*columns)
        latest = {row[0]: row for row in rows}
        for mark in marks:
            if mark in latest:
                _mark, note, gate, severity, text = latest[mark]
                gate_id = gate_label(gate, self._gates_folder)
                yield FoundFinding(mark, note, gate_id, severity, excerpt(text, words))

    def _reviews(self, names: Sequence[str], words: Sequence[str]) -> Iterator[FoundReview]:
        keys = [int(name) for name in names]
        pairs = ReviewPair.objects.filter(pk__in=keys, status=PairStatus.COMPLETED)
        columns = ("note__path", "gate__path", "decision", "review_text__text")
        rows = {row[0]: row[1:] for row in pairs.values_list("pk", *columns)}
        for key in keys:
            if key in rows:
                note, gate, decision, text = rows[key]
                gate_id = gate_label(gate, self._gates_folder)
                yield FoundReview(key, note, gate_id, decision, excerpt(text, words))


_CLOSED = (JobStatus.COMPLETED, JobStatus.FAILED)


def _last_event() -> int:
    return JobEvent.objects.aggregate(last=Max("pk"))["last"] or 0


def _review_entries(pair_ids: Sequence[int]) -> Iterator[Entry]:
    """Texts and findings of reviews; of a finding that is reported again the latest stays."""
    for some in batched(pair_ids, 500):
        texts = ReviewText.objects.filter(pk__in=some)
        for pair_id, note, gate, text in texts.values_list(
            "pk", "pair__note__path", "pair__gate__path", "text"
        ):
            yield Entry(Kind.REVIEW, str(pair_id), f"{note} {gate}", text)
        findings = Finding.objects.filter(pair_id__in=some).order_by("pk")
        for mark, note, gate, text, quote in findings.values_list(
            "fingerprint", "pair__note__path", "pair__gate__path", "text", "quote"
        ):
            yield Entry(Kind.FINDING, mark, f"{note} {gate}", f"{text}\n{quote}")
