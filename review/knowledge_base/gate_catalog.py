"""The gate catalog: all gates of the gates folder, found by the names of the command line."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from review.domain.paths import MAX_LENS_CHARACTERS, did_you_mean, gate_id_of, lens_of, near_matches
from review.domain.problems import Problem
from review.domain.rule_names import RULE_NAMES
from review.errors import InputRejected
from review.knowledge_base.gate_definition import Gate, read_gate
from review.knowledge_base.index import FileIndex
from review.knowledge_base.notes import in_order
from review.knowledge_base.reader import FileContent, UnreadableFile, decode
from review.knowledge_base.walker import FileEntry, ScanResult
from review.vocabulary import ProblemCode

# Files that explain a folder of gates to its readers are no gates.
_DOCUMENTATION = ("/readme.md", "/index.md")


class UnknownGate(InputRejected):
    """A name that is no gate, no path of a gate and no bundle."""


class AmbiguousGate(InputRejected):
    """A name that is a gate and a folder of gates at once."""


@dataclass(frozen=True)
class GateCatalog:
    """All gates, sorted by path. `skipped` are the ids of those that exist and cannot be used."""

    folder: str
    gates: tuple[Gate, ...]
    problems: tuple[Problem, ...]
    skipped: tuple[str, ...]

    def resolve(self, names: Iterable[str]) -> tuple[Gate, ...]:
        """Return the gates that the names denote, sorted by path, each once.

        A name is an id (`prose/x`), a path (`kb/…/prose/x.md`) or a folder of gates (`prose`,
        `prose/nested`). A gate that cannot be used resolves to nothing; its problem says why.

        :raises UnknownGate: a name denotes nothing.
        :raises AmbiguousGate: a name denotes a gate and a folder.
        """
        wanted = {gate_id for name in names for gate_id in self._ids(name)}
        return tuple(gate for gate in self.gates if gate.gate_id in wanted)

    def problems_of(self, names: Iterable[str]) -> tuple[Problem, ...]:
        """Return the problems of the gates that the names denote; raises as `resolve` does."""
        wanted = {f"{self.folder}/{gate_id}.md" for name in names for gate_id in self._ids(name)}
        return tuple(problem for problem in self.problems if problem.path in wanted)

    def _ids(self, name: str) -> list[str]:
        known = [*(gate.gate_id for gate in self.gates), *self.skipped]
        written = unicodedata.normalize("NFC", name).removeprefix("./")
        if written.strip("/") == self.folder:
            return known
        written = written.removeprefix(f"{self.folder}/")
        bare = written.strip("/")
        gates = [gate_id for gate_id in known if written in (gate_id, f"{gate_id}.md")]
        bundle = [gate_id for gate_id in known if gate_id.startswith(f"{bare}/")]
        if len(gates) + bool(bundle) > 1:
            raise AmbiguousGate(
                f"{name!r} is both a gate and a folder of gates",
                hint=f"write {self.folder}/{bare}.md for the gate, {bare}/ for the folder",
            )
        if not gates and not bundle:
            none = (
                "resolve_gates lists them" if known else "there is no gate; review_init makes some"
            )
            folders = {gate_id.rpartition("/")[0] for gate_id in known}
            hint = did_you_mean(bare, {*known, *folders} - {""}) or none
            raise UnknownGate(f"no gate and no bundle is called {name!r}", hint=hint)
        return gates or bundle


def load_gates(
    found: ScanResult, *, folder: str, read: Callable[[str, str], FileContent], index: FileIndex
) -> GateCatalog:
    """Read every gate of a scan; those whose text is that of the index are not parsed.

    One that cannot be used is a problem, and known to exist.
    """
    problems = [item for item in found.problems if not _is_documentation(item)]
    entries = [entry for entry in found.entries if not _is_documentation(entry)]
    gates = []
    for entry in entries:
        try:
            gate = _load(entry, folder=folder, read=read, index=index)
        except UnreadableFile as refused:
            problems.append(refused.problem)
            continue
        problems += gate.problems
        if not any(problem.skipped for problem in gate.problems):
            gates.append(gate)
            problems += _unknown_rule(gate)
    index.forget(index.gates, index.gates.keys() - {entry.path for entry in entries})
    skipped = {item.path for item in problems if item.skipped and item.path.endswith(".md")}
    return GateCatalog(
        folder=folder,
        gates=tuple(gates),
        problems=in_order(problems),
        skipped=tuple(sorted(gate_id_of(path, gates_folder=folder) for path in skipped)),
    )


def _load(
    entry: FileEntry, *, folder: str, read: Callable[[str, str], FileContent], index: FileIndex
) -> Gate:
    gate_id = gate_id_of(entry.path, gates_folder=folder)
    message, length = "", len(lens_of(gate_id))
    if "/" not in gate_id:
        message = "lies in no lens folder; expected <gates folder>/<lens>/<name>.md"
    elif length > MAX_LENS_CHARACTERS:
        message = f"the lens has {length} characters; at most {MAX_LENS_CHARACTERS} are supported"
    if message:
        raise UnreadableFile.of(entry.path, ProblemCode.INVALID_GATE, message)
    text = decode(entry.path, read(entry.path, entry.disk_path).data)
    gate = index.gates.get(entry.path)
    if gate is None or (gate.gate_id, gate.text) != (gate_id, text):
        gate = read_gate(path=entry.path, gate_id=gate_id, text=text)
        index.keep(index.gates, entry.path, gate)
    return gate


def _unknown_rule(gate: Gate) -> Iterator[Problem]:
    if gate.rule and gate.rule not in RULE_NAMES:
        near = near_matches(gate.rule, RULE_NAMES) or tuple(sorted(RULE_NAMES))
        message = f"there is no rule {gate.rule!r}; known: {', '.join(near)}"
        code, line = ProblemCode.UNKNOWN_RULE, gate.rule_line
        yield Problem(gate.path, code, message, skipped=False, line=line)


def _is_documentation(item: FileEntry | Problem) -> bool:
    return item.path.lower().endswith(_DOCUMENTATION)
