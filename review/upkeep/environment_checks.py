"""Checks of what surrounds the store: compiled modules, notes and gates, and the file index."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import review
from review.knowledge_base import Corpus, NoteFacts
from review.knowledge_base.opening import open_corpus
from review.settings.config import Config
from review.upkeep.checks import CheckResult, CheckState, check_faults


def check_bytecode() -> CheckResult:
    """Check that modules are compiled, or will be; else every command takes twice the time to start."""
    folder = Path(review.__file__).parent
    missing = 0
    if sys.dont_write_bytecode:
        compiled = (importlib.util.cache_from_source(str(file)) for file in folder.rglob("*.py"))
        missing = sum(not Path(file).exists() for file in compiled)
    if not missing:
        return CheckResult("bytecode", CheckState.OK, "modules are compiled, or will be when used")
    return CheckResult(
        "bytecode",
        CheckState.WARNING,
        f"{missing} modules are not compiled, and PYTHONDONTWRITEBYTECODE keeps them so; run:"
        f" {sys.executable} -m compileall -q {folder}",
    )


def check_notes(config: Config) -> CheckResult:
    """Count notes and gates, and name the files that could not be used."""
    corpus = open_corpus(config)
    listed, catalog = corpus.notes(), corpus.gates
    problems = (*listed.problems, *catalog.problems)
    return check_faults(
        "knowledge-base",
        (f"{item.path}: {item.code}: {item.message}" for item in problems),
        fine=f"{len(listed.notes)} notes, {len(catalog.gates)} gates",
        wrong="problems with notes or gates",
        state=CheckState.WARNING,
    )


def check_file_index(config: Config, *, repair: bool) -> CheckResult:
    """Compare what the file index holds of each note with the file."""
    path = config.index_path
    if not path.exists():
        return CheckResult("file-index", CheckState.OK, "none yet; the next command makes it")
    number, wrong = _misremembered(config)
    # Who edits a note between the two readings is no fault: that is over at the next look.
    if wrong:
        wrong &= _misremembered(config)[1]
    if wrong and repair:
        path.unlink(missing_ok=True)
        return CheckResult(
            "file-index", CheckState.REPAIRED, f"{path} was removed; it is made again"
        )
    return check_faults(
        "file-index",
        (f"{name} was changed in a way that no stat shows" for name in sorted(wrong)),
        fine=f"{number} notes are remembered as they are",
        wrong=f"notes are remembered wrong: the stat of this file system cannot be trusted; use"
        f" --no-cache, and --repair to remove {path}",
    )


def _misremembered(config: Config) -> tuple[int, set[str]]:
    """Return the number of notes, and those of which the index and the file differ."""
    read = {note.path: _facts(note) for note in Corpus(config, use_cache=False).notes().notes}
    remembered = {note.path: _facts(note) for note in Corpus(config).notes().notes}
    names = read.keys() | remembered.keys()
    return len(names), {name for name in names if read.get(name) != remembered.get(name)}


def _facts(note: NoteFacts) -> tuple[object, ...]:
    return (note.sha256, note.status, note.kind, note.problems)
