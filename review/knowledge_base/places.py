"""Matches paths of notes with patterns of gates, and finds skips of notes that have no effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from review.domain.applicability import NoteKind, applies_unskipped
from review.domain.problems import Problem
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from pathspec import PathSpec

    from review.knowledge_base.gate_catalog import Gate
    from review.knowledge_base.notes import NoteFacts


class NotePlacing:
    """Matches notes with the path patterns of one catalog's gates."""

    def __init__(self, gates: tuple[Gate, ...]) -> None:
        self._gates = gates
        self._placed = cache(lambda kind, places: replace(kind, places=places))

    def place(self, notes: Iterable[NoteFacts]) -> Iterator[NoteFacts]:
        """Give each note the patterns that its path fits, and problems for idle skips."""
        for note in notes:
            kind = note.kind
            if self._patterns:
                kind = self._placed(kind, self._fitting(note.path))
            problems = tuple(self._idle_skips(note.path, kind)) if kind.skips else ()
            is_same = kind is note.kind and not problems
            yield (
                note if is_same else replace(note, kind=kind, problems=(*note.problems, *problems))
            )

    @cached_property
    def _patterns(self) -> dict[str, PathSpec[Any]]:
        wanted = {pattern for gate in self._gates for pattern in gate.requirement.places}
        if not wanted:
            return {}
        from pathspec import PathSpec  # takes 40 ms

        return {pattern: PathSpec.from_lines("gitignore", [pattern]) for pattern in wanted}

    def _fitting(self, path: str) -> frozenset[str]:
        return frozenset(
            pattern for pattern, spec in self._patterns.items() if spec.match_file(path)
        )

    def _idle_skips(self, path: str, kind: NoteKind) -> Iterator[Problem]:
        for name, _reason in kind.skips:
            hidden = [
                gate
                for gate in self._gates
                if f"{gate.gate_id}/".startswith(f"{name}/")
                and applies_unskipped(gate.requirement, kind)
            ]
            if not hidden:
                message = (
                    f"`review_skip` names {name!r}, which hides nothing: no such gate applies here"
                )
                yield Problem(path, ProblemCode.IDLE_SKIP, message, skipped=False)
