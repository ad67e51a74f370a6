"""Has the doctor look, and reads what it says."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from review.domain.applicability import NoteKind
from review.knowledge_base.index import FileIndex, NoteRow
from review.knowledge_base.reader import StatSignature
from tests.helpers.commands import run

NO_KIND = NoteKind("", frozenset(), readable=True)


def examine(*args: object) -> tuple[int, dict[str, Any]]:
    """The exit code, and the checks by name."""
    done = run("review_doctor", *args, "--json")
    return done.exit, {check["name"]: check for check in done.json["checks"]}


def state(name: str, *args: object) -> str:
    """The state of one check."""
    return examine(*args)[1][name]["state"]


def forge_index(root: Path, path: str) -> None:
    """Have the index remember other facts of a note than its file has, behind an equal stat."""
    index = FileIndex(
        root / "kb/reports/review-store.index", root=os.path.realpath(root), clock_ns=time.time_ns
    )
    kind = index.kind_number(NO_KIND)
    signature = StatSignature.of((root / path).stat())
    index.keep(index.notes, path, NoteRow(signature, "0" * 64, "", kind, ()))
    index.save()
