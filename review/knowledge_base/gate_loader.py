"""Reads the gates folder into a catalog; gates whose text is that of the index are not parsed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from review.domain.paths import (
    MAX_LENS_CHARACTERS,
    gate_id_of,
    lens_of,
    near_matches,
)
from review.domain.problems import Problem
from review.knowledge_base.gate_catalog import Gate, GateCatalog
from review.knowledge_base.notes import in_order
from review.knowledge_base.reader import UnreadableFile, decode
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from review.knowledge_base.index import FileIndex
    from review.knowledge_base.reader import FileContent
    from review.knowledge_base.walker import FileEntry, ScanResult

# Files that explain a folder of gates to its readers are no gates.
_DOCUMENTATION = frozenset({"readme.md", "index.md"})


class GateLoader:
    def __init__(
        self,
        folder: str,
        *,
        read: Callable[[str, str], FileContent],
        index: FileIndex,
        known_rules: Collection[str] | None = None,
    ) -> None:
        """Take the names of the rules there are, to report others; `None` checks none."""
        self._folder = folder
        self._read = read
        self._index = index
        self._known_rules = known_rules
        self._problems: list[Problem] = []

    def load(self, scan: ScanResult) -> GateCatalog:
        """Read every gate. One that cannot be used is a problem, and known to exist."""
        entries = [entry for entry in scan.entries if not is_documentation(entry.path)]
        self._problems = [
            _as_gate_problem(problem)
            for problem in scan.problems
            if not is_documentation(problem.path)
        ]
        gates = tuple(gate for entry in entries if (gate := self._gate(entry)) is not None)
        self._index.forget_gates_but({entry.path for entry in entries})
        skipped = {problem.path for problem in self._problems if problem.skipped}
        return GateCatalog(
            folder=self._folder,
            gates=gates,
            problems=in_order(self._problems),
            skipped=tuple(sorted(self._id(path) for path in skipped if path.endswith(".md"))),
        )

    def _id(self, path: str) -> str:
        return gate_id_of(path, gates_folder=self._folder)

    def _gate(self, entry: FileEntry) -> Gate | None:
        gate_id = self._id(entry.path)
        if problem := _lens_problem(entry.path, gate_id):
            self._problems.append(problem)
            return None
        try:
            text = decode(entry.path, self._read(entry.path, entry.disk_path).data)
        except UnreadableFile as refused:
            self._problems.append(refused.problem)
            return None
        gate = self._index.gates.get(entry.path)
        if gate is None or (gate.gate_id, gate.text) != (gate_id, text):
            from review.knowledge_base.gate_definition import read_gate  # brings YAML in

            gate = read_gate(path=entry.path, gate_id=gate_id, text=text)
            self._index.remember_gate(gate)
        self._problems.extend(gate.problems)
        if any(problem.skipped for problem in gate.problems):
            return None
        self._check_rule(gate)
        return gate

    def _check_rule(self, gate: Gate) -> None:
        if not gate.rule or self._known_rules is None or gate.rule in self._known_rules:
            return
        near = near_matches(gate.rule, self._known_rules) or tuple(sorted(self._known_rules))
        message = f"there is no rule {gate.rule!r}; known: {', '.join(near)}"
        self._problems.append(
            Problem(
                gate.path, ProblemCode.UNKNOWN_RULE, message, skipped=False, line=gate.rule_line
            )
        )


def is_documentation(path: str) -> bool:
    """Whether a Markdown file in the gates folder explains gates instead of being one."""
    return path.rpartition("/")[2].lower() in _DOCUMENTATION


def _as_gate_problem(problem: Problem) -> Problem:
    if problem.code is not ProblemCode.EMPTY_NOTE:
        return problem
    return replace(problem, code=ProblemCode.EMPTY_GATE, message="nothing in it to judge by")


def _lens_problem(path: str, gate_id: str) -> Problem | None:
    if "/" not in gate_id:
        message = "lies in no lens folder; expected <gates folder>/<lens>/<name>.md"
    elif (length := len(lens_of(gate_id))) > MAX_LENS_CHARACTERS:
        message = f"the lens has {length} characters; at most {MAX_LENS_CHARACTERS} are supported"
    else:
        return None
    return Problem(path, ProblemCode.INVALID_GATE, message, skipped=True)
