"""Gates from contracts: files that say in a section `Review` what a type or a folder demands."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

from review.domain.applicability import Requirement
from review.domain.paths import gate_path_of
from review.knowledge_base.gate_catalog import GateCatalog
from review.knowledge_base.gate_definition import Gate, read_gate
from review.knowledge_base.notes import in_order
from review.knowledge_base.reader import FileContent, UnreadableFile, decode
from review.vocabulary import ProblemCode

TYPE, COLLECTION = "type", "collection"
# Such a file speaks of its folder; any other of the type that it defines.
_OF_A_FOLDER = ("collection", "readme", "index")
_SECTION = re.compile(r"^##[ \t]+Review[ \t#]*$\n(.*?)(?=^##?[ \t]|\Z)", re.M | re.S)


def with_contracts(
    catalog: GateCatalog,
    patterns: Collection[str],
    *,
    root: Path,
    read: Callable[[str, str], FileContent],
) -> GateCatalog:
    """Add the gates of the files that fit these patterns; a gate's own file goes before a contract."""
    if not patterns:
        return catalog
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    taken = {gate.path for gate in catalog.gates}
    gates, problems = list(catalog.gates), list(catalog.problems)
    for path in sorted(file.relative_to(root).as_posix() for file in found):
        try:
            text = decode(path, read(path, path).data)
        except UnreadableFile as error:
            message = f"is a contract of [gates] and cannot be read: {error.problem.message}"
            invalid = replace(error.problem, code=ProblemCode.INVALID_GATE, message=message)
            problems.append(invalid)
            continue
        for gate in _gates_of(path, text, folder=catalog.folder):
            if gate.path not in taken:
                taken.add(gate.path)
                gates.append(gate)
    gates.sort(key=lambda gate: gate.path)
    return replace(catalog, gates=tuple(gates), problems=in_order(problems))


def _gates_of(path: str, text: str, *, folder: str) -> Iterator[Gate]:
    """Yield the gate of a contract; none if it has no section `Review`, or an empty one."""
    section = _SECTION.search(text.replace("\r\n", "\n"))
    if section is None or not section[1].strip():
        return
    above, _, name = path.rpartition("/")
    stem = name.removesuffix(".md")
    if stem.lower() in _OF_A_FOLDER:
        gate_id = f"{COLLECTION}/{above.removeprefix('kb/') or 'root'}"
        requirement = Requirement(places=(f"{above}/",) if above else (), gate_id=gate_id)
        title = f"What notes in {above or 'this base'} have to be"
    else:
        gate_id = f"{TYPE}/{stem}"
        requirement = Requirement(types=(path,), gate_id=gate_id)
        title = f"What a note of the type {stem} has to be"
    gate = read_gate(
        path=gate_path_of(gate_id, gates_folder=folder),
        gate_id=gate_id,
        text=f"# {title}\n\n## Test\n\n{section[1].strip()}\n",
    )
    yield replace(
        gate, name=title, description=f"The section Review of {path}.", requirement=requirement
    )
