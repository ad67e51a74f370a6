"""States of bases that no file and no store has: many notes at random, the same ones for a seed."""

from __future__ import annotations

import random

from review.domain.applicability import NoteKind, Requirement
from review.knowledge_base import Gate, NoteFacts
from review.reviews.pair_states import BEST, FAIL, FRESH, MISSING, STATES, WARN, PairStates

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
_APPLICABLE = {
    _KINDS[0]: (MISSING, MISSING, "", MISSING),
    _KINDS[1]: (MISSING, MISSING, MISSING, MISSING),
}
_STATES = ("", *[FRESH] * 7, *STATES)


def random_states(
    seed: int, *, notes: int = 400, folders: tuple[str, ...] = _FOLDERS, partitions: int = 3
) -> PairStates:
    """Notes in folders, some below others, with states of partitions `p0`, `p1`, …"""
    rng = random.Random(seed)  # noqa: S311
    paths = {f"{rng.choice(folders)}/{rng.choice('nN')}{number:04}.md" for number in range(notes)}
    facts = tuple(
        NoteFacts(path, path, "0" * 64, rng.choice(("", "draft")), rng.choice(_KINDS), ())
        for path in sorted(paths)
    )
    rows = {
        f"p{number}": {note.path: tuple(rng.choices(_STATES, k=len(GATES))) for note in facts}
        for number in range(partitions)
    }
    rank = [*STATES, ""].index
    best, disputed = {}, {}
    for note in facts:
        cells = list(
            zip(_APPLICABLE[note.kind], *(of[note.path] for of in rows.values()), strict=True)
        )
        best[note.path] = tuple(min(cell, key=rank) for cell in cells)
        found = {
            at for at, cell in enumerate(cells) if FRESH in cell and (WARN in cell or FAIL in cell)
        }
        if found:
            disputed[note.path] = frozenset(found)
    return PairStates(
        notes=facts,
        gates=tuple(_gate(gate) for gate in GATES),
        rows={**rows, BEST: best},
        applicable=_APPLICABLE,
        disputed=disputed,
        decisions={},
        gone={},
    )


def _gate(gate_id: str) -> Gate:
    lens, _slash, name = gate_id.partition("/")
    return Gate(
        path=f"kb/instructions/review-gates/{gate_id}.md",
        gate_id=gate_id,
        lens=lens,
        sha256="0" * 64,
        text="",
        name=name,
        watches=frozenset(),
        rewrite_threshold=None,
        requirement=Requirement((), ()),
        rule="",
        description="",
    )
