"""Search over notes, findings and reviews, by an index that is kept up as it is used."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from review.domain.excerpts import Part, excerpt
from review.domain.markdown.frontmatter import parse_frontmatter
from review.knowledge_base import Corpus, NoteFacts, UnreadableFile
from review.models import Finding, JobEvent, ReviewJob, ReviewPair, ReviewStore, ReviewText, batched
from review.overview.search_documents import JumpJson
from review.overview.search_index import Entry, WordIndex
from review.selection.path_filters import gate_label
from review.settings.config import Config
from review.vocabulary import JobStatus, PairStatus

PER_KIND = 50
_MAX_JUMPS = 10
_KEY_DIGITS = 18
_FINGERPRINT = re.compile("[0-9a-f]{6,16}")
_EVENTS = "job-events"
_EVENTS_AT_ONCE = 100
_NOTES_AT_ONCE = 100


class Kind(StrEnum):
    NOTE = "note"
    FINDING = "finding"
    REVIEW = "review"


@dataclass(frozen=True)
class Hit:
    """A text that holds the words.

    :param key: a note's path, a finding's fingerprint or a review's number.
    :param word: a finding's severity or a review's decision.
    """

    key: str
    parts: tuple[Part, ...]
    note_path: str
    gate_id: str = ""
    word: str = ""

    @property
    def excerpt(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True)
class Found:
    """A page of what holds all the words, the best first.

    :param counts: how many of each kind there are.
    :param complete: False while texts are still being indexed.
    """

    hits: Mapping[Kind, Sequence[Hit]] = field(default_factory=dict)
    counts: Mapping[Kind, int] = field(default_factory=dict)
    complete: bool = True


class Searcher:
    def __init__(self, corpus: Corpus, *, config: Config) -> None:
        self._corpus = corpus
        self._gates_folder = config.gates_folder
        self._path = config.index_path.with_suffix(".words")

    def search(
        self,
        words: Sequence[str],
        *,
        kinds: Collection[Kind] = tuple(Kind),
        offset: int = 0,
        seconds: float,
    ) -> Found:
        """Find what holds all the words.

        :param offset: how many of each kind to leave out, of those that earlier pages show.
        :param seconds: how long to read what the index lacks before searching it.
        """
        with self._open() as index:
            complete = self._catch_up(index, time.monotonic() + seconds)
            names = {
                kind: index.find(words, kind=kind, limit=PER_KIND, offset=offset) for kind in kinds
            }
            counts = {kind: index.count(words, kind=kind) for kind in Kind}
        read = {Kind.NOTE: self._notes, Kind.FINDING: self._findings, Kind.REVIEW: self._reviews}
        hits = {kind: list(read[kind](names[kind], words)) for kind in kinds}
        return Found(hits, counts, complete)

    def catch_up(self, *, seconds: float) -> bool:
        """Index what is missing; return whether nothing is missing any more."""
        with self._open() as index:
            return self._catch_up(index, time.monotonic() + seconds)

    def _open(self) -> WordIndex:
        store_id = ReviewStore.objects.identity()
        return WordIndex(self._path, store_id=store_id)

    def _catch_up(self, index: WordIndex, deadline: float) -> bool:
        return self._add_notes(index, deadline) and self._add_reviews(index, deadline)

    def _add_notes(self, index: WordIndex, deadline: float) -> bool:
        known = index.digests(Kind.NOTE)
        notes = self._corpus.notes().notes
        gone = known.keys() - {note.path for note in notes}
        if gone:
            index.forget(Kind.NOTE, gone)
        changed = [note for note in notes if known.get(note.path) != note.sha256]
        for some in batched(changed, _NOTES_AT_ONCE):
            if time.monotonic() > deadline:
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

    def _add_reviews(self, index: WordIndex, deadline: float) -> bool:
        """Add the reviews of jobs in the order in which they were closed, and closed again."""
        while True:
            rows = JobEvent.objects.filter(pk__gt=index.mark(_EVENTS)).order_by("pk")
            events = list(rows.values_list("pk", "job_id", "to_status")[:_EVENTS_AT_ONCE])
            if not events:
                return True
            if time.monotonic() > deadline:
                return False
            jobs = {job for _key, job, status in events if status in _CLOSED}
            texts = ReviewText.objects.filter(pair__job_id__in=jobs).order_by("pk")
            keys = list(texts.values_list("pk", flat=True))
            index.add(_review_entries(keys), marks={_EVENTS: events[-1][0]})

    def _notes(self, paths: Sequence[str], words: Sequence[str]) -> Iterator[Hit]:
        for path in paths:
            try:
                text = self._corpus.read_note(path).text
            except UnreadableFile:
                continue
            body = text[parse_frontmatter(text).body_offset :]
            parts = excerpt(body, words)
            if not any(part.found for part in parts):
                parts = excerpt(text, words)
            yield Hit(path, parts, path)

    def _findings(self, marks: Sequence[str], words: Sequence[str]) -> Iterator[Hit]:
        columns = ("fingerprint", "pair__note__path", "pair__gate__path", "severity", "text")
        rows = Finding.objects.filter(fingerprint__in=marks).order_by("pk").values_list(*columns)
        latest = {row[0]: row for row in rows}
        for mark in marks:
            if mark in latest:
                _mark, note, gate, severity, text = latest[mark]
                gate_id = gate_label(gate, self._gates_folder)
                yield Hit(mark, excerpt(text, words), note, gate_id, severity)

    def _reviews(self, names: Sequence[str], words: Sequence[str]) -> Iterator[Hit]:
        keys = [int(name) for name in names]
        pairs = ReviewPair.objects.filter(pk__in=keys, status=PairStatus.COMPLETED)
        columns = ("note__path", "gate__path", "decision", "review_text__text")
        rows = {row[0]: row[1:] for row in pairs.values_list("pk", *columns)}
        for key in keys:
            if key in rows:
                note, gate, decision, text = rows[key]
                gate_id = gate_label(gate, self._gates_folder)
                yield Hit(str(key), excerpt(text, words), note, gate_id, decision)


def find_jumps(query: str) -> list[JumpJson]:
    """The job and the review of this number, and the findings whose fingerprint begins so."""
    word = query.strip().lower()
    found: list[JumpJson] = []
    if word.isascii() and word.isdigit() and len(word) <= _KEY_DIGITS:
        tables: dict[str, QuerySet[Any]] = {
            "job": ReviewJob.objects.all(),
            "review": ReviewPair.objects.completed(),
        }
        found = [
            JumpJson(kind=kind, key=word)
            for kind, rows in tables.items()
            if rows.filter(pk=word).exists()
        ]
    if _FINGERPRINT.fullmatch(word):
        # A range, which an index answers; "g" comes after every hexadecimal digit.
        marks = Finding.objects.filter(fingerprint__gte=word, fingerprint__lt=f"{word}g")
        rows = marks.order_by("fingerprint", "pk").values_list("fingerprint", "text")
        latest = dict(rows[:_MAX_JUMPS])
        found += [
            JumpJson(kind="finding", key=fingerprint, text=text)
            for fingerprint, text in latest.items()
        ]
    return found


_CLOSED = (JobStatus.COMPLETED, JobStatus.FAILED)


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
