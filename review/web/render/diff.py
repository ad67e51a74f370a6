"""Shows a change word by word, with findings in the margin of the lines they quote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from review.domain.diffs.words import Hunk, Mark, Piece, Row, WordDiff
from review.domain.printing import count_words
from review.web.render.markdown import FindingMark, finding_note, visible

_TAGS = {Mark.REMOVED: "del", Mark.ADDED: "ins"}


def render_diff(diff: WordDiff, *, marks: Sequence[FindingMark] = ()) -> SafeString:
    """Render the hunks of a change; `marks` are placed at lines of the old text."""
    notes: dict[int, list[FindingMark]] = {}
    for mark in marks:
        notes.setdefault(mark.line, []).append(mark)
    written: list[str] = []
    for hunk in diff.hunks:
        written.append(_skipped(hunk.skipped))
        written += _hunk(hunk, notes)
    written.append(_skipped(diff.skipped))
    if diff.truncated:
        written.append('<p class="cut">Cut here: the change is longer than a page shows.</p>')
    return SafeString(f'<div class="diff">{"".join(written)}</div>')


def _hunk(hunk: Hunk, notes: Mapping[int, Sequence[FindingMark]]) -> Iterator[str]:
    told: set[int] = set()
    for row in hunk.rows:
        here = notes.get(row.old, ()) if row.old is not None and row.old not in told else ()
        told.add(row.old or 0)
        is_mixed = len(row.pieces) > 1
        text = "".join(_piece(piece, is_mixed=is_mixed) for piece in row.pieces) or "<br>"
        margin = "".join(map(finding_note, here))
        aside = f'<div class="margin">{margin}</div>' if margin else ""
        yield (
            f'<div class="diff-row{_kind(row)}">'
            f'<span class="num">{row.old or ""}</span><span class="num">{row.new or ""}</span>'
            f'<div class="diff-text">{text}</div>{aside}</div>'
        )


def _kind(row: Row) -> str:
    if not row.changed:
        return ""
    if row.new is None:
        return " gone"
    return " new" if row.old is None else " changed"


def _piece(piece: Piece, *, is_mixed: bool) -> str:
    tag = _TAGS.get(piece.mark)
    if tag is None:
        return escape(visible(piece.text.rstrip("\r\n")))
    # A line end shows only where it is itself what was removed or added.
    ends = "⏎" if is_mixed else ""
    text = visible(piece.text).replace("\r", "␍").replace("\n", ends)
    return f"<{tag}>{escape(text)}</{tag}>" if text else ""


def _skipped(lines: int) -> str:
    if not lines:
        return ""
    return format_html('<p class="skipped">{} the same</p>', count_words(lines, "line"))
