"""Shows untrusted texts, as Markdown or line by line, and changes, without any active content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import nh3
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from review.documents.base import grouped
from review.domain.diffs.words import Hunk, Mark, Piece, Row, WordDiff
from review.domain.markdown.frontmatter import parse_frontmatter
from review.domain.markdown.links import LinkKind
from review.domain.paths import BadPath
from review.domain.printing import count_words
from review.findings.states import QueueFindingJson
from review.knowledge_base import Corpus
from review.web.render.tokens import CLASSES, Dressing, LinkTo, Look

# A page stays below 500 kB whatever it shows: what is longer is cut, and the raw text is a link away.
MAX_CHARACTERS = 120_000
MAX_HTML = 260_000
_MARK_CHARACTERS = 240
_CUT = (
    '<p class="cut">Cut here: the text is longer than a page shows. The raw text has all of it.</p>'
)
# Controls that reorder or hide what follows are shown, so that what is read is what is there.
_CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: "\u2421",
    **dict.fromkeys(range(128, 160), "�"),
    **{
        code: f"\u27e6U+{code:04X}\u27e7"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
    },
}
_CLASSES = {
    "finding-note", "footnote-backref", "footnote-item", "footnote-ref", "footnotes",
    "footnotes-list", "frontmatter", "image", "no-page", "quoted", "wide", "word",
    "task-list-item", "info", "warn", "fail", "callout", "math",
    "right", "center", *CLASSES.values(),
}  # fmt: skip
_WITH_CLASSES = {
    "a", "b", "blockquote", "code", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "section", "span", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_LOOK = Look()
_LONE_CR = re.compile(r"\r(?!\n)")


class FindingMark(NamedTuple):
    """A finding at the line it quotes, from 1; `href` is the finding's page."""

    line: int
    fingerprint: str
    severity: str = ""
    text: str = ""
    href: str = ""


def mark_findings(found: Iterable[tuple[QueueFindingJson, int | None]]) -> list[FindingMark]:
    return [
        FindingMark(
            line, it.fingerprint, it.severity, it.text, reverse("finding", args=[it.fingerprint])
        )
        for it, line in found
        if line is not None
    ]


def render_text(
    text: str, look: Look, *, by_lines: bool, quotes: Sequence[FindingMark] = ()
) -> SafeString:
    """Return `text` line by line as it is written, or as Markdown with anchors of lines."""
    if by_lines:
        return render_plain(text, quotes=quotes)
    return render_markdown(text, look=look, line_anchors=True, quotes=quotes)


def render_markdown(
    text: str, *, look: Look = _LOOK, line_anchors: bool = False, quotes: Sequence[FindingMark] = ()
) -> SafeString:
    """Return `text` as HTML: CommonMark, sanitised, its frontmatter as it is written.

    Each of `quotes` precedes the block that holds its line, with the id `f-<fingerprint>`.
    With `line_anchors` a block has the id `<prefix>L<line>`. What is too long is cut and says so.
    """
    # As many whole lines as a page shows.
    end = text.rfind("\n", 0, MAX_CHARACTERS) + 1 or MAX_CHARACTERS
    shown = text if len(text) <= MAX_CHARACTERS else text[:end]
    offset = parse_frontmatter(shown).body_offset
    written = visible(shown[:offset].removeprefix("\ufeff")).rstrip()
    above = shown.count("\n", 0, offset)
    notes = [(mark.line, finding_note(mark)) for mark in quotes if mark.line > above]
    dressing = Dressing(look, above + 1, notes, with_lines=line_anchors)
    # The parser would end a line at a lone carriage return, as no file's lines do.
    html = dressing.render(_LONE_CR.sub("␍", visible(shown[offset:])))
    head = "".join(finding_note(mark) for mark in quotes if mark.line <= above)
    if offset:
        head += format_html('<pre class="frontmatter" tabindex="0">{}</pre>\n', written)
    clean = _cleaner().clean(f"{head}{html}")
    if len(clean) > MAX_HTML:
        return render_plain(text, quotes=quotes, prefix=look.prefix)
    return SafeString(clean + (_CUT if len(shown) < len(text) else ""))


