"""What `docs/deploy.md` tells to type, block by block."""

from __future__ import annotations

import re

from tests.helpers.commands import REPOSITORY

PAGE = REPOSITORY / "docs" / "deploy.md"
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(language: str, *, under: str) -> list[str]:
    """The blocks of a language under the heading that begins with these words, less their indent."""
    text = PAGE.read_text(encoding="utf-8")
    start = re.search(rf"^(#+) {re.escape(under)}", text, re.MULTILINE)
    assert start is not None, under
    # A line above it is empty: a comment in a block begins alike.
    end = re.search(rf"\n\n#{{1,{len(start[1])}}} ", text[start.end() :])
    section = text[start.start() : start.end() + end.start() if end else None]
    return [
        re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        for match in _BLOCK.finditer(section)
        if match[2] == language
    ]
