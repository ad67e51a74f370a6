"""The text of a note as a model is given it: pictures in it are named, comments may be left out."""

from __future__ import annotations

import re

from review.domain.markdown.document import COMMENT, TEMPLATE, Token, read_markdown
from review.domain.markdown.flavours import COMMONMARK, Flavour
from review.domain.markdown.frontmatter import parse_frontmatter

_SHORTEST_DATA = 120  # characters
_DATA = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w=.+-]+)*);base64,"
    r"((?:[A-Za-z0-9+/=_-]|%[0-9A-Fa-f]{2}|[ \t]*\r?\n[ \t]*(?=[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]+=))++)"
    r"|data:(image/svg\+xml)(?:;[\w=.+-]+)*,((?:%[0-9A-F]{2}|[^\s\"<>()]|(?<=\w) (?=\w))++)",
    re.IGNORECASE,
)
_HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Its words, between quotation marks or brackets, may go on to the next blank line.
_LABEL_COMMENT = re.compile(
    r"^[ \t>]*+\[(?://|\W{0,3}|_|comment|hidden)\]:[ \t]*(?:#|<>)(?:[ \t]*+(?:\n[ \t>]*+)?"
    r"(?:\(|([\"']))(?:[^\n]|\n(?![ \t>]*(?:\n|\[[^\]\n]*\]:)))*?(?(1)\1|\))[ \t]*$|.*$)\n?",
    re.IGNORECASE | re.MULTILINE,
)
_SLOT_COMMENT = re.compile(r"\{\{-?\s*/\*|<%#|\{%-?\s*#")
_COMMENT_BLOCK = re.compile(r"(?:\{\{[<%]|\{%-?)\s*comment\b")
_CODE = ("fence", "code_block")


def text_for_prompt(
    text: str, flavour: Flavour = COMMONMARK, *, strip_comments: bool = False
) -> str:
    """Return `text` with a short placeholder for each picture encoded in it."""
    shown = _DATA.sub(_placeholder, text) if "data:" in text.lower() else text
    return without_comments(shown, flavour) if strip_comments else shown


def _placeholder(found: re.Match[str]) -> str:
    size = len(found[3] or found[5])
    if size < _SHORTEST_DATA:
        return found[0]
    return f"data:{found[1] or found[4] or ''};base64,<{size} characters left out>"


def without_comments(text: str, flavour: Flavour = COMMONMARK) -> str:
    """Remove the comments of a flavour; those in code are kept."""
    offset = parse_frontmatter(text).body_offset
    document = read_markdown(text[offset:], flavour)
    lines = list(document.lines)
    kept: set[int] = set()  # lines of code
    for token in reversed(document.tokens):
        if token.map is None or not token.map[1]:
            continue
        start, end = token.map
        if token.type in _CODE and not _COMMENT_BLOCK.match(token.content):
            kept.update(range(start, end))
        elif found := _comments_in(token):
            region = "\n".join(lines[start:end])
            for comment in found:
                rows = (re.escape(row.strip()) for row in comment.split("\n"))
                region = re.sub(r"[ \t]*\n[ \t>]*".join(rows), "", region, count=1)
            left = region.split("\n")
            lines[start:end] = [*left, *[""] * (end - start - len(left))]
    body = "\n".join(lines)
    body = _LABEL_COMMENT.sub(
        lambda found: found[0] if kept and body.count("\n", 0, found.start()) in kept else "", body
    )
    return text[:offset] + re.sub(r"\n{3,}", "\n\n", body)


def _comments_in(token: Token) -> list[str]:
    if token.type == f"{COMMENT}_block" or token.type in _CODE:
        return [token.content.rstrip("\n")]
    if token.type == "html_block":
        return _HTML_COMMENT.findall(token.content)
    return [
        child.content
        for child in token.children or ()
        if child.type == COMMENT
        or (child.type == TEMPLATE and _SLOT_COMMENT.match(child.content))
        or (child.type == "html_inline" and child.content.startswith("<!--"))
    ]
