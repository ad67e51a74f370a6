"""Reads and validates a gate's frontmatter: what it watches, and which notes it applies to.

A fault that would make the gate judge other notes than its author meant (a requirement that cannot
be read, or has a misspelt key) keeps the gate out; any other is reported, and the gate
works with the stricter reading: it watches everything, and every change makes its pairs stale.
"""

from __future__ import annotations

import re

from review.domain.applicability import Requirement, resolve_type
from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.paths import lens_of, near_matches, sha256_hex
from review.domain.problems import Problem
from review.domain.staleness import parse_staleness_rule
from review.knowledge_base.gate_catalog import Gate
from review.knowledge_base.notes import left_by_git
from review.vocabulary import ProblemCode, Region

ALL_REGIONS = frozenset(Region)
KEYS = (
    "type",
    "gate_id",
    "name",
    "lens",
    "watches",
    "reads",
    "staleness",
    "requires_type",
    "requires_trait",
    "applies_to",
    "language",
    "description",
    "rule",
)
_TEXT_KEYS = ("type", "gate_id", "name", "lens", "staleness", "language", "description", "rule")
_REQUIREMENTS = ("requires_type", "requires_trait", "applies_to", "language")
_LINKS = "links"
_SHOWN_CHARACTERS = 80
_SHOWN_WORDS = 4
_NO_NAMES = frozenset({"null", "true", "false"})


def read_gate(*, path: str, gate_id: str, text: str) -> Gate:
    """Read the gate at `path`; any text gives a value."""
    return _GateReader(path, gate_id, parse_frontmatter(text)).read(text)


