"""Search notes, findings and reviews with an index that each search first brings up to date.

The index is a file beside the store: a cache, which may be deleted at any time. It is no part of the
store: no ingest waits for it, and a store on a database server is searched in the same way.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from django.db.models import QuerySet

from review.documents.base import Document
from review.domain.markdown.frontmatter import parse_frontmatter
from review.errors import TryAgain
from review.knowledge_base import Corpus, NoteFacts, UnreadableFile
from review.models import Finding, JobEvent, ReviewJob, ReviewPair, ReviewStore, ReviewText, batched
from review.private_files import FILE_MODE, make_private
from review.vocabulary import OPEN_JOB_STATUSES, PairStatus


class FoundNoteJson(Document, kw_only=True):
    note_path: str
    excerpt: str


class FoundFindingJson(Document, kw_only=True):
    fingerprint: str
    note_path: str
    gate_id: str
    severity: str
    text: str


class FoundReviewJson(FoundNoteJson, kw_only=True):
    review_pair_id: int
    gate_id: str
    decision: str


class JumpJson(Document):
    """A job, review, finding or gate that the query names, by its number, fingerprint or id."""

    kind: str
    key: str
    text: str = ""


class SearchJson(Document, kw_only=True, tag_field="schema", tag="search/1"):
    """The answer of a search, the best first; `complete` is false while texts are indexed."""

    query: str
    complete: bool
    counts: dict[str, int]
    next: str | None
    jumps: list[JumpJson]
    notes: list[FoundNoteJson]
    findings: list[FoundFindingJson]
    reviews: list[FoundReviewJson]


_VERSION = "5"
_WAIT = 2.0  # seconds for another process that is adding
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_COLUMNS = "name UNINDEXED, digest UNINDEXED, title, body, tokenize='unicode61 remove_diacritics 2'"


class SearchKind(StrEnum):
    NOTE = "note"
    FINDING = "finding"
    REVIEW = "review"


class Entry(NamedTuple):
    """A text of a `SearchKind`; `digest` identifies the version that is indexed."""

    kind: str
    name: str
    title: str
    body: str
    digest: str = ""


@contextmanager
def open_index(path: Path, *, store_id: str) -> Iterator[WordIndex]:
    """Open or create the index of a store; that of another store, or damaged, is emptied."""
    try:
        make_private(path.parent)
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as connection:
            index = WordIndex(connection)
            index.prepare(crc32(f"{_VERSION} {store_id}".encode()) & 0x7FFF_FFFF)
            # Not by opening it: closing a file releases the locks of all threads on it.
            path.chmod(FILE_MODE)
            yield index
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            path.unlink(missing_ok=True)
        raise TryAgain(f"the search index cannot be used now ({error})", "search-busy") from error


class WordIndex:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def prepare(self, identity: int) -> None:
        self._connection.execute("PRAGMA synchronous = OFF")
        if self._number("PRAGMA application_id") == identity:
            return
        with self._writing():
            # Another process may have created it while this one waited.
            if self._number("PRAGMA application_id") != identity:
                for kind in SearchKind:
                    self._connection.execute(f"DROP TABLE IF EXISTS {kind}_words")
                    self._connection.execute(
                        f"CREATE VIRTUAL TABLE {kind}_words USING fts5 ({_COLUMNS})"
                    )
                self._connection.execute("PRAGMA user_version = 0")
                self._connection.execute(f"PRAGMA application_id = {identity}")

    def last_event(self) -> int:
        """Return the key of the last job event whose reviews are indexed; 0 at the beginning."""
        return self._number("PRAGMA user_version")

    def digests(self, kind: str) -> dict[str, str]:
        return dict(self._connection.execute(f"SELECT name, digest FROM {kind}_words"))  # noqa: S608

    def add(self, entries: Iterable[Entry], *, last_event: int | None = None) -> None:
        """Index texts, replacing earlier ones of the same name, all or nothing."""
        with self._writing():
            for entry in entries:
                insert = (
                    f"INSERT OR REPLACE INTO {entry.kind}_words (rowid, name, digest, title, body)"
                )
                row = (_key(entry.name), entry.name, entry.digest, entry.title, entry.body)
                self._connection.execute(f"{insert} VALUES (?, ?, ?, ?, ?)", row)
            if last_event is not None:
                self._connection.execute(f"PRAGMA user_version = {last_event}")

    def forget(self, kind: str, names: Collection[str]) -> None:
        with self._writing():
            delete = f"DELETE FROM {kind}_words WHERE rowid = ?"  # noqa: S608
            self._connection.executemany(delete, ((_key(name),) for name in names))

    def find(self, words: Sequence[str], kind: str, *, limit: int, offset: int = 0) -> list[str]:
        """Return names of texts that contain all words, the best first; the last may be a prefix."""
        rows = self._connection.execute(
            f"SELECT name FROM {kind}_words(?)"  # noqa: S608
            f" ORDER BY bm25({kind}_words, 0, 0, 4, 1), name LIMIT ? OFFSET ?",
            (_query(words), limit, offset),
        )
        return [name for (name,) in rows]

    def count(self, words: Sequence[str], kind: str) -> int:
        return self._number(f"SELECT COUNT(*) FROM {kind}_words(?)", _query(words))  # noqa: S608

    def _number(self, statement: str, *values: str) -> int:
        return int(self._connection.execute(statement, values).fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield


def _key(name: str) -> int:
    return int.from_bytes(sha256(name.encode("utf-8", "surrogateescape")).digest()[:7])


def _query(words: Sequence[str]) -> str:
    return " AND ".join(f'"{word.replace(chr(34), " ")}"' for word in words) + " *"


PER_KIND = 50
_KEY = re.compile("[0-9]{1,18}")
_FINGERPRINT = re.compile("[0-9a-f]{6,16}")
_NAMED = re.compile(r"(?:(job|review|pair|finding)[\s:-]*)?[#\[]?([0-9a-f]+)\]?")


@dataclass(frozen=True)
class Hit:
    """A text that contains the words; `word` is a finding's severity or a review's decision."""

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
    """A page of the texts that contain all words, best first; complete once all are indexed."""

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
) -> SearchResult:
    """Find the texts that contain all words, after indexing new ones for some seconds."""
    deadline = time.monotonic() + seconds
    path, store_id = corpus.config.index_path.with_suffix(".words"), ReviewStore.objects.identity()
    with open_index(path, store_id=store_id) as index:
        complete = _add_notes(index, corpus, deadline) and _add_reviews(index, deadline)
        names = {kind: index.find(words, kind, limit=PER_KIND, offset=offset) for kind in kinds}
        counts = {kind: index.count(words, kind) for kind in SearchKind}
    hits = {kind: list(_hits(corpus, kind, names[kind], words)) for kind in kinds}
    return SearchResult(hits, counts, complete)


def _hits(
    corpus: Corpus, kind: SearchKind, names: Sequence[str], words: Sequence[str]
) -> Iterator[Hit]:
    """Read the hits from the store and the files, with excerpts around the words."""
    if kind is SearchKind.NOTE:
        for path in names:
            with suppress(UnreadableFile):
                text = corpus.read_note(path).text
                parts = excerpt(text[parse_frontmatter(text).body_offset :], words)
                is_in_body = any(part.found for part in parts)
                yield Hit(path, parts if is_in_body else excerpt(text, words), path)
        return
    rows: QuerySet[Finding] | QuerySet[ReviewPair]
    if kind is SearchKind.FINDING:
        columns = ("fingerprint", "pair__note__path", "pair__gate__path", "severity", "text")
        rows = Finding.objects.filter(fingerprint__in=names).order_by("pk")  # the latest stays
    else:
        columns = ("pk", "note__path", "gate__path", "decision", "review_text__text")
        rows = ReviewPair.objects.filter(pk__in=names, status=PairStatus.COMPLETED)
    found = {str(key): values for key, *values in rows.values_list(*columns)}
    for name in filter(found.__contains__, names):
        note, gate, word, text = found[name]
        yield Hit(name, excerpt(text, words), note, corpus.config.gate_label(gate), word)


def _add_notes(index: WordIndex, corpus: Corpus, deadline: float) -> bool:
    known = index.digests(SearchKind.NOTE)
    notes = corpus.notes().notes
    index.forget(SearchKind.NOTE, known.keys() - {note.path for note in notes})
    for chunk in batched([note for note in notes if known.get(note.path) != note.sha256], 100):
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
        events = list(rows.values_list("pk", "job_id", "to_status")[:100])
        if not events:
            return True
        if time.monotonic() > deadline:
            return False
        jobs = {job for _key, job, status in events if status not in OPEN_JOB_STATUSES}
        index.add(_review_entries(jobs), last_event=events[-1][0])


def find_jumps(corpus: Corpus, query: str) -> list[JumpJson]:
    """Find the job and the review with this number, findings by the start of a fingerprint, a gate.

    What it is may stand before it: `job 7`, `Review #7`, as the commands say `pair 7`.
    """
    named = _NAMED.fullmatch(query.strip().lower())
    if named is None:
        gates = (gate for gate in corpus.gates.gates if gate.gate_id == query)
        return [JumpJson("gate", gate.gate_id, gate.description) for gate in gates]
    kind_named, word = named[1] and named[1].replace("pair", "review"), named[2]
    found: list[JumpJson] = []
    if _KEY.fullmatch(word):
        numbered = {"job": ReviewJob.objects.all(), "review": ReviewPair.objects.completed()}
        found += [
            JumpJson(kind, word)
            for kind, rows in numbered.items()
            if kind_named in (None, kind) and rows.filter(pk=word).exists()
        ]
    if kind_named in (None, "finding") and _FINGERPRINT.fullmatch(word):
        # A range, which an index answers; "g" sorts after every hexadecimal digit.
        matching = Finding.objects.filter(fingerprint__gte=word, fingerprint__lt=f"{word}g")
        rows = matching.order_by("fingerprint", "pk").values_list("fingerprint", "text")
        found += [JumpJson("finding", key, text) for key, text in dict(rows[:10]).items()]
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


MAX_WORDS = 12
MAX_LENGTH = 200
_WANTED = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"\w")
_BLANKS = re.compile(r"\s+")
_BEFORE = 70


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an excerpt; `found` where it is one of the words that were searched for."""

    text: str
    found: bool


