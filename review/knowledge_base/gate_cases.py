"""Reads the cases of a gate: texts beside it that it is to flag or to pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.paths import sha256_hex
from review.domain.problems import Problem
from review.knowledge_base.notes import in_order
from review.knowledge_base.reader import FileContent, UnreadableFile, decode
from review.knowledge_base.walker import CASES, ScanResult
from review.vocabulary import CaseOrigin, Expectation, ProblemCode, Severity

_WORDS: dict[str, tuple[str, ...]] = {
    "expect": tuple(Expectation.values),
    "severity": (Severity.WARN.value, Severity.FAIL.value),
    "origin": tuple(CaseOrigin.values),
    "draft": ("true", "false"),
    "donor": (),
}


@dataclass(frozen=True, slots=True)
class GateCase:
    """A text that a gate is to flag or to pass.

    :param severity: the decision that a flag is to have; None takes either.
    :param donor: path of the note that a seed was made from; "" for none.
    :param is_draft: not yet confirmed by a person; it is tried and does not count.
    :param text: a note as a reviewer gets it: what follows the frontmatter of the case.
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
        sha256=sha256_hex(note.encode()),
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
