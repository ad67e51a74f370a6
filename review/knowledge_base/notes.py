"""Notes and their facts (hash, status, kind, problems), read from files or the index."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from review.domain import applicability
from review.domain.link_state import NO_LINKS, LinkFacts, link_facts
from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.paths import sha256_hex
from review.domain.problems import Problem
from review.errors import Conflict, ReviewError
from review.knowledge_base import reader
from review.knowledge_base.gate_definition import Gate
from review.knowledge_base.index import FileIndex, NoteRow
from review.knowledge_base.walker import FileEntry, ScanResult, matcher
from review.private_files import replace_file
from review.vocabulary import ProblemCode

_LIST = "holds a list or a mapping; expected"
_WRONG = {
    "type": f"{_LIST} one path or name",
    "status": f"{_LIST} one word",
    "traits": f"{_LIST} a name, or a list of names",
    applicability.SKIP_KEY: "is not readable; expected gates or lenses with the reason for each",
}
_UNREADABLE_KIND = applicability.NoteKind("", frozenset(), readable=False)
# Problems of texts that a machine left there: skipped, unless the note is named.
REVIEWED_IF_NAMED = frozenset({ProblemCode.GIT_LFS_POINTER, ProblemCode.MERGE_CONFLICT})


@dataclass(frozen=True, eq=False)
class NoteText:
    """A note as it is now: `text` encodes to `data`, byte for byte."""

    path: str
    disk_path: str
    data: bytes
    text: str
    sha256: str

    @classmethod
    def of(cls, path: str, data: bytes, *, disk_path: str = "") -> NoteText:
        """Take bytes as a note; UnreadableFile: not UTF-8, with a NUL, or only white space."""
        text = reader.decode(path, data)
        if not text.lstrip("\ufeff").strip():
            raise reader.UnreadableFile.of(path, ProblemCode.EMPTY_NOTE, "nothing in it to review")
        return cls(path, disk_path or path, data, text, sha256_hex(data))


@dataclass(frozen=True, slots=True)
class DraftPair:
    """A pair that is about to be written, with both texts as they are now."""

    note: NoteText
    gate: Gate

    @property
    def note_path(self) -> str:
        return self.note.path

    @property
    def gate_path(self) -> str:
        return self.gate.path

    @property
    def gate_id(self) -> str:
        return self.gate.gate_id


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """A note that can be reviewed, with problems that do not keep it from that.

    `disk_path` is how `path` is spelled on disk; `status` is as written, `""` for none.
    """

    path: str
    disk_path: str
    sha256: str
    status: str
    kind: applicability.NoteKind
    problems: tuple[Problem, ...]
    links: LinkFacts = NO_LINKS


@dataclass(frozen=True)
class NoteList:
    """Notes sorted by path, and all that was wrong, sorted by path and code."""

    notes: tuple[NoteFacts, ...]
    problems: tuple[Problem, ...]


def facts_of(path: str, data: bytes) -> NoteFacts:
    """Read the facts of a note. A problem that is `skipped` says that it cannot be reviewed."""
    try:
        return facts_of_text(NoteText.of(path, data))
    except reader.UnreadableFile as refused:
        return NoteFacts(path, path, sha256_hex(data), "", _UNREADABLE_KIND, (refused.problem,))


def facts_of_text(note: NoteText) -> NoteFacts:
    frontmatter = parse_frontmatter(note.text)
    kind, status = _UNREADABLE_KIND, ""
    problem = reader.left_by_git(note.path, note.text)
    if problem is None and frontmatter.problem is not None:
        problem = frontmatter.problem.of(note.path)
    problems = [problem] if problem else []
    if not problem:
        wrong = [key for key in _WRONG if not _is_as_expected(key, frontmatter)]
        for key in wrong:
            code, line = ProblemCode.INVALID_FRONTMATTER, frontmatter.line_of(key)
            problems.append(Problem(note.path, code, f"`{key}` {_WRONG[key]}", False, line))
        status = (frontmatter.text("status") or "").strip()
        if not {"type", "traits"} & set(wrong):
            kind = _kind(note.path, frontmatter, note.text)
    links = link_facts(note.text, note_path=note.path)
    return NoteFacts(note.path, note.disk_path, note.sha256, status, kind, tuple(problems), links)


def _kind(path: str, frontmatter: Frontmatter, text: str) -> applicability.NoteKind:
    written = (frontmatter.text("type") or "").strip()
    traits = (trait.strip() for trait in frontmatter.strings("traits") or ())
    language = (frontmatter.text("lang") or frontmatter.text("language") or "").strip().lower()[:2]
    return applicability.NoteKind(
        applicability.resolve_type(written, note_path=path) if written else "",
        frozenset(trait for trait in traits if trait),
        readable=True,
        language=language
        if language.isalpha()
        else applicability.language_of(text[frontmatter.body_offset :]),
        skips=tuple(sorted((_skips(frontmatter) or {}).items())),
    )


def _skips(frontmatter: Frontmatter) -> dict[str, str] | None:
    """The gates that a note skips, with its reasons; None where one has none."""
    found = frontmatter.fields.get(applicability.SKIP_KEY)
    given = found if isinstance(found, dict) else {}
    skips = {
        str(gate).strip().strip("/"): reason.strip()
        for gate, reason in given.items()
        if isinstance(reason, str) and reason.strip()
    }
    return skips if skips and len(skips) == len(given) else None


def _is_as_expected(key: str, frontmatter: Frontmatter) -> bool:
    if key not in frontmatter.fields:
        return True
    if key == applicability.SKIP_KEY:
        return _skips(frontmatter) is not None
    read = frontmatter.strings if key == "traits" else frontmatter.text
    return read(key) is not None


def load_notes(
    found: ScanResult,
    *,
    index: FileIndex,
    read: Callable[[str, str], reader.FileContent],
    now_ns: int,
    named: Collection[str] = (),
) -> NoteList:
    """Return the notes of a scan; reads those files that the index does not answer for.

    :param now_ns: the wall clock, in nanoseconds, before the scan began.
    :param named: paths of notes that were requested one by one.
    """
    notes: list[NoteFacts] = []
    problems = list(found.problems)
    # A plain loop, unpacked by hand: with nothing changed this is all a selector does per note.
    for entry in found.entries:
        path, disk_path, signature = entry
        row = index.notes.get(path)
        if row is None or row[0] != signature:
            try:
                row = _read(entry, index, read(path, disk_path), now_ns=now_ns)
            except reader.UnreadableFile as refused:
                problems.append(refused.problem)
                continue
        _, sha256, status, kind, faults, links = row
        if faults and path in named:
            faults = as_named(faults)
        if any(problem.skipped for problem in faults):
            problems += faults
        else:
            notes.append(
                NoteFacts(path, disk_path, sha256, status, index.kinds[kind], faults, links)
            )
    return NoteList(tuple(notes), tuple(problems))


def _read(
    entry: FileEntry, index: FileIndex, content: reader.FileContent, *, now_ns: int
) -> NoteRow:
    facts = facts_of(entry.path, content.data)
    kind = index.kind_number(facts.kind)
    signature = content.signature
    row = NoteRow(
        signature or entry.signature, facts.sha256, facts.status, kind, facts.problems, facts.links
    )
    if signature is not None and signature.is_settled(read_at_ns=now_ns):
        index.keep(index.notes, entry.path, row)
    return row


def facts_in(index: FileIndex, note: NoteText) -> NoteFacts | None:
    """Return the facts of a text that the index has; None of any other."""
    row = index.notes.get(note.path)
    if row is None or row.sha256 != note.sha256:
        return None
    _signature, sha256, status, kind, problems, links = row
    return NoteFacts(note.path, note.disk_path, sha256, status, index.kinds[kind], problems, links)


def as_named(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep notes with conflict marks of Git, because they were requested by name."""
    return tuple(
        replace(problem, skipped=False) if problem.code in REVIEWED_IF_NAMED else problem
        for problem in problems
    )


