"""The gates of the gates folder and of contracts, found by their names, and the cases of each."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from review.domain import paths
from review.domain.applicability import Requirement
from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.problems import Problem, in_order
from review.errors import InputRejected
from review.knowledge_base.gate_definition import Gate, read_gate
from review.knowledge_base.index import FileIndex
from review.knowledge_base.reader import FileContent, UnreadableFile, decode
from review.knowledge_base.walker import CASES, FileEntry, ScanResult
from review.vocabulary import CaseOrigin, Expectation, ProblemCode, Severity

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

    @property
    def ids(self) -> list[str]:
        return [*(gate.gate_id for gate in self.gates), *self.skipped]

    def resolve(self, names: Iterable[str]) -> tuple[Gate, ...]:
        """Return the gates that the names denote, sorted by path, each once.

        A name is an id (`prose/x`), a path (`kb/…/prose/x.md`) or a folder of gates (`prose`).
        A gate that cannot be used resolves to nothing; its problem says why.
        """
        wanted = {gate_id for name in names for gate_id in self._ids(name)}
        return tuple(gate for gate in self.gates if gate.gate_id in wanted)

    def problems_of(self, names: Iterable[str]) -> tuple[Problem, ...]:
        """Return the problems of the gates that the names denote; raises as `resolve` does."""
        wanted = {f"{self.folder}/{gate_id}.md" for name in names for gate_id in self._ids(name)}
        return tuple(problem for problem in self.problems if problem.path in wanted)

    def _ids(self, name: str) -> list[str]:
        known, written = self.ids, unicodedata.normalize("NFC", name).removeprefix("./")
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
            none = "resolve_gates lists them"
            if not known:
                none = "there is no gate; review_init makes some"
            elif written.endswith(".md") and self.folder not in name:
                none = f"notes stand behind --note: --note {shlex.quote(name)}"
            folders = {gate_id.rpartition("/")[0] for gate_id in known}
            hint = paths.did_you_mean(bare, {*known, *folders} - {""}) or none
            raise UnknownGate(f"no gate and no bundle is called {name!r}", hint=hint)
        return gates or bundle


def load_gates(
    found: ScanResult, *, folder: str, read: Callable[[str, str], FileContent], index: FileIndex
) -> GateCatalog:
    """Read every gate of a scan, unless the index has its text; unusable ones are `skipped`."""
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
    index.forget(index.gates, index.gates.keys() - {entry.path for entry in entries})
    skipped = {item.path for item in problems if item.skipped and item.path.endswith(".md")}
    return GateCatalog(
        folder=folder,
        gates=tuple(gates),
        problems=in_order(problems),
        skipped=tuple(sorted(paths.gate_id_of(path, folder) for path in skipped)),
    )


def _load(
    entry: FileEntry, *, folder: str, read: Callable[[str, str], FileContent], index: FileIndex
) -> Gate:
    gate_id = paths.gate_id_of(entry.path, folder)
    message, length = "", len(paths.lens_of(gate_id))
    if "/" not in gate_id:
        message = "lies in no lens folder; expected <gates folder>/<lens>/<name>.md"
    elif length > paths.MAX_LENS_CHARACTERS:
        message = (
            f"the lens has {length} characters; at most {paths.MAX_LENS_CHARACTERS} are supported"
        )
    if message:
        raise UnreadableFile.of(entry.path, ProblemCode.INVALID_GATE, message)
    text = decode(entry.path, read(entry.path, entry.disk_path).data)
    gate = index.gates.get(entry.path)
    if gate is None or (gate.gate_id, gate.text) != (gate_id, text):
        gate = read_gate(path=entry.path, gate_id=gate_id, text=text)
        index.keep(index.gates, entry.path, gate)
    return gate


def _is_documentation(item: FileEntry | Problem) -> bool:
    return item.path.lower().endswith(_DOCUMENTATION)


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
        path=paths.gate_path_of(gate_id, folder),
        gate_id=gate_id,
        text=f"# {title}\n\n## Test\n\n{section[1].strip()}\n",
    )
    yield replace(
        gate, name=title, description=f"The section Review of {path}.", requirement=requirement
    )


_WORDS: dict[str, tuple[str, ...]] = {
    "expect": tuple(Expectation.values),
    "severity": (Severity.WARN.value, Severity.FAIL.value),
    "origin": tuple(CaseOrigin.values),
    "draft": ("true", "false"),
    "donor": (),
}


@dataclass(frozen=True, slots=True)
class GateCase:
    """A text that a gate is to flag, as warn or fail where `severity` says, or to pass.

    :param donor: path of the note that a seed was made from; "" for none.
    :param is_draft: not yet confirmed by a person; it is tried and does not count.
    """

    name: str
    path: str
    expect: Expectation
    severity: Severity | None
    origin: CaseOrigin
    donor: str
    is_draft: bool
    text: str
    sha256: str

    @property
    def note_path(self) -> str:
        """The path that it has in a prompt: made of its text, so that it gives nothing away."""
        return f"kb/notes/{self.sha256[:8]}.md"


@dataclass(frozen=True)
class GateCases:
    """The cases of a gate, sorted by name; a file that makes none is a problem."""

    cases: tuple[GateCase, ...]
    problems: tuple[Problem, ...]


def cases_folder(gate_path: str) -> str:
    return gate_path.removesuffix(".md") + CASES


def read_cases(
    found: ScanResult, *, folder: str, read: Callable[[str, str], FileContent]
) -> GateCases:
    """Read every case of a scan; a gate without a folder of cases has none."""
    missing = (folder, ProblemCode.VANISHED)
    problems = [item for item in found.problems if (item.path, item.code) != missing]
    cases = []
    for entry in found.entries:
        try:
            text = decode(entry.path, read(entry.path, entry.disk_path).data)
            cases.append(_case(entry.path, text, folder))
        except UnreadableFile as refused:
            problems.append(refused.problem)
    return GateCases(tuple(cases), in_order(problems))


def _case(path: str, text: str, folder: str) -> GateCase:
    frontmatter = parse_frontmatter(text)
    note = text[frontmatter.body_offset :].lstrip("\r\n")
    if frontmatter.problem is not None:
        raise UnreadableFile(frontmatter.problem.of(path, skipped=True))
    if message := _fault(frontmatter, note):
        raise UnreadableFile.of(path, ProblemCode.INVALID_CASE, message)
    severity = frontmatter.text("severity")
    return GateCase(
        name=path.removeprefix(f"{folder}/").removesuffix(".md"),
        path=path,
        expect=Expectation(frontmatter.text("expect") or ""),
        severity=Severity(severity) if severity else None,
        origin=CaseOrigin(frontmatter.text("origin") or CaseOrigin.HAND),
        donor=frontmatter.text("donor") or "",
        is_draft=frontmatter.text("draft") == "true",
        text=note,
        sha256=paths.sha256_hex(note.encode()),
    )


def _fault(frontmatter: Frontmatter, note: str) -> str:
    if "expect" not in frontmatter.fields:
        return f"no key `expect`; expected {' or '.join(Expectation.values)}"
    for key in frontmatter.fields:
        value, line = frontmatter.text(key), f"line {frontmatter.line_of(key)}: "
        if key not in _WORDS:
            return f"{line}unknown key {key!r}; known: {', '.join(_WORDS)}"
        if value is None or (_WORDS[key] and value not in _WORDS[key]):
            return f"{line}{key} is {value!r}; expected {' or '.join(_WORDS[key]) or 'a path'}"
    if frontmatter.text("expect") == Expectation.PASS and "severity" in frontmatter.fields:
        return f"line {frontmatter.line_of('severity')}: severity goes with `expect: flag` only"
    return "" if note.strip() else "no text below the frontmatter; expected a note"
