"""Search notes, findings and reviews with an index that each search first brings up to date."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from review.domain.excerpts import Part, excerpt
from review.domain.markdown.frontmatter import parse_frontmatter
from review.knowledge_base import Corpus, NoteFacts, UnreadableFile
from review.models import Finding, JobEvent, ReviewJob, ReviewPair, ReviewStore, ReviewText, batched
from review.overview.documents import JumpJson
from review.overview.search_index import Entry, WordIndex, open_index
from review.selection.path_filters import gate_label
from review.settings.config import Config
from review.vocabulary import OPEN_JOB_STATUSES, PairStatus

PER_KIND = 50
_MAX_JUMPS = 10
_KEY = re.compile("[0-9]{1,18}")
_FINGERPRINT = re.compile("[0-9a-f]{6,16}")
_EVENTS_AT_ONCE = 100
_NOTES_AT_ONCE = 100


class SearchKind(StrEnum):
    NOTE = "note"
    FINDING = "finding"
    REVIEW = "review"


@dataclass(frozen=True)
class Hit:
    """A text that contains the words.

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
class SearchResult:
    """A page of the texts that contain all words, the best first.

    :param counts: how many of each kind there are.
    :param complete: False until all texts are indexed.
    """

    hits: Mapping[SearchKind, Sequence[Hit]] = field(default_factory=dict)
    counts: Mapping[SearchKind, int] = field(default_factory=dict)
    complete: bool = True


def search(
    corpus: Corpus,
    words: Sequence[str],
    *,
    kinds: Collection[SearchKind] = tuple(SearchKind),
    offset: int = 0,
    seconds: float,
    config: Config,
) -> SearchResult:
    """Find the texts that contain all words.

    :param offset: how many of each kind to skip, of those that earlier pages show.
    :param seconds: how long to index new texts before searching.
    """
    reader = _HitReader(corpus, words, config.gates_folder)
    deadline = time.monotonic() + seconds
    path, store_id = config.index_path.with_suffix(".words"), ReviewStore.objects.identity()
    with open_index(path, store_id=store_id) as index:
        complete = _add_notes(index, corpus, deadline) and _add_reviews(index, deadline)
        names = {
            kind: index.find(words, kind=kind, limit=PER_KIND, offset=offset) for kind in kinds
        }
        counts = {kind: index.count(words, kind=kind) for kind in SearchKind}
    return SearchResult(
        {kind: list(reader.read(kind, names[kind])) for kind in kinds}, counts, complete
    )


def _add_notes(index: WordIndex, corpus: Corpus, deadline: float) -> bool:
    known = index.digests(SearchKind.NOTE)
    notes = corpus.notes().notes
    index.forget(SearchKind.NOTE, known.keys() - {note.path for note in notes})
    changed = [note for note in notes if known.get(note.path) != note.sha256]
    for chunk in batched(changed, _NOTES_AT_ONCE):
        if time.monotonic() > deadline:
            return False
        index.add(_note_entries(corpus, chunk))
    return True


def _note_entries(corpus: Corpus, notes: Iterable[NoteFacts]) -> Iterator[Entry]:
    for note in notes:
        with suppress(UnreadableFile):
            text = corpus.read_note(note.path).text
            yield Entry(SearchKind.NOTE, note.path, note.path, text, note.sha256)


def _add_reviews(index: WordIndex, deadline: float) -> bool:
    """Add the reviews of jobs in the order in which they were closed, and closed again."""
    while True:
        rows = JobEvent.objects.filter(pk__gt=index.last_event()).order_by("pk")
        events = list(rows.values_list("pk", "job_id", "to_status")[:_EVENTS_AT_ONCE])
        if not events:
            return True
        if time.monotonic() > deadline:
            return False
        jobs = {job for _key, job, status in events if status not in OPEN_JOB_STATUSES}
        index.add(_review_entries(jobs), last_event=events[-1][0])