def _below(place: str) -> Callable[[str], bool]:
    """Make the test of a root-relative path by a folder, or a pattern from the root."""
    is_folder = {*"*?["}.isdisjoint(place)
    return (lambda path: path.startswith(f"{place}/")) if is_folder else matcher([f"/{place}"])


class NotePlacing:
    """Adds the type of a note's folder, patterns of gates that it matches, and idle skips."""

    def __init__(self, gates: Sequence[Gate], folder_types: Mapping[str, str]) -> None:
        self._gates = gates
        self._folder_types = folder_types
        self._placed = cache(lambda kind, **fields: replace(kind, **fields))

    def place(self, note: NoteFacts) -> NoteFacts:
        kind = note.kind
        if self._types and kind.readable and not kind.type_path:
            path = next((path for fits, path in self._types if fits(note.path)), "")
            kind = self._placed(kind, type_path=path) if path else kind
        if self._patterns:
            fitting = (name for name, fits in self._patterns.items() if fits(note.path))
            kind = self._placed(kind, places=frozenset(fitting))
        idle = tuple(self._idle_skips(note.path, kind)) if kind.skips else ()
        if kind is note.kind and not idle:
            return note
        return replace(note, kind=kind, problems=(*note.problems, *idle))

    @cached_property
    def _types(self) -> list[tuple[Callable[[str], bool], str]]:
        """The types of places, the nearest to a note first: that with the most names in it."""
        nearest = sorted(self._folder_types.items(), key=lambda item: -item[0].count("/"))
        return [
            (_below(at), applicability.resolve_type(name, note_path="")) for at, name in nearest
        ]

    @cached_property
    def _patterns(self) -> dict[str, Callable[[str], bool]]:
        wanted = {pattern for gate in self._gates for pattern in gate.requirement.places}
        return {pattern: matcher([pattern]) for pattern in wanted}

    def _idle_skips(self, path: str, kind: applicability.NoteKind) -> Iterator[Problem]:
        for name, _reason in kind.skips:
            if not any(
                f"{gate.gate_id}/".startswith(f"{name}/")
                and gate.requirement.applies_unskipped(kind)
                for gate in self._gates
            ):
                message = (
                    f"`review_skip` names {name!r}, which hides nothing: no such gate applies here"
                )
                yield Problem(path, ProblemCode.IDLE_SKIP, message, skipped=False)


class NoteNotWritten(ReviewError): ...


def replace_note(root: str, note: NoteText, data: bytes) -> None:
    """Put `data` in the place of the note's text, unless that was edited; its permissions stay."""
    real_root = os.path.realpath(root)
    try:
        # Through a link, so that the link stays one.
        place = Path(real_root, reader.resolve_inside(real_root, note.path, note.disk_path))
        now = reader.read_file(real_root, note.path, note.disk_path, max_bytes=len(note.data)).data
        mode = stat.S_IMODE(place.stat().st_mode)
    except (reader.UnreadableFile, OSError) as error:
        raise Conflict(
            f"{note.path} is gone, or was changed meanwhile", "note-edited-meanwhile"
        ) from error
    if now != note.data:
        raise Conflict(
            f"{note.path} was changed while it was being mended", "note-edited-meanwhile"
        )
    try:
        replace_file(place, [data], mode=mode)
        place.chmod(mode)  # whatever the umask took away
    except OSError as error:
        raise NoteNotWritten(f"cannot write {note.path}: {error.strerror or error}") from error