def wanted_words(query: str) -> tuple[str, ...]:
    """The words and quoted phrases of a query, in order, each once; marks alone are none."""
    found = (phrase or word for phrase, word in _WANTED.findall(query[:MAX_LENGTH]))
    words = (" ".join(item.replace('"', " ").split()) for item in found)
    return tuple(dict.fromkeys(word for word in words if _WORD.search(word)))[:MAX_WORDS]


def excerpt(text: str, words: Sequence[str], *, length: int = 260) -> tuple[Part, ...]:
    """A piece of `text` around the first of the words, on one line; its start if none is found."""
    pattern = _pattern(words)
    first = pattern.search(text) if pattern else None
    start = max(0, first.start() - _BEFORE) if first else 0
    if start:
        start = text.find(" ", start, first.start() if first else start) + 1 or start
    shown = _BLANKS.sub(" ", text[start : start + length]).strip()
    shown = f"{'… ' if start else ''}{shown}{' …' if start + length < len(text) else ''}"
    return tuple(_parts(shown, pattern))


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Any of the words at the start of a word, whatever blanks a phrase has between its words."""
    forms = [r"\s+".join(map(re.escape, word.split())) for word in words]
    if not forms:
        return None
    forms.sort(key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})", re.IGNORECASE)


def _parts(text: str, pattern: re.Pattern[str] | None) -> Iterator[Part]:
    end = 0
    for found in pattern.finditer(text) if pattern else ():
        if found.start() > end:
            yield Part(text[end : found.start()], found=False)
        yield Part(found[0], found=True)
        end = found.end()
    if end < len(text):
        yield Part(text[end:], found=False)
