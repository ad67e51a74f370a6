"""The file index: one cache file per root, trusted only while no stat can hide a change."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from review.domain.applicability import NoteKind
from review.domain.link_state import LinkFacts
from review.domain.problems import Problem
from review.knowledge_base.gate_definition import Gate
from review.knowledge_base.reader import StatSignature, UnreadableFile, read_file
from review.private_files import make_private, replace_file

# Raise RULES whenever the same bytes would give other facts (another frontmatter rule, say).
LAYOUT, RULES = 7, 7
_STAMP = f"commonplace-file-index/{LAYOUT}.{RULES}"
_MAX_BYTES = 1 << 30
_DIGEST_SIZE = hashlib.sha256().digest_size
_log = logging.getLogger(__name__)
_Row = TypeVar("_Row")


class NoteRow(NamedTuple):
    """One version of a note, as read; `kind` counts in the list of kinds, `links` are read late."""

    signature: StatSignature
    sha256: str
    status: str
    kind: int
    problems: tuple[Problem, ...]
    links: LinkFacts | None = None


class _Content(NamedTuple):
    stamp: str
    root: str
    written_at_ns: int
    has_languages: bool
    kinds: list[NoteKind]
    gates: dict[str, Gate]
    notes: dict[str, NoteRow]


class FileIndex:
    """Rows by path. Whatever is wrong with the file, the index is empty: slower, never wrong.

    The file, a SHA-256 and the msgpack that it is of, is replaced whole; the last writer wins.
    """

    def __init__(self, path: Path | None, *, root: str, clock_ns: Callable[[], int]) -> None:
        self._path = path
        self._root = root
        self._clock_ns = clock_ns
        self._changed = False

    @cached_property
    def notes(self) -> dict[str, NoteRow]:
        return self.content.notes

    def keep(self, rows: dict[str, _Row], path: str, row: _Row) -> None:
        """Keep a row; of notes pass only rows whose `StatSignature.is_settled`."""
        rows[path] = row
        self._changed = True

    def forget(self, rows: dict[str, _Row], paths: Iterable[str]) -> None:
        for path in paths:
            del rows[path]
            self._changed = True

    def require_languages(self) -> None:
        """Forget the notes that were read while no gate asked for their language."""
        if not self.content.has_languages:
            self.content = self.content._replace(has_languages=True)
            self.notes.clear()

    def kind_number(self, kind: NoteKind) -> int:
        kinds = self.content.kinds
        number = self._kind_numbers.setdefault(kind, len(kinds))
        if number == len(kinds):
            kinds.append(kind)
        return number

    def save(self) -> None:
        """Write the file if anything changed. Failing is silent: the next command reads again."""
        if self._path is None or not self._changed:
            return
        self._changed = False
        # Never earlier than what was loaded: the clock may have been set back since.
        written_at_ns = max(self._clock_ns(), self.content.written_at_ns)
        data = msgspec.msgpack.encode(self.content._replace(written_at_ns=written_at_ns))
        try:
            make_private(self._path.parent)
            # As open as the umask allows: agents of other users share the file.
            replace_file(self._path, [hashlib.sha256(data).digest(), data], mode=0o666)
        except OSError as error:
            _log.debug("file index not saved: %s", error)

    @cached_property
    def _kind_numbers(self) -> dict[NoteKind, int]:
        return {kind: number for number, kind in enumerate(self.content.kinds)}

    @cached_property
    def content(self) -> _Content:
        """The file's content; none if it is of another root, damaged, or written in the future."""
        try:
            if self._path:
                found = read_file(
                    str(self._path.parent.resolve()), self._path.name, max_bytes=_MAX_BYTES
                )
                digest, data = found.data[:_DIGEST_SIZE], memoryview(found.data)[_DIGEST_SIZE:]
                if hashlib.sha256(data).digest() == digest:
                    content = msgspec.msgpack.decode(data, type=_Content)
                    is_ours = (content.stamp, content.root) == (_STAMP, self._root)
                    if is_ours and content.written_at_ns <= self._clock_ns():
                        return content
        except (UnreadableFile, msgspec.MsgspecError) as error:
            _log.debug("file index ignored: %s", error)
        return _Content(_STAMP, self._root, 0, False, [], {}, {})
