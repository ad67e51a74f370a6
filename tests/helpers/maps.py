"""Maps of bases that no file and no store has: many notes at random, the same ones for a seed."""

from __future__ import annotations

import random

from review.corpus import NoteFacts
from review.domain.applicability import NoteKind
from review.queries.base_map import MISSING, NOT_ASKED, BaseMap, Column

GATES = ("prose/a", "prose/b", "style/c", "style/d")
_FOLDERS = (
    "kb/notes",
    "kb/notes/a",
    "kb/notes/a-b",
    "kb/notes/a0",
    "kb/notes/a/deep",
    "kb/notes/b",
    "kb/other",
)
_KINDS = (NoteKind("", frozenset(), True), NoteKind("kb/types/t.md", frozenset(), True))
_MISSING = {
    _KINDS[0]: bytes((MISSING, MISSING, NOT_ASKED, MISSING)),
    _KINDS[1]: bytes((MISSING, MISSING, MISSING, MISSING)),
}
_LETTERS = b".+++++++wfngm"


def random_map(
    seed: int, *, notes: int = 400, folders: tuple[str, ...] = _FOLDERS, partitions: int = 3
) -> BaseMap:
    """Notes in folders, some below others, with letters of partitions `p0`, `p1`, …"""
    rng = random.Random(seed)  # noqa: S311
    paths = {f"{rng.choice(folders)}/{rng.choice('nN')}{number:04}.md" for number in range(notes)}
    facts = tuple(
        NoteFacts(path, path, "0" * 64, rng.choice(("", "draft")), rng.choice(_KINDS), ())
        for path in sorted(paths)
    )
    return BaseMap(
        notes=facts,
        columns=tuple(
            Column(gate, f"kb/instructions/review-gates/{gate}.md", gate.partition("/")[0])
            for gate in GATES
        ),
        letters={
            f"p{number}": {note.path: bytes(rng.choices(_LETTERS, k=len(GATES))) for note in facts}
            for number in range(partitions)
        },
        missing=_MISSING,
    )
