"""Read the findings of a review: what names a severity first, with the quotes below it.

That is a bullet; in a section of findings also a paragraph, a deeper heading or a table's row, and
each bullet below a severity that stands alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from review.domain.markdown.lines import Line, iter_lines
from review.protocol.typed_review import ReviewFinding, filled_lines, one_line
from review.vocabulary import Severity

# A severity is at the start of its line; the rest of a line is never searched.
_HEAD = 200
_MARKER = re.compile(r"(?:[-*+\u2022\u2013\u2014]|\d{1,9}[.)])(?:[ \t]+|$)")
# What may stand ahead of a severity that has no bullet: marks of a heading, cells of a table.
_UNMARKED = re.compile(r"^(?:#{1,6}[ \t]+|\|\s*(?:\d{1,9}\s*\|\s*)?)")
_CHECKBOX = re.compile(r"^\[[ xX]\][ \t]+")
_SEVERITY = re.compile(
    r"(?P<open>[^\w\s\u2014\u2013\"'\u2018\u201c<-]{0,8}\s?[\[(*_`]{0,6})(?P<word>(?ai:info|warning|warn|failure|fail)s?)"
    r"(?P<aside>\s+#?\d{1,3}(?=\W)|\s*[(\[][^()\[\]]{0,60}[)\]])?(?P<close>[\])*_`]{0,6})"
    r"(?:\s*[\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]{1,3})?"
)
_DELIMITER = re.compile(
    r"\s*(?::[*_]{0,3}(?:\s+|$|(?=[^\W\d_]|[\"'\u201c\u2018`]))|[\uff1a\u2013\u2014]\s*|$)"
    r"|\s+(?:-{1,3}|\|)\s+"
)
_MARKED_WORD = re.compile(r"[\[(*_`]")
_FINDINGS = re.compile(r"(?:[\w'-]{1,20}\s+){0,2}(?ai:findings?)\s*(?:[:(\u2013\u2014-].{0,60})?")
_OTHER_PART = re.compile(r"(?ai:suggested revisions?|summary|result|verdict)\b")
_NO_FINDING = re.compile(
    r"(?ai:none|nothing|n/?a|0|-|<finding>)(?ai:\s+(?:found|noted|observed|to report))?\s*[.!]?"
)
_HEADING = re.compile(r"#{1,6}(?=[ \t]|$)")
_BELOW_HEADINGS = 7
_CODE_INDENT = 4
_TAB = 4


@lru_cache(maxsize=1)  # who reads a decision asks again for those of the same text
def read_findings(block_text: str) -> tuple[ReviewFinding, ...]:
    """Return findings, of sections Findings if there are any; in linear time."""
    reader = _Reader()
    for line in iter_lines(block_text):
        reader.take(line)
    return tuple(
        ReviewFinding(draft.severity, draft.text() or one_line(draft.quote()), draft.quote())
        for draft in reader.drafts
        if (draft.in_section or not reader.has_section) and draft.says_something
    )


@dataclass(slots=True)
class _Draft:
    """A finding that is still being read; `column` is where the content of its bullet begins."""

    severity: Severity
    column: int
    in_section: bool
    lines: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)

    @property
    def is_bare(self) -> bool:
        return not self.quotes and not any(map(str.strip, self.lines))

    @property
    def says_something(self) -> bool:
        text = self.text()
        return bool(self.quotes or (text and not _NO_FINDING.fullmatch(text[:_HEAD])))

    def text(self) -> str:
        text = "".join(self.lines).strip()
        # "**WARN: heading.** text" leaves the end of an emphasis whose start is gone.
        return text.replace("**", "", 1).strip() if text.count("**") % 2 else text

    def quote(self) -> str:
        return filled_lines("\n".join(self.quotes))


class _Reader:
    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self.has_section = False
        self._section = 0  # the level of the Findings heading we are under
        self._open: _Draft | None = None
        self._head: _Draft | None = None  # the last one that names its severity
        self._in_list = False
        self._after_blank = True
        self._after_fence = False
        self._quoting = False

    def take(self, line: Line) -> None:
        text = line.text.strip()
        if line.in_quote:
            self._take_quote(line, text)
        elif line.in_fence:
            self._continue(line.text, own_line=True)
        elif text:
            self._take_text(line.text, text)
        self._quoting = line.in_quote
        self._after_blank = not text
        self._after_fence = line.in_fence

    def _take_quote(self, line: Line, text: str) -> None:
        if self._open is not None and not line.is_fence_marker:
            self._open.quotes.append(text.lstrip("-*+ \t").lstrip("> \t"))

    def _take_text(self, raw: str, text: str) -> None:
        wide = raw.expandtabs(_TAB)
        column = len(wide) - len(wide.lstrip(" "))
        heading, marker = _HEADING.match(text), _MARKER.match(text)
        if self._open is None or column < max(1, self._open.column):
            if marker is None and self._take_unmarked(text, column):
                return
            if heading:
                self._enter(text.strip("# *_\t"), heading.end())
                return
        goes_on = marker is None and not self._after_blank and not self._quoting
        is_group = marker is not None and self._section and self._open and self._open.is_bare
        if self._open is not None and not is_group and (goes_on or column >= self._open.column):
            own_line = self._after_blank or self._after_fence or marker is not None
            self._continue(raw, own_line=own_line)
            return
        self._open = None
        if marker is None:
            self._take_paragraph(text, column)
        elif self._in_list or column < _CODE_INDENT:
            self._in_list = True
            content, column = text[marker.end() :], column + marker.end()
            self._open = self._finding(content, column) or self._grouped(content, column)

    def _take_unmarked(self, text: str, column: int) -> bool:
        level = len(text) - len(text.lstrip("#"))
        if not self._section or 0 < level <= self._section:
            return False
        self._in_list = False
        found = self._finding(_UNMARKED.sub("", text, count=1), 0 if level else column + 1)
        self._open = found or self._open
        return found is not None

    def _grouped(self, content: str, column: int) -> _Draft | None:
        if not self._section or self._head is None or not self._head.is_bare:
            return None
        draft = _Draft(self._head.severity, column, in_section=True, lines=[content.strip()])
        self.drafts.append(draft)
        return draft

    def _take_paragraph(self, text: str, column: int) -> None:
        if column == 0:
            self._in_list = False
        is_bold = text[:2] in ("**", "__") and text.rstrip(": ")[-2:] in ("**", "__")
        if is_bold or (text.endswith(":") and _is_findings(text)):
            self._enter(text.strip("*_: \t"), _BELOW_HEADINGS)

    def _enter(self, title: str, level: int) -> None:
        """Enter the section of a heading; deeper headings stay within the findings."""
        self._open = self._head = None
        self._in_list = False
        if _is_findings(title):
            self._section = level
            self.has_section = True
        elif level <= self._section or _OTHER_PART.match(title):
            self._section = 0

    def _finding(self, content: str, column: int) -> _Draft | None:
        content = _CHECKBOX.sub("", content)
        severity = _SEVERITY.match(content[:_HEAD])
        if severity is None:
            return None
        delimiter = _DELIMITER.match(content, severity.end())
        end = delimiter.end() if delimiter else severity.end()
        # Marks that enclose the word, as in `[WARN] text`, need no delimiter.
        is_enclosed = _MARKED_WORD.search(severity["open"]) and severity["close"]
        follows = content[end : end + 1]
        is_loud = self._section and self._in_list and severity["word"].isupper()
        if delimiter is None and not (
            (is_enclosed and follows.isspace()) or (is_loud and follows in " \t,;/")
        ):
            return None
        draft = _Draft(Severity(severity["word"][:4].lower()), column, in_section=self._section > 0)
        aside = (severity["aside"] or "").strip(" #")
        prefix = f"{aside} " if aside.startswith(("(", "[")) else ""
        draft.lines.append(prefix + content[end:].strip(" \t\r,;/|"))
        self.drafts.append(draft)
        self._head = draft
        return draft

    def _continue(self, raw: str, *, own_line: bool) -> None:
        """Add a line to the open finding, less the indent of its bullet."""
        if self._open is not None:
            blanks = min(self._open.column, len(raw) - len(raw.lstrip(" \t")))
            text = raw[blanks:].rstrip() if own_line else raw.strip()
            self._open.lines.append(("\n" if own_line else " ") + text)


def _is_findings(title: str) -> bool:
    return len(title) < _HEAD and _FINDINGS.fullmatch(title) is not None
