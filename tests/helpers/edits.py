"""Edits of a note or a gate at a named moment: between two commands, or in the middle of one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from review.knowledge_base import Corpus
from review.knowledge_base.reader import FileContent

Edit = Callable[[Path], None]


def rewritten(file: Path) -> None:
    """Another text, longer than the one before."""
    file.write_bytes(file.read_bytes() + b"\nOne more line, by somebody else.\n")


def swapped(file: Path) -> None:
    """Another text of the same size, with the times of the one before."""
    before = file.stat()
    text = file.read_bytes()
    draft = file.with_suffix(".draft")
    draft.write_bytes(text[:-2].swapcase() + text[-2:])
    os.utime(draft, ns=(before.st_atime_ns, before.st_mtime_ns))
    draft.replace(file)


def deleted(file: Path) -> None:
    """Gone."""
    file.unlink()


def renamed(file: Path) -> None:
    """Under another name in the same folder."""
    file.rename(file.with_name(f"moved-{file.name}"))


def there_and_back(file: Path) -> None:
    """Another text for a moment, and then the same bytes again."""
    text = file.read_bytes()
    rewritten(file)
    file.write_bytes(text)


EDITS: dict[str, Edit] = {
    edit.__name__: edit for edit in (rewritten, swapped, deleted, renamed, there_and_back)
}


@dataclass
class Door:
    """Watches every read of the knowledge base; at the moment that is named, one file is edited.

    :param reads: the bytes that each path was read with, in order.
    """

    root: Path
    reads: dict[str, list[bytes]] = field(default_factory=dict)
    _due: dict[tuple[str, str, int], Callable[[], None]] = field(default_factory=dict)

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in the door until the test ends."""
        real = Corpus._read
        door = self

        def read(corpus: Corpus, path: str, disk_path: str) -> FileContent:
            number = len(door.reads.setdefault(path, [])) + 1
            door._come("before", path, number)
            content = real(corpus, path, disk_path)
            door.reads[path].append(content.data)
            door._come("after", path, number)
            return content

        monkeypatch.setattr(Corpus, "_read", read)

    def edit(self, when: str, path: str, number: int, edit: Edit, *, of: str = "") -> None:
        """Edit `of` (or the file itself) `before` or `after` the read of that number from now."""
        file = self.root / (of or path)
        done = len(self.reads.get(path, []))
        self._due[when, path, done + number] = lambda: edit(file)

    @property
    def is_over(self) -> bool:
        """Whether every edit that was asked for has happened."""
        return not self._due

    def last_read(self, path: str) -> bytes:
        """The bytes that the file was read with last."""
        return self.reads[path][-1]

    def _come(self, when: str, path: str, number: int) -> None:
        edit: Any = self._due.pop((when, path, number), None)
        if edit is not None:
            edit()
