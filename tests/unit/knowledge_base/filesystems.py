"""Folders on the file systems of this machine, and what tests of the file index do there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from review.domain.paths import sha256_hex
from tests.unit.knowledge_base.builders import make_corpus

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of one test's own is made below it


def folders_on_all(tmp_path: Path, where: str) -> Iterator[Path]:
    """Give a folder on the disk that tests use, or on the file system in memory."""
    if where == "disk":
        yield tmp_path
        return
    if not os.access(_IN_MEMORY, os.W_OK):
        pytest.skip("no file system in memory")
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as name:
        yield Path(name)


def answered(root: Path, **changes: object) -> dict[str, str]:
    """Give the hash of every note as a command would, which keeps what it read."""
    with make_corpus(root, **changes) as corpus:
        return {note.path: note.sha256 for note in corpus.notes().notes}


def read_in_full(root: Path) -> dict[str, str]:
    """Give the hash of every note by other means than ours."""
    return {
        str(Path(folder, name).relative_to(root)): sha256_hex(Path(folder, name).read_bytes())
        for folder, _, names in sorted(os.walk(root / "kb/notes", followlinks=True))
        for name in sorted(names)
    }


def let_the_clock_tick(folder: Path) -> None:
    """Wait until a change now gets another time than all changes before.

    Tests shift the clock, so the racy window does not hide what a coarse clock would.
    """
    probe = folder / "probe"
    probe.touch()
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        probe.chmod(0o600)
    probe.unlink()
