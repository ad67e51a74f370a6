"""Looks at what surrounds the store: compiled modules, and the cache of the file index."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import django

import review
from review.conf import Config
from review.corpus import Corpus, NoteFacts, NoteList
from review.domain.problems import Problem
from review.queries.checks import Check, CheckState, Faults
from review.queries.knowledge_base import open_corpus

_HEADER_BYTES = 16
# Notes of a quick look: enough to meet a file system whose stat lies, at any size.
SAMPLE = 200


def check_bytecode() -> Check:
    """Modules are compiled, or will be: without that every command takes twice the time to start."""
    missing = sum(1 for module in _modules() if not is_compiled(module))
    if not missing or not sys.dont_write_bytecode:
        return Check("bytecode", CheckState.OK, "modules are compiled, or will be when used")
    return Check(
        "bytecode",
        CheckState.WARNING,
        f"{missing} modules are not compiled, and PYTHONDONTWRITEBYTECODE keeps them so; run:"
        f" {sys.executable} -m compileall -q {Path(review.__file__).parent}",
    )


def is_compiled(module: Path) -> bool:
    """Whether Python would take the compiled file of `module` instead of compiling it."""
    try:
        with Path(importlib.util.cache_from_source(str(module))).open("rb") as stream:
            header = stream.read(_HEADER_BYTES)
        info = module.stat()
    except OSError:
        return False
    if len(header) < _HEADER_BYTES or header[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags, mtime, size = (int.from_bytes(header[at : at + 4], "little") for at in (4, 8, 12))
    wanted = (int(info.st_mtime) & 0xFFFFFFFF, info.st_size & 0xFFFFFFFF)
    return bool(flags) or (mtime, size) == wanted


def check_file_index(config: Config, *, repair: bool) -> Check:
    """What the file index remembers of each note is what the file says."""
    path = config.index_path
    if not path.exists():
        return Check("file-index", CheckState.OK, "none yet; the next command makes it")
    faults = Faults()
    faults.looked_at, wrong = _misremembered(config)
    # Who edits a note between the two readings is no fault: that is over at the next look.
    if wrong:
        wrong &= _misremembered(config)[1]
    for name in sorted(wrong):
        faults.add(f"{name} was changed in a way that no stat shows")
    if faults.number and repair:
        path.unlink(missing_ok=True)
        return Check("file-index", CheckState.REPAIRED, f"{path} was removed; it is made again")
    return faults.check(
        "file-index",
        fine=f"{faults.looked_at} notes are remembered as they are",
        wrong=f"notes are remembered wrong: the stat of this file system cannot be trusted; use"
        f" --no-cache, and --repair to remove {path}",
    )


def _misremembered(config: Config) -> tuple[int, set[str]]:
    """How many notes there are, and those of which the index says something else than the file."""
    read = {note.path: note for note in Corpus(config, use_cache=False).notes().notes}
    remembered = {note.path: note for note in Corpus(config).notes().notes}
    names = read.keys() | remembered.keys()
    wrong = {name for name in names if _facts(read.get(name)) != _facts(remembered.get(name))}
    return len(names), wrong


def check_some_notes(config: Config) -> Iterator[Check]:
    """All gates, and of the notes a sample of those that the file index remembers."""
    remembering, reading = Corpus(config), open_corpus(config, use_cache=False)
    names = remembering.remember_some(SAMPLE)
    read, catalog = reading.notes_at(names), reading.gates
    yield _faults_of((*read.problems, *catalog.problems)).check(
        "knowledge-base",
        fine=f"{len(catalog.gates)} gates, and a sample of {len(read.notes)} notes",
        wrong="problems with gates, or with notes of a sample",
        state=CheckState.WARNING,
    )
    if not names:
        told = "none that is known; no note was looked at, a selector makes one"
        yield Check("file-index", CheckState.OK, told)
        return
    wrong = _differing(names, read, remembering)
    # Who edits a note between the two readings is no fault: that is over at the next look.
    if wrong:
        again = Corpus(config, use_cache=False).notes_at(wrong)
        wrong = _differing(wrong, again, remembering)
    altered = Faults()
    for name in wrong:
        altered.add(f"{name} was changed in a way that no stat shows")
    yield altered.check(
        "file-index",
        fine=f"a sample of {len(names)} notes is remembered as they are",
        wrong="notes of a sample are remembered wrong; look at all of them without --quick",
    )


def _faults_of(problems: Iterable[Problem]) -> Faults:
    faults = Faults()
    for problem in problems:
        faults.add(f"{problem.path}: {problem.code}: {problem.message}")
    return faults


def _differing(names: list[str], read: NoteList, remembering: Corpus) -> list[str]:
    """Those of which the index says something else than the file."""
    told = {note.path: note for note in remembering.notes_at(names).notes}
    found = {note.path: note for note in read.notes}
    return [name for name in names if _facts(found.get(name)) != _facts(told.get(name))]


def check_notes(config: Config) -> Check:
    """How many notes and gates there are, and how many files could not be used."""
    corpus = open_corpus(config)
    listed, catalog = corpus.notes(), corpus.gates
    return _faults_of((*listed.problems, *catalog.problems)).check(
        "knowledge-base",
        fine=f"{len(listed.notes)} notes, {len(catalog.gates)} gates",
        wrong="problems with notes or gates",
        state=CheckState.WARNING,
    )


def _modules() -> Iterator[Path]:
    yield Path(django.__file__)
    yield from sorted(Path(review.__file__).parent.rglob("*.py"))


def _facts(note: NoteFacts | None) -> tuple[object, ...] | None:
    if note is None:
        return None
    return (note.sha256, note.status, note.kind, note.problems)
