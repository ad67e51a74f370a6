"""Facts of notes (hash, status, kind, problems), read from files or the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from review.domain.applicability import SKIP_KEY, NoteKind, resolve_type, with_folder_type
from review.domain.language import language_of
from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.markdown.lines import iter_lines
from review.domain.paths import sha256_hex
from review.domain.problems import Problem
from review.knowledge_base.index import FileIndex, NoteRow
from review.knowledge_base.reader import FileContent, UnreadableFile, decode, is_blank
from review.knowledge_base.walker import FileEntry, ScanResult, empty_note
from review.vocabulary import ProblemCode

_EXPECTED = {
    "type": "one path or name",
    "status": "one word",
    "traits": "a name, or a list of names",
    SKIP_KEY: "gates or lenses with the reason for each",
}
_UNREADABLE_KIND = NoteKind("", frozenset(), readable=False)
_POINTERS = {
    "version https://git-lfs.github.com/spec/": "Git LFS pointer instead of the text; fetch it with: git lfs pull",
    "/annex/objects/": "git-annex pointer instead of the text; fetch it with: git annex get",
}  # fmt: skip
_CONFLICT_MARKERS = ("<<<<<<< ", "=======", ">>>>>>> ")
# Problems of texts that a machine left there: skipped, unless the note is named.
REVIEWED_IF_NAMED = frozenset({ProblemCode.GIT_LFS_POINTER, ProblemCode.MERGE_CONFLICT})


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """One note that can be reviewed.

    `disk_path` is how `path` is spelled on disk; `status` is as written, `""` for none.
    Equal kinds are one object. `problems` are those that do not keep the note from review.
    """

    path: str
    disk_path: str
    sha256: str
    status: str
    kind: NoteKind
    problems: tuple[Problem, ...]


def facts_of(path: str, data: bytes, *, disk_path: str = "") -> NoteFacts:
    """Read the facts of a note. A problem that is `skipped` says that it cannot be reviewed."""
    digest = sha256_hex(data)
    try:
        text = read_note_text(path, data)
    except UnreadableFile as refused:
        problems = (refused.problem,)
        return NoteFacts(path, disk_path, digest, "", _UNREADABLE_KIND, problems)
    return facts_of_text(path, text, digest, disk_path=disk_path)


def facts_of_text(path: str, text: str, digest: str, *, disk_path: str = "") -> NoteFacts:
    frontmatter = parse_frontmatter(text)
    problem = left_by_git(path, text)
    if problem is None and frontmatter.problem is not None:
        problem = frontmatter.problem.of(path)
    if problem is not None:
        return NoteFacts(path, disk_path, digest, "", _UNREADABLE_KIND, (problem,))
    wrong = [key for key in _EXPECTED if not _is_as_expected(key, frontmatter)]
    status = (frontmatter.text("status") or "").strip()
    unknown = {"type", "traits"} & set(wrong)
    kind = _UNREADABLE_KIND if unknown else _kind(path, frontmatter, text)
    problems = tuple(_wrong_value(path, key, frontmatter) for key in wrong)
    return NoteFacts(path, disk_path, digest, status, kind, problems)


def read_note_text(path: str, data: bytes) -> str:
    """Return the text of a note.

    :raises UnreadableFile: not UTF-8, with a NUL, or nothing but white space.
    """
    text = decode(path, data)
    if is_blank(text):
        raise UnreadableFile(empty_note(path))
    return text


def left_by_git(path: str, text: str) -> Problem | None:
    """Name a Git LFS pointer, and a text with merge-conflict markers outside fenced code."""
    for start, what in _POINTERS.items():
        if text.startswith(start):
            return Problem(path, ProblemCode.GIT_LFS_POINTER, f"a {what}", skipped=True)
    if not all(marker in text for marker in _CONFLICT_MARKERS):
        return None
    found = [0]
    for line in iter_lines(text):
        if not line.in_fence and line.text.startswith(_CONFLICT_MARKERS[len(found) - 1]):
            found.append(line.number)
            if len(found) > len(_CONFLICT_MARKERS):
                message = "merge-conflict markers of Git; resolve the conflict"
                return Problem(
                    path, ProblemCode.MERGE_CONFLICT, message, skipped=True, line=found[1]
                )
    return None


def _kind(path: str, frontmatter: Frontmatter, text: str) -> NoteKind:
    written = (frontmatter.text("type") or "").strip()
    traits = (trait.strip() for trait in frontmatter.strings("traits") or ())
    return NoteKind(
        resolve_type(written, note_path=path) if written else "",
        frozenset(trait for trait in traits if trait),
        readable=True,
        language=_language(frontmatter, text),
        skips=tuple(sorted((_skips(frontmatter) or {}).items())),
    )


def _language(frontmatter: Frontmatter, text: str) -> str:
    written = frontmatter.text("lang") or frontmatter.text("language") or ""
    code = written.strip().lower()[:2]
    return code if code.isalpha() else language_of(text[frontmatter.body_offset :])


def _skips(frontmatter: Frontmatter) -> dict[str, str] | None:
    """The gates that a note skips, with its reasons; None where one has none."""
    found = frontmatter.fields.get(SKIP_KEY)
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
    if key == SKIP_KEY:
        return _skips(frontmatter) is not None
    read = frontmatter.strings if key == "traits" else frontmatter.text
    return read(key) is not None


def _wrong_value(path: str, key: str, frontmatter: Frontmatter) -> Problem:
    return Problem(
        path,
        ProblemCode.INVALID_FRONTMATTER,
        f"`{key}` is not readable; expected {_EXPECTED[key]}"
        if key == SKIP_KEY
        else f"`{key}` holds a list or a mapping; expected {_EXPECTED[key]}",
        skipped=False,
        line=frontmatter.line_of(key),
    )


@dataclass(frozen=True)
class NoteList:
    """Notes sorted by path, and all that was wrong, sorted by path and code."""

    notes: tuple[NoteFacts, ...]
    problems: tuple[Problem, ...]


class NoteLoader:
    """Gives the facts of notes; reads those files that the index does not answer for."""

    def __init__(
        self,
        index: FileIndex,
        *,
        read: Callable[[str, str], FileContent],
        folder_types: Mapping[str, str],
    ) -> None:
        self._index = index
        self._read_file = read
        self._folder_types = folder_types

    def load(self, found: ScanResult, *, now_ns: int, named: Collection[str] = ()) -> NoteList:
        """Return the notes of a scan; a file that cannot be reviewed is one more problem.

        :param now_ns: the wall clock, in nanoseconds, before the scan began.
        :param named: paths of notes that were requested one by one.
        """
        notes: list[NoteFacts] = []
        problems = list(found.problems)
        remembered = self._index.notes.get
        kinds = self._index.kinds
        # A plain loop, unpacked by hand: with nothing changed this is all a selector does per note.
        for entry in found.entries:
            path, disk_path, signature = entry
            row = remembered(path)
            if row is None or row[0] != signature:
                try:
                    row = self._read(entry, now_ns=now_ns)
                except UnreadableFile as refused:
                    problems.append(refused.problem)
                    continue
            _, sha256, status, kind, faults = row
            if not faults:
                notes.append(NoteFacts(path, disk_path, sha256, status, kinds[kind], ()))
                continue
            own = as_named(faults) if path in named else faults
            problems.extend(own)
            if not any(problem.skipped for problem in own):
                notes.append(NoteFacts(path, disk_path, sha256, status, kinds[kind], own))
        # The index holds what is in the files; the types of folders are added here.
        if self._folder_types:
            notes = [typed(note, self._folder_types) for note in notes]
        return NoteList(tuple(notes), in_order(problems))

    def _read(self, entry: FileEntry, *, now_ns: int) -> NoteRow:
        content = self._read_file(entry.path, entry.disk_path)
        facts = facts_of(entry.path, content.data)
        row = NoteRow(
            content.signature or entry.signature,
            facts.sha256,
            facts.status,
            self._index.kind_number(facts.kind),
            facts.problems,
        )
        signature = content.signature
        if signature is not None and signature.is_settled(read_at_ns=now_ns):
            self._index.remember_note(entry.path, row)
        return row


def typed(note: NoteFacts, folder_types: Mapping[str, str]) -> NoteFacts:
    """Give a note without a type the type of its folder."""
    kind = with_folder_type(note.kind, note_path=note.path, folder_types=folder_types)
    return replace(note, kind=kind)


def as_named(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep notes with conflict marks of Git, because they were requested by name."""
    return tuple(
        replace(problem, skipped=False) if problem.code in REVIEWED_IF_NAMED else problem
        for problem in problems
    )


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort problems by path, then code, then line; each once."""
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda found: (found.path, found.code, found.line or 0, found.message))
    )
