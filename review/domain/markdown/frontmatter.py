"""Splits the frontmatter from a text and reads it; any text gives a value, faults are named in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from review.domain.problems import Problem
from review.vocabulary import ProblemCode

_OPENER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*(?:\r\n?|\n|\Z)")
_CLOSERS = {
    "---": re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"),
    "+++": re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n?|\n|\Z)"),
}
_JSON_OPENER = re.compile(r"\ufeff?(\{)\s*[\"}]")
_JSON_CLOSER = re.compile(r"(?<=[\r\n])\}[ \t]*(?:\r\n?|\n|\Z)")
_BLANK_REST = re.compile(r"[ \t]*(?:\r\n?|\n|\Z)")
_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class FrontmatterProblem:
    """The reason why frontmatter is unreadable; `line` is 1-based in the file, not in the message."""

    code: ProblemCode
    line: int
    message: str

    def of(self, path: str, *, skipped: bool = False) -> Problem:
        """Make it the problem of a file; by default one that does not leave the file out."""
        return Problem(path, self.code, self.message, skipped, self.line)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The values above a note's body; `fields` is empty whenever there is a problem.

    `fields` holds `str`, `list` and `dict`; numbers and dates are text as written. `raw` is the YAML
    or TOML between the two marker lines, or the JSON object, and begins on line `first_line` of the
    file; `text[:body_offset]` is the whole block, a BOM and the markers included.
    """

    fields: Mapping[str, object]
    raw: str
    body_offset: int
    problem: FrontmatterProblem | None = None
    key_offsets: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    first_line: int = field(default=2, repr=False, compare=False)

    def text(self, key: str) -> str | None:
        value = self.fields.get(key)
        return value if isinstance(value, str) else None

    def strings(self, key: str) -> tuple[str, ...] | None:
        """Return a list of scalars, a single one as a list; None if absent or anything else."""
        value = self.fields.get(key)
        if isinstance(value, str):
            return (value,) if value.strip() else ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return None

    def line_of(self, key: str) -> int:
        """Return the line of a top-level key in the file; line 1 for one that is not there."""
        offset = self.key_offsets.get(key)
        return 1 if offset is None else self.first_line + _lines_before(self.raw, offset)


def parse_frontmatter(text: str) -> Frontmatter:
    """Read YAML between `---` (or `---` and `...`), TOML between `+++`, or JSON, at the very start.

    Without such a start there is no frontmatter, and one that never closes is all body.
    """
    opener = _OPENER.match(text)
    if opener is None:
        return _json_frontmatter(text)
    marker = opener[1]
    closer = _CLOSERS[marker].search(text, opener.end())
    if closer is None:
        message = (
            "frontmatter opens here and never closes;"
            f" expected a line `{marker}` after its last key"
        )
        problem = FrontmatterProblem(ProblemCode.UNCLOSED_FRONTMATTER, 1, message)
        return Frontmatter({}, "", 0, problem)
    raw = text[opener.end() : closer.start()]
    return _read(raw, closer.end(), language="TOML" if marker == "+++" else "YAML")


def _json_frontmatter(text: str) -> Frontmatter:
    """Read an object whose closing brace ends its line; one that is broken ends at a line `}`."""
    opener = _JSON_OPENER.match(text)
    if opener is None:
        return Frontmatter({}, "", 0)
    start = opener.start(1)
    try:
        _object, end = json.JSONDecoder().raw_decode(text, start)
        closer = _BLANK_REST.match(text, end)
    except (ValueError, RecursionError):
        closer = _JSON_CLOSER.search(text, start)
    if closer is None:
        return Frontmatter({}, "", 0)
    return _read(text[start : closer.end()], closer.end(), language="JSON", first_line=1)


def _read(raw: str, body_offset: int, *, language: str, first_line: int = 2) -> Frontmatter:
    # PyYAML is slow to import, and a warm selector reads no frontmatter at all.
    from review.domain.markdown.yaml_mapping import NotReadable, read_mapping

    try:
        fields, key_offsets = read_mapping(raw, language)
    except NotReadable as exc:
        line = first_line + _lines_before(raw, exc.index)
        problem = FrontmatterProblem(ProblemCode.INVALID_FRONTMATTER, line, exc.message)
        return Frontmatter({}, raw, body_offset, problem)
    return Frontmatter(fields, raw, body_offset, None, key_offsets, first_line)


def _lines_before(raw: str, offset: int) -> int:
    return len(_LINE_END.findall(raw, 0, offset))