def render_plain(
    text: str, *, quotes: Sequence[FindingMark] = (), prefix: str = "text-"
) -> SafeString:
    """Return `text` line by line, ended by line feeds, each under the id `<prefix>L<line>`."""
    marks = grouped((mark.line, mark) for mark in quotes)
    written: list[str] = []
    left = MAX_HTML
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        notes = "".join(map(finding_note, marks.get(number, ())))
        quoted = " quoted" if notes else ""
        words = escape(visible(line.removesuffix("\r"))) or "<br>"
        html = f'{notes}<div class="line{quoted}" id="{escape(prefix)}L{number}">{words}</div>'
        left -= len(html)
        if left < 0:
            written.append(_CUT)
            break
        written.append(html)
    start = '<div class="source" tabindex="0" role="group" aria-label="text by lines">'
    return SafeString(f"{start}{''.join(written)}</div>")


def visible(text: str) -> str:
    """The text with the controls that hide or reorder it written out, so that they are seen."""
    return text.translate(_CONTROLS)


def finding_note(mark: FindingMark) -> SafeString:
    text = mark.text if len(mark.text) <= _MARK_CHARACTERS else f"{mark.text[:_MARK_CHARACTERS]}…"
    words = format_html(
        '<b class="word {}">{}</b> {}', mark.severity, mark.severity or "finding", text
    )
    return format_html(
        '<div class="finding-note {}" role="note" id="f-{}">{}</div>\n',
        mark.severity,
        mark.fingerprint,
        format_html('<a href="{}">{}</a>', mark.href, words) if mark.href else words,
    )


@cache
def _cleaner() -> nh3.Cleaner:
    """Build the allowlist for rendered HTML: a second line of defence behind the parser."""
    return nh3.Cleaner(
        tags={*_WITH_CLASSES, "br", "del", "em", "input", "label", "s", "strong"},
        attributes={
            "*": {"id", "title"},
            "a": {"href"},
            "ol": {"start"},
            "pre": {"tabindex"},
            "div": {"tabindex", "role", "aria-label"},
            "input": {"checked", "disabled"},
        },
        tag_attribute_values={"input": {"type": {"checkbox"}}},
        allowed_classes=dict.fromkeys(_WITH_CLASSES, _CLASSES),
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


def note_links(corpus: Corpus, note_path: str) -> LinkTo:
    """Return addresses for the links of a note's text; what is neither note nor gate has none."""

    def address(target: str, kind: LinkKind) -> str | None:
        is_reference = kind is LinkKind.REFERENCE
        found = corpus.linker.resolve(
            target, note_path=note_path, kind=None if is_reference else kind
        )
        page = _page_of(found.path, corpus) if found.path else None
        if page is None or not found.anchor:
            return page
        return f"{page}#{Look.prefix}{found.anchor.lower().replace(' ', '-')}"

    return address


def _page_of(path: str, corpus: Corpus) -> str | None:
    """The page of a note or gate; None for another file."""
    with suppress(BadPath):
        return reverse("gate", args=[corpus.config.gate_id(path)])
    is_note = path.endswith(".md") and corpus.config.is_among_notes(path)
    return reverse("note", args=[path]) if is_note else None


_TAGS = {Mark.REMOVED: "del", Mark.ADDED: "ins"}


def render_diff(diff: WordDiff, *, marks: Sequence[FindingMark] = ()) -> SafeString:
    """Render the hunks of a change; `marks` are placed at lines of the old text."""
    notes = grouped((mark.line, mark) for mark in marks)
    hunks = (it for hunk in diff.hunks for it in (_skipped(hunk.skipped), *_hunk(hunk, notes)))
    cut = '<p class="cut">Cut here: the change is longer than a page shows.</p>' * diff.truncated
    return SafeString(f'<div class="diff">{"".join(hunks)}{_skipped(diff.skipped)}{cut}</div>')


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
    kind = " changed" if row.changed else ""
    return " gone" if kind and row.new is None else " new" if kind and row.old is None else kind


def _piece(piece: Piece, *, is_mixed: bool) -> str:
    tag = _TAGS.get(piece.mark)
    if tag is None:
        return escape(visible(piece.text.rstrip("\r\n")))
    # A line end shows only where it is itself what was removed or added.
    text = visible(piece.text).replace("\r", "␍").replace("\n", "⏎" if is_mixed else "")
    return f"<{tag}>{escape(text)}</{tag}>" if text else ""


def _skipped(lines: int) -> str:
    if not lines:
        return ""
    return format_html('<p class="skipped">{} the same</p>', count_words(lines, "line"))
