"""What rules may ask of the repository: which paths are gone, and what its Makefile makes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

from review.knowledge_base.reader import UnreadableFile, read_file

if TYPE_CHECKING:
    from pathspec import PathSpec

_MAX_BYTES = 1_000_000
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGETS = re.compile(r"^([^\s#:=][^#:=\n]*?)[ \t]*::?(?!=)([^\n]*)", re.MULTILINE)
_INCLUDE = re.compile(r"^(?:-?include|sinclude)\b", re.MULTILINE)
_ANY_NAME = re.compile(r"[^/.]*[%$][^/.]*")  # may stand for a target of any plain name
# It need not be there, and documents speak of it.
_OPTIONAL = frozenset(("kb/review.toml",))


class Repository:
    """Answers about files below the root, and errs towards "it may be there"."""

    def __init__(self, root: str, files: Collection[str]) -> None:
        """Use the link targets `files`, which hold no hidden file and none of the reports folder."""
        self._root = root
        self._files = files

    def is_gone(self, path: str, *, note_path: str) -> bool:
        """Whether a path is not there although its first two folders are.

        It may be meant from the root or from the folder of the note that names it.
        Paths that are hidden, in the reports folder, or ignored by Git are never gone. Nor are those
        of which only the first folder is there: documents name files that their reader is to have.
        """
        *folders, _name = parts = path.split("/")
        folder = "/".join(folders[:2])
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(note_path), path))
        if folder not in self._files or path in _OPTIONAL:
            return False
        if path in self._files or beside in self._files:
            return False
        known = all(not part.startswith(".") for part in parts) and parts[:2] != ["kb", "reports"]
        return known and not self._ignores(path)

    @cached_property
    def make_targets(self) -> frozenset[str] | None:
        """The targets of the Makefile at the root; None where there is none or it cannot be told."""
        text = next(filter(None, map(self._read, _MAKEFILES)), "")
        if not text or _INCLUDE.search(text):
            return None
        names: list[str] = []
        for targets, prerequisites in _TARGETS.findall(text):
            names += targets.split()
            names += prerequisites.split() if targets == ".PHONY" else ()
        return None if any(map(_ANY_NAME.fullmatch, names)) else frozenset(names)

    def _ignores(self, path: str) -> bool:
        return self._ignored is not None and self._ignored.match_file(path)

    @cached_property
    def _ignored(self) -> PathSpec[Any] | None:
        from pathspec import PathSpec  # takes 40 ms

        lines = self._read(".gitignore").splitlines()
        try:
            return PathSpec.from_lines("gitignore", lines)
        except ValueError:
            return None

    def _read(self, name: str) -> str:
        try:
            data = read_file(self._root, name, max_bytes=_MAX_BYTES).data
        except UnreadableFile:
            return ""
        return data.decode("utf-8", "replace")
