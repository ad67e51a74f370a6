"""Reads the gates folder into a catalog; definitions are remembered by the hash of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from review.corpus.gates import Gate, GateCatalog
from review.corpus.index import GateRow
from review.corpus.notes import in_order, problems_of, rows_of
from review.corpus.reading import UnreadableFile, decode
from review.domain.applicability import Requirement
from review.domain.identity import (
    MAX_LENS_CHARACTERS,
    gate_id_of,
    lens_of,
    near_matches,
    sha256_hex,
)
from review.domain.problems import Problem
from review.vocabulary import ProblemCode, Region

if TYPE_CHECKING:
    from collections.abc import Collection

    from review.corpus.index import FileIndex
    from review.corpus.reading import Reader
    from review.corpus.scanning import FileEntry, ScanResult

# Files that explain a folder of gates to its readers are no gates.
_DOCUMENTATION = frozenset({"readme.md", "index.md"})


class GateLoader:
    """Makes the catalog of one scan of the gates folder."""

    def __init__(
        self,
        folder: str,
        *,
        reader: Reader,
        index: FileIndex,
        known_rules: Collection[str] | None = None,
    ) -> None:
        """Take the names of the rules there are, to report others; `None` checks none."""
        self._folder = folder
        self._reader = reader
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
            data = self._reader.read(entry.path, entry.disk_path).data
            text = decode(entry.path, data)
        except UnreadableFile as refused:
            self._problems.append(refused.problem)
            return None
        digest = sha256_hex(data)
        row = self._index.gates.get(entry.path)
        if row is None or row.sha256 != digest:
            row = _define(entry.path, gate_id, digest, text)
            self._index.remember_gate(entry.path, row)
        problems = problems_of(entry.path, row.problems)
        self._problems.extend(problems)
        if any(problem.skipped for problem in problems):
            return None
        self._check_rule(entry.path, row)
        return _gate_of(entry.path, gate_id, text, row)

    def _check_rule(self, path: str, row: GateRow) -> None:
        if not row.rule or self._known_rules is None or row.rule in self._known_rules:
            return
        near = near_matches(row.rule, self._known_rules) or tuple(sorted(self._known_rules))
        message = f"there is no rule {row.rule!r}; known: {', '.join(near)}"
        self._problems.append(
            Problem(path, ProblemCode.UNKNOWN_RULE, message, skipped=False, line=row.rule_line)
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


def _define(path: str, gate_id: str, digest: str, text: str) -> GateRow:
    from review.corpus.gate_definition import read_definition  # brings YAML in

    definition = read_definition(path=path, gate_id=gate_id, text=text)
    return GateRow(
        sha256=digest,
        name=definition.name,
        description=definition.description,
        watches=tuple(sorted(region.value for region in definition.watches)),
        rewrite_threshold=definition.rewrite_threshold,
        types=definition.requirement.types,
        traits=definition.requirement.traits,
        rule=definition.rule,
        rule_line=definition.rule_line,
        problems=rows_of(definition.problems),
    )


def _gate_of(path: str, gate_id: str, text: str, row: GateRow) -> Gate:
    return Gate(
        path=path,
        gate_id=gate_id,
        lens=lens_of(gate_id),
        sha256=row.sha256,
        text=text,
        name=row.name,
        watches=frozenset(Region(name) for name in row.watches),
        rewrite_threshold=row.rewrite_threshold,
        requirement=Requirement(types=row.types, traits=row.traits),
        rule=row.rule,
        description=row.description,
    )
