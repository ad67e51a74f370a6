"""The gate catalog: all gates of the gates folder, found by the names of the command line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from review.domain.applicability import Requirement
from review.domain.paths import near_matches
from review.domain.problems import Problem
from review.errors import InputRejected
from review.vocabulary import Region


class UnknownGate(InputRejected):
    """A name that is no gate, no path of a gate and no bundle."""


class AmbiguousGate(InputRejected):
    """A name that is a gate and a folder of gates at once."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate as its file declares it; `text` is byte-exact.

    `reads_links` says that it needs the notes that a note links to; `rule` is `""` unless one
    judges it in process; `rule_line` is its line in the file. A problem that is
    `skipped` keeps the gate from use.
    """

    path: str
    gate_id: str
    lens: str
    sha256: str
    text: str
    name: str
    watches: frozenset[Region]
    rewrite_threshold: float | None
    requirement: Requirement
    rule: str
    description: str
    rule_line: int = 0
    reads_links: bool = False
    problems: tuple[Problem, ...] = ()


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

    def _ids(self, name: str) -> tuple[str, ...]:
        known = (*(gate.gate_id for gate in self.gates), *self.skipped)
        written = unicodedata.normalize("NFC", name).removeprefix("./")
        if written.strip("/") == self.folder:
            return known
        written = written.removeprefix(f"{self.folder}/")
        bare = written.strip("/")
        gates = () if written.endswith("/") else _gates_named(bare, known)
        bundle = tuple(gate_id for gate_id in known if gate_id.startswith(f"{bare}/"))
        if len(gates) + bool(bundle) > 1:
            raise AmbiguousGate(
                f"{name!r} is both a gate and a folder of gates",
                hint=f"write {self.folder}/{bare}.md for the gate, {bare}/ for the folder",
            )
        if not gates and not bundle:
            raise UnknownGate(f"no gate and no bundle is called {name!r}", hint=_hint(bare, known))
        return gates or bundle


def _gates_named(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(gate_id for gate_id in known if name in (gate_id, f"{gate_id}.md"))


def _hint(name: str, known: tuple[str, ...]) -> str:
    folders = {gate_id.rpartition("/")[0] for gate_id in known}
    near = near_matches(name, {*known, *folders} - {""})
    if near:
        return f"did you mean {', '.join(near)}?"
    return "resolve_gates lists them" if known else "there is no gate; review_init makes some"
