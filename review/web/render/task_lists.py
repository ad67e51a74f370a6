"""Tasks in lists, `- [ ] …` and `- [x] …`, as boxes that nobody can tick; in linear time."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_BOX = re.compile(r"\[([ xX])\][ \t\n\v\f\r]")
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_LISTS_END = frozenset({"bullet_list_close", "ordered_list_close"})


def task_lists(markdown: MarkdownIt) -> None:
    """Let `markdown` know tasks. A list with a task has the class `contains-task-list`.

    The plugin that others use looks back for the list of every task, which takes the square of
    their number: twenty seconds for a list that fits a page.
    """
    markdown.core.ruler.after("inline", "task-lists", _mark_tasks)


def _mark_tasks(state: StateCore) -> None:
    open_lists: list[Token] = []
    before: tuple[Token | None, Token | None] = (None, None)
    for token in state.tokens:
        if token.type in _LISTS:
            open_lists.append(token)
        elif token.type in _LISTS_END:
            open_lists.pop()
        elif token.type == "inline" and open_lists:
            _mark_task(token, item=before[0], paragraph=before[1], around=open_lists[-1])
        before = (before[1], token)


def _mark_task(token: Token, *, item: Token | None, paragraph: Token | None, around: Token) -> None:
    """Put the box in place of its brackets, where an item begins with them."""
    if item is None or item.type != "list_item_open" or not token.children:
        return
    if paragraph is None or paragraph.type != "paragraph_open":
        return
    box = _BOX.match(token.content)
    if box is None:
        return
    token.content = token.content[3:]
    token.children[0].content = token.children[0].content[3:]
    checked = "" if box[1] == " " else 'checked="checked" '
    opening = f'<label><input {checked}disabled="disabled" type="checkbox">'
    token.children = [_html(opening), *token.children, _html("</label>")]
    item.attrSet("class", "task-list-item")
    around.attrSet("class", "contains-task-list")


def _html(content: str) -> Token:
    token = Token("trusted", "", 0)
    token.content = content
    return token