class _GateReader:
    """Collects the problems of one gate while its values are read."""

    def __init__(self, path: str, gate_id: str, frontmatter: Frontmatter) -> None:
        self._path = path
        self._gate_id = gate_id
        self._frontmatter = frontmatter
        self._problems: list[Problem] = []

    def read(self, text: str) -> Gate:
        frontmatter = self._frontmatter
        if problem := left_by_git(self._path, text):
            self._problems.append(problem)
        if frontmatter.problem is not None:
            self._problems.append(frontmatter.problem.of(self._path, skipped=True))
        elif not text[frontmatter.body_offset :].lstrip("\ufeff").strip():
            message = "no text below the frontmatter; expected the failure mode and the test"
            self._problems.append(
                Problem(self._path, ProblemCode.EMPTY_GATE, message, skipped=True)
            )
        self._check_keys()
        self._check_texts()
        self._check_identity()
        return Gate(
            path=self._path,
            gate_id=self._gate_id,
            lens=lens_of(self._gate_id),
            sha256=sha256_hex(text.encode()),
            text=text,
            name=self._text("name") or self._gate_id.rpartition("/")[2],
            description=self._text("description"),
            watches=self._watches(),
            rewrite_threshold=self._rewrite_threshold(),
            requirement=Requirement(
                types=tuple(
                    resolve_type(name, note_path=self._path)
                    for name in self._names("requires_type")
                ),
                traits=self._names("requires_trait"),
                places=self._names("applies_to"),
                language=self._language(),
                gate_id=self._gate_id,
            ),
            reads_links=self._reads_links(),
            rule=self._text("rule"),
            rule_line=frontmatter.line_of("rule"),
            problems=tuple(self._problems),
        )

    def _text(self, key: str) -> str:
        return (self._frontmatter.text(key) or "").strip()

    def _report(self, code: ProblemCode, key: str, message: str, *, skipped: bool) -> None:
        line = self._frontmatter.line_of(key)
        self._problems.append(Problem(self._path, code, message, skipped=skipped, line=line))

    def _check_keys(self) -> None:
        for key in self._frontmatter.fields:
            if key in KEYS:
                continue
            near = near_matches(key.replace("-", "_"), KEYS, limit=1)
            guess = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(KEYS)}"
            if _may_be_requirement(key, near):
                message = (
                    f"unknown key {_shown(key)}: {guess} "
                    "Not used until this is settled: without its requirement it would judge every note"
                )
                self._report(ProblemCode.INVALID_GATE, key, message, skipped=True)
            else:
                message = f"unknown key {_shown(key)}: {guess}"
                self._report(ProblemCode.UNKNOWN_KEY, key, message, skipped=False)

    def _check_texts(self) -> None:
        for key in _TEXT_KEYS:
            if key in self._frontmatter.fields and self._frontmatter.text(key) is None:
                message = f"`{key}` holds a list or a mapping; expected text"
                self._report(ProblemCode.INVALID_GATE, key, message, skipped=True)

    def _check_identity(self) -> None:
        for key, expected in (("gate_id", self._gate_id), ("lens", lens_of(self._gate_id))):
            written = self._text(key)
            if written and written != expected:
                message = (
                    f"`{key}` is {_shown(written)}, the file's place says {expected!r}, which holds"
                )
                self._report(ProblemCode.GATE_ID_MISMATCH, key, message, skipped=False)

    def _watches(self) -> frozenset[Region]:
        if "watches" not in self._frontmatter.fields:
            return ALL_REGIONS
        names = self._frontmatter.strings("watches")
        words = [word.strip() for name in names or () for word in name.split(",")]
        unknown = [word for word in words if word not in Region.values]
        if words and not unknown:
            return frozenset(Region(word) for word in words)
        wrong = ", ".join(map(_shown, unknown[:_SHOWN_WORDS])) or "no list of names"
        message = (
            f"`watches` holds {wrong}; expected any of {', '.join(Region.values)}. Watches all"
        )
        self._report(ProblemCode.UNKNOWN_WATCH, "watches", message, skipped=False)
        return ALL_REGIONS

    def _reads_links(self) -> bool:
        if "reads" not in self._frontmatter.fields:
            return False
        names = self._frontmatter.strings("reads")
        if names == (_LINKS,):
            return True
        written = ", ".join(map(_shown, (names or ())[:_SHOWN_WORDS])) or "no name"
        message = f"`reads` holds {written}; expected `{_LINKS}`. Reads the note alone"
        self._report(ProblemCode.INVALID_GATE, "reads", message, skipped=False)
        return False

    def _rewrite_threshold(self) -> float | None:
        written = self._text("staleness")
        if not written:
            return None
        try:
            return parse_staleness_rule(written)
        except ValueError:
            message = f"`staleness` is {_shown(written)}; expected `changed` or `rewrite(0.5)`. Taken as `changed`"
            self._report(ProblemCode.INVALID_GATE, "staleness", message, skipped=False)
            return None

    def _language(self) -> str:
        written = self._text("language").lower()
        if written and not re.fullmatch(r"[a-z]{2}", written):
            message = f"`language` is {_shown(written)}; expected a code of two letters, such as en"
            self._report(ProblemCode.INVALID_GATE, "language", message, skipped=True)
        return written

    def _names(self, key: str) -> tuple[str, ...]:
        if key not in self._frontmatter.fields:
            return ()
        names = tuple(name.strip() for name in self._frontmatter.strings(key) or ())
        if names and all(_is_name(name) for name in names):
            return names
        message = f"`{key}` is not readable as a requirement; expected a name or a list of names"
        self._report(ProblemCode.INVALID_GATE, key, message, skipped=True)
        return ()


def _shown(written: str) -> str:
    return repr(written if len(written) <= _SHOWN_CHARACTERS else written[:_SHOWN_CHARACTERS] + "…")


def _may_be_requirement(key: str, near: tuple[str, ...]) -> bool:
    return key.strip().lower().startswith("requir") or any(name in _REQUIREMENTS for name in near)


def _is_name(word: str) -> bool:
    """Return whether a trait or type could be called this; a number is a slip of the pen."""
    return any(char.isalpha() for char in word) and word.lower() not in _NO_NAMES
