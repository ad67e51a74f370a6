"""Reads the gates folder into a catalog; gates whose text is that of the index are not parsed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from review.domain.paths import (
    MAX_LENS_CHARACTERS,
    gate_id_of,
    lens_of,
    near_matches,
)
from review.domain.problems import Problem
from review.knowledge_base.gate_catalog import Gate, GateCatalog
from review.knowledge_base.index import FileIndex
from review.knowledge_base.notes import in_order
from review.knowledge_base.reader import FileContent, UnreadableFile, decode
from review.knowledge_base.walker import FileEntry, ScanResult
from review.vocabulary import ProblemCode

# Files that explain a folder of gates to its readers are no gates.
_DOCUMENTATION = frozenset({"readme.md", "index.md"})


def load_gates(
    found: ScanResult,
    *,
    folder: str,
    read: Callable[[str, str], FileContent],
    index: FileIndex,
    known_rules: Collection[str] | None,
) -> GateCatalog:
    """Read every gate of a scan. One that cannot be used is a problem, and known to exist.

    :param known_rules: what a gate's `rule` may name; others are reported (`None`: unchecked).
    """
    entries = [entry for entry in found.entries if not _is_documentation(entry.path)]
    problems = [
        _as_gate_problem(problem)
        for problem in found.problems
        if not _is_documentation(problem.path)
    ]
    gates = []
    for entry in entries:
        try:
            gate = _load(entry, folder=folder, read=read, index=index)
        except UnreadableFile as refused:
            problems.append(refused.problem)
            continue
        problems.extend(gate.problems)
        if any(problem.skipped for problem in gate.problems):
            continue
        gates.append(gate)
        if gate.rule and known_rules is not None and gate.rule not in known_rules:
            problems.append(_unknown_rule(gate, known_rules))
    index.forget_gates_but({entry.path for entry in entries})
    skipped = {problem.path for problem in problems if problem.skipped}
    return GateCatalog(
        folder=folder,
        gates=tuple(gates),
        problems=in_order(problems),
        skipped=tuple(
            sorted(
                gate_id_of(path, gates_folder=folder) for path in skipped if path.endswith(".md")
            )
        ),
    )


def _load(
    entry: FileEntry, *, folder: str, read: Callable[[str, str], FileContent], index: FileIndex
) -> Gate:
    gate_id = gate_id_of(entry.path, gates_folder=folder)
    if problem := _lens_problem(entry.path, gate_id):
        raise UnreadableFile(problem)
    text = decode(entry.path, read(entry.path, entry.disk_path).data)
    gate = index.gates.get(entry.path)
    if gate is None or (gate.gate_id, gate.text) != (gate_id, text):
        from review.knowledge_base.gate_definition import read_gate  # brings YAML in

        gate = read_gate(path=entry.path, gate_id=gate_id, text=text)
        index.remember_gate(gate)
    return gate


def _unknown_rule(gate: Gate, known_rules: Collection[str]) -> Problem:
    near = near_matches(gate.rule, known_rules) or tuple(sorted(known_rules))
    message = f"there is no rule {gate.rule!r}; known: {', '.join(near)}"
    return Problem(gate.path, ProblemCode.UNKNOWN_RULE, message, skipped=False, line=gate.rule_line)


def _is_documentation(path: str) -> bool:
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
