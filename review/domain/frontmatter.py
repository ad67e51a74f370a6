"""Splits the frontmatter from a text and reads it; any text gives a value, faults are named in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from review.domain.problems import Problem
from review.vocabulary import ProblemCode

_OPENER = re.compile(r"\ufeff?---[ \t]*(?:\r\n?|\n|\Z)")
_CLOSER = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_TOML_OPENER = re.compile(r"\ufeff?\+\+\+[ \t]*(?:\r\n?|\n)")
_TOML_CLOSER = re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n?|\n|\Z)")
_JSON_OPENER = re.compile(r"\ufeff?(\{)\s*[\"}]")
_BLANK_REST = re.compile(r"[ \t]*(?:\r\n?|\n|\Z)")
_LINE_END = re.compile(r"\r\n?|\n")
_FIRST_KEY_LINE = 2


@dataclass(frozen=True, slots=True)
class FrontmatterProblem:
    """Why the frontmatter could not be read; `line` is 1-based in the file, not in the message."""

    code: ProblemCode
    line: int
    message: str

    def of(self, path: str, *, skipped: bool = False) -> Problem:
        """Make it the problem of a file; by default one that does not leave the file out."""
        return Problem(path, self.code, self.message, skipped, self.line)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The values above a note's body; `fields` is empty whenever there is a problem.

    `fields` holds `str` as written, `list` and `dict`. `raw` is the YAML between the two marker
    lines; `text[:body_offset]` is the whole block, a BOM and the markers included.
    """

    fields: Mapping[str, object]
    raw: str
    body_offset: int
    problem: FrontmatterProblem | None = None
    key_offsets: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)

    def text(self, key: str) -> str | None:
        """Give a scalar as written; `None` if it is absent, a list or a mapping."""
        value = self.fields.get(key)
        return value if isinstance(value, str) else None

    def strings(self, key: str) -> tuple[str, ...] | None:
        """Give a list of scalars, a single one as a list of one, a blank one as an empty list.

        `None` if the key is absent or holds anything else; `key in fields` tells these apart.
        """
        value = self.fields.get(key)
        if isinstance(value, str):
            return (value,) if value.strip() else ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return None

    def line_of(self, key: str) -> int:
        """Give the line of a top-level key in the file; line 1 for one that is not there."""
        offset = self.key_offsets.get(key)
        return 1 if offset is None else _line_at(self.raw, offset)


_NONE = Frontmatter({}, "", 0)


def parse_frontmatter(text: str) -> Frontmatter:
    """Read the block between `---` on the first line and the next `---` or `...` line.

    A BOM, CRLF and lone carriage returns are taken. A text that starts in any other way has no
    frontmatter; one that never closes it is all body, and so is one with TOML or JSON in its place,
    which is named: who wrote it means it to be read.
    """
    opener = _OPENER.match(text)
    if opener is None:
        other = _other_language(text)
        return Frontmatter({}, "", 0, _not_yaml(other)) if other else _NONE
    closer = _CLOSER.search(text, opener.end())
    if closer is None:
        message = (
            "frontmatter opens here and never closes; expected a line `---` after its last key"
        )
        return Frontmatter(
            {}, "", 0, FrontmatterProblem(ProblemCode.UNCLOSED_FRONTMATTER, 1, message)
        )
    return _read(text[opener.end() : closer.start()], closer.end())


def _other_language(text: str) -> str:
    """What static site generators read at the start of a text beside YAML; empty for none of it."""
    toml = _TOML_OPENER.match(text)
    if toml is not None:
        return "TOML" if _TOML_CLOSER.search(text, toml.end()) else ""
    json_start = _JSON_OPENER.match(text)
    return "JSON" if json_start and _is_json_block(text, json_start.start(1)) else ""


def _is_json_block(text: str, start: int) -> bool:
    """Whether an object stands there, and ends its line."""
    try:
        _object, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    return _BLANK_REST.match(text, end) is not None


def _not_yaml(language: str) -> FrontmatterProblem:
    message = (
        f"frontmatter in {language} is not read; expected YAML between two lines `---`."
        " It counts as part of the body"
    )
    return FrontmatterProblem(ProblemCode.INVALID_FRONTMATTER, 1, message)


def _read(raw: str, body_offset: int) -> Frontmatter:
    # PyYAML is slow to import, and a warm selector reads no frontmatter at all.
    from review.domain.yaml_mapping import NotReadable, read_mapping

    try:
        fields, key_offsets = read_mapping(raw)
    except NotReadable as exc:
        line = _line_at(raw, exc.index)
        problem = FrontmatterProblem(ProblemCode.INVALID_FRONTMATTER, line, exc.message)
        return Frontmatter({}, raw, body_offset, problem)
    return Frontmatter(fields, raw, body_offset, None, key_offsets)


def _line_at(raw: str, offset: int) -> int:
    return _FIRST_KEY_LINE + len(_LINE_END.findall(raw, 0, offset))