class _HitReader:
    """Reads the hits from the store and the files, with excerpts around the words."""

    def __init__(self, corpus: Corpus, words: Sequence[str], gates_folder: str) -> None:
        self._corpus, self._words, self._gates_folder = corpus, words, gates_folder

    def read(self, kind: SearchKind, names: Sequence[str]) -> Iterator[Hit]:
        if kind is SearchKind.NOTE:
            return self._notes(names)
        return self._findings(names) if kind is SearchKind.FINDING else self._reviews(names)

    def _notes(self, paths: Sequence[str]) -> Iterator[Hit]:
        for path in paths:
            try:
                text = self._corpus.read_note(path).text
            except UnreadableFile:
                continue
            body = text[parse_frontmatter(text).body_offset :]
            parts = excerpt(body, self._words)
            if not any(part.found for part in parts):
                parts = excerpt(text, self._words)
            yield Hit(path, parts, path)

    def _findings(self, fingerprints: Sequence[str]) -> Iterator[Hit]:
        columns = ("fingerprint", "pair__note__path", "pair__gate__path", "severity", "text")
        rows = (
            Finding.objects.filter(fingerprint__in=fingerprints)
            .order_by("pk")
            .values_list(*columns)
        )
        latest = {row[0]: row for row in rows}
        for fingerprint in fingerprints:
            if fingerprint in latest:
                _fingerprint, note, gate, severity, text = latest[fingerprint]
                gate_id = gate_label(gate, self._gates_folder)
                yield Hit(fingerprint, excerpt(text, self._words), note, gate_id, severity)

    def _reviews(self, names: Sequence[str]) -> Iterator[Hit]:
        keys = [int(name) for name in names]
        pairs = ReviewPair.objects.filter(pk__in=keys, status=PairStatus.COMPLETED)
        columns = ("note__path", "gate__path", "decision", "review_text__text")
        rows = {row[0]: row[1:] for row in pairs.values_list("pk", *columns)}
        for key in keys:
            if key in rows:
                note, gate, decision, text = rows[key]
                gate_id = gate_label(gate, self._gates_folder)
                yield Hit(str(key), excerpt(text, self._words), note, gate_id, decision)


def find_jumps(query: str) -> list[JumpJson]:
    """Find the job and the review with this number, and findings by the start of a fingerprint."""
    word = query.strip().lower()
    found: list[JumpJson] = []
    if _KEY.fullmatch(word):
        if ReviewJob.objects.filter(pk=word).exists():
            found.append(JumpJson(kind="job", key=word))
        if ReviewPair.objects.completed().filter(pk=word).exists():
            found.append(JumpJson(kind="review", key=word))
    if _FINGERPRINT.fullmatch(word):
        # A range, which an index answers; "g" sorts after every hexadecimal digit.
        matching = Finding.objects.filter(fingerprint__gte=word, fingerprint__lt=f"{word}g")
        rows = matching.order_by("fingerprint", "pk").values_list("fingerprint", "text")
        found += [
            JumpJson(kind="finding", key=fingerprint, text=text)
            for fingerprint, text in dict(rows[:_MAX_JUMPS]).items()
        ]
    return found


def _review_entries(job_ids: Collection[int]) -> Iterator[Entry]:
    """Yield the texts and findings of jobs; of a finding reported again the latest stays."""
    paths = ("pair__note__path", "pair__gate__path")
    job_ids = list(ReviewJob.objects.reviews().filter(pk__in=job_ids).values_list("pk", flat=True))
    texts = ReviewText.objects.filter(pair__job_id__in=job_ids).order_by("pk")
    for pair_id, note, gate, text in texts.values_list("pk", *paths, "text"):
        yield Entry(SearchKind.REVIEW, str(pair_id), f"{note} {gate}", text)
    findings = Finding.objects.filter(pair__job_id__in=job_ids).order_by("pk")
    for fingerprint, note, gate, text, quote in findings.values_list(
        "fingerprint", *paths, "text", "quote"
    ):
        yield Entry(SearchKind.FINDING, fingerprint, f"{note} {gate}", f"{text}\n{quote}")
