"""Makes small knowledge bases on disk for the tests of the corpus."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from review.knowledge_base import Corpus
from review.knowledge_base.walker import ScanRules
from review.settings import Config

LIMIT = 100_000
RULES = ScanRules(roots=("kb/notes",), pruned=frozenset({"kb/reports"}))


def write(root: Path, path: str, content: str | bytes = "# A note\n\nWith text.\n") -> Path:
    """Write one file below the root, folders included; text is written as UTF-8, byte for byte."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return target


def link(root: Path, path: str, target: str) -> None:
    """Make a symbolic link that says exactly `target`."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).symlink_to(target)


def make_config(root: Path, **changes: Any) -> Config:
    """Configure a root as an environment without settings does."""
    fields: dict[str, Any] = {
        "root": root,
        "database": str(root / "kb/reports/review-store.sqlite"),
        "artifacts": root / "kb/reports/bundle-reviews",
        "actor": "",
        "max_note_bytes": LIMIT,
    }
    return Config(**{**fields, **changes})


def later() -> int:
    """Tell the time as if every file had been lying there for a minute."""
    return time.time_ns() + 60_000_000_000


def make_corpus(root: Path, *, clock_ns: Any = later, **changes: Any) -> Corpus:
    """Open a corpus whose clock lets the index trust files that were written just now."""
    use_cache = changes.pop("use_cache", True)
    return Corpus(make_config(root, **changes), clock_ns=clock_ns, use_cache=use_cache)


def problem_codes(problems: Any) -> dict[str, str]:
    """Give the code of each problem by its path."""
    return {problem.path: str(problem.code) for problem in problems}
