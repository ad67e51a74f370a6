"""Reads Markdown into tokens that know their places: the one reader of rules, links and pages."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import UserDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from review.domain.markdown.flavours import COMMONMARK, Flavour

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token as Token

    InlineRule = Callable[[StateInline, bool], bool]
else:
    Token = Any

SPAN = "span"  # start and end of a token in the content it stands in
LABEL = "label"  # start and end of a link's words
WIKI_TARGET = "wiki_target"
TEMPLATE = "template"
COMMENT = "comment"
MATH = "math"
MARKER = "marker"

_TRACKED = ("backticks", "link", "image", "footnote_ref", "autolink", "html_inline")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n|]*+)(?:\|([^\[\]\n]*+))?\]\]")
_MATH = re.compile(
    r"\$\$(?:[^$\\]|\\.)++\$\$|\$(?![\s\d$])(?:[^$\n\\]|\\.)*+(?<!\s)\$(?!\d)", re.DOTALL
)
_TEX = re.compile(
    r"\\\((?:(?!\\\().)+?\\\)|\\\[(?:(?!\\\[).)+?\\\]"
    r"|\\begin\{(\w+\*?)\}(?:(?!\\begin\{).)+?\\end\{\1\}",
    re.DOTALL,
)
_SITE_LINK = re.compile(
    r"\[([^\[\]]*+)\]\(\s*\{\{[<%]\s*(?:rel)?ref\s+(?:path=)?[\"'`]?([^\s\"'`<>%]++)[^{}]*+\}\}\s*\)"
    r"|\[([^\[\]]*+)\]\(\s*(?:\{\{[^{}]*+\}\})?\{%-?\s*(?:post_url|link)\s+([^\s%]++)[^{}%]*+%\}\s*\)"
)
# By the mark that opens it: the one that closes it.
_CLOSERS = {"%%": "%%", "<%": "%>", "{#": "#}", "{/*": "*/}", "{`": "`}", "{{": "}}", "{%": "%}"}
_SLOTS = frozenset({"<%", "{{", "{%"})
_CODE_SHORTCODE = re.compile(
    r"(?:\{\{[<%]|(\{%)-?)\s*(highlight|code-toggle|code|comment|mermaid|math|katex)\b(?!.*/[>%]\}\})"
)
_COMMENT_PAIR = re.compile(
    r"\{%-?\s*comment\b(?:(?!\{%-?\s*endcomment).)*+\{%-?\s*endcomment\s*-?%\}"
    r"|\{\{([<%])\s*comment\b(?:(?!\{\{[<%]\s*/).)*+\{\{\1\s*/\s*comment\s*[>%]\}\}",
    re.DOTALL,
)
_TAB_LINE = re.compile(r"^([ \t]*)===[!+]{0,2}(?=[ \t]+\")", re.MULTILINE)
# A line of nothing but tags, or with a tag that ends further down.
_MARKER_LINE = re.compile(
    r"(?:(?:\{%(?:(?!%\}).)*+%\}|\{\{[<%](?:(?![>%]\}\}).)*+[>%]\}\})[ \t]*)+$"
    r"|(?:\{%|\{\{[<%])(?:(?![>%]\}).)*$|:::",
    re.MULTILINE,
)
# Of MDX, where Markdown may follow a tag without a blank line.
_MODULE_LINE = re.compile(
    r"(?m)(?:import|export)\s|</?[A-Z][^<>\n]*>[ \t]*$|</?\w[^<>\n]*>[ \t]*\n[ \t]*(?:`{3}|~{3})"
)
# Behind the bracket of a link or the colon of a definition: what a site makes the address of.
_SLOT_ADDRESS = re.compile(
    r"(?m)(\]\((?!\{)|^ {0,3}\[[^\[\]\n]+\]:[ \t]*)([^\s()]*(?:\{[{%][^{}\n]*[%}]\}[^\s()]*)+)"
)
_BLANK = "\ue001"  # stands for a blank in such an address, which none may have
_LONGEST_SLOT = 5_000  # characters
# A block with more is no prose: reading it could take a minute.
_MOST_BRACKETS = 2_000
_ALWAYS_ENDS: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}


@dataclass(frozen=True)
class MarkdownDocument:
    """The tokens of a text; `lines` are those of the text, and `token.map` counts in them from 0."""

    tokens: Sequence[Token]
    lines: Sequence[str]


def read_markdown(text: str, flavour: Flavour = COMMONMARK) -> MarkdownDocument:
    """Read a text without its frontmatter; lines may end with a lone carriage return too."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\x01")
    plain = plain if plain.endswith("\n") else f"{plain}\n"
    lines = plain.split("\n")
    if flavour.hides & {"{{", "{%"}:
        plain = _SLOT_ADDRESS.sub(lambda found: found[1] + found[2].replace(" ", _BLANK), plain)
    tokens = parser(flavour).parse(plain, new_env())
    for token in chain(tokens, *(token.children or () for token in tokens if _BLANK in plain)):
        token.content = token.content.replace(_BLANK, " ")
        if "href" in token.attrs:
            token.attrs["href"] = str(token.attrs["href"]).replace(_BLANK, " ")
    return MarkdownDocument(tokens, lines)


def new_env() -> dict[str, Any]:
    """An environment to parse in, where names of footnotes match without regard to case."""
    return {"footnotes": {"refs": _FoldedNames(), "list": {}}}


class _FoldedNames(UserDict[str, int]):
    def __getitem__(self, name: str) -> int:
        return super().__getitem__(name.casefold())

    def __setitem__(self, name: str, number: int) -> None:
        super().__setitem__(name.casefold(), number)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).casefold())


@cache
def parser(flavour: Flavour = COMMONMARK) -> MarkdownIt:
    """Return the parser of a flavour; the tokens of links and code have a `SPAN` in their `meta`."""
    from mdit_py_plugins.footnote import footnote_plugin

    markdown = new_parser(flavour)
    # CommonMark takes text between `<%` and `%>` for an address.
    is_link = re.compile(r"(?!%.*%$)" if "<%" in flavour.hides else "").match
    markdown.validateLink = is_link  # type: ignore[assignment, method-assign]
    markdown.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    names = markdown.inline.ruler.get_active_rules()
    for name, rule in zip(names, markdown.inline.ruler.getRules(""), strict=True):
        if name in _TRACKED:
            markdown.inline.ruler.at(name, _tracked(rule))
    return markdown


def new_parser(flavour: Flavour, *, draws_math: bool = False) -> MarkdownIt:
    """Make a parser of a flavour, without footnotes, with math in all if `draws_math`."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": 100})
    markdown.enable(["table", "strikethrough"])
    markdown.normalizeLink = str  # type: ignore[assignment, method-assign]
    markdown.core.ruler.at("inline", _read_inline)
    if draws_math:
        flavour = replace(flavour, math=True)
        markdown.inline.ruler.before("escape", "tex", _span_rule(MATH, partial(_end_of, _TEX)))
    _add_inline_rules(markdown, flavour)
    _add_block_rules(markdown, flavour)
    return markdown


def _add_inline_rules(markdown: MarkdownIt, flavour: Flavour) -> None:
    rules = markdown.inline.ruler
    if flavour.hides & {"{{", "{%"}:
        rules.before("link", "comment", _span_rule(COMMENT, partial(_end_of, _COMMENT_PAIR)))
    for opener in flavour.hides & _CLOSERS.keys():
        kind = TEMPLATE if opener in _SLOTS else COMMENT
        rules.before("link", f"hidden {opener}", _span_rule(kind, partial(_end_of_slot, opener)))
    if flavour.math:
        rules.before("escape", "math", _span_rule(MATH, partial(_end_of, _MATH)))
    if flavour.hides & {"{{", "{%"}:
        rules.before("link", "site_link", _tracked(_site_link))
    if flavour.wikilinks:
        rules.after("image", "wikilink", _wikilink_rule(target_last=flavour.target_last))


def _add_block_rules(markdown: MarkdownIt, flavour: Flavour) -> None:
    rules = markdown.block.ruler
    if "{{" in flavour.hides:
        rule = _block_rule("{{/*", r"\*/\}\}", f"{COMMENT}_block")
        rules.before("fence", "hidden {{/*", rule, _ALWAYS_ENDS)
    for opener in flavour.hides & (_CLOSERS.keys() - _SLOTS):
        rule = _block_rule(opener, re.escape(_CLOSERS[opener]), f"{COMMENT}_block")
        rules.before("fence", f"hidden {opener}", rule, _ALWAYS_ENDS)
    if flavour.math:
        rules.before("fence", "math", _block_rule("$$", r"\$\$", f"{MATH}_block"), _ALWAYS_ENDS)
    if "import" in flavour.hides:
        # It ends a table too, for which the reader asks the rules that end a quotation.
        rules.before("fence", "module", _line_rule(_MODULE_LINE), {"alt": ["blockquote"]})
    rules.before("fence", "marker", _line_rule(_MARKER_LINE), _ALWAYS_ENDS)
    if flavour.admonitions:
        from mdit_py_plugins.admon import admon_plugin

        markdown.use(admon_plugin)
        markdown.core.ruler.after("normalize", "tabs", _tabs_as_admonitions)
    if flavour.definition_lists:
        from mdit_py_plugins.deflist import deflist_plugin

        markdown.use(deflist_plugin)
    if flavour.hides & {"{{", "{%"}:
        rules.before("marker", "code_shortcode", _shortcode, _ALWAYS_ENDS)


def _tracked(rule: InlineRule) -> InlineRule:
    """Make a rule write down where the token that it makes starts and ends."""

    def tracked(state: StateInline, silent: bool) -> bool:
        start, known = state.pos, len(state.tokens)
        found = rule(state, silent)
        made = (token for token in state.tokens[known:] if token.type != "text")
        if not silent and (token := next(made, None)):
            token.meta[SPAN] = (start, state.pos)
            if token.type == "link_open" and token.info != "auto" and LABEL not in token.meta:
                end = state.md.helpers.parseLinkLabel(state, start, True)
                token.meta[LABEL] = (start + 1, end)
        return found

    return tracked


def _span_rule(kind: str, end_of: Callable[[StateInline], int]) -> InlineRule:
    """Make a token up to the end that is found, and read nothing in it; -1 is none."""

    def rule(state: StateInline, silent: bool) -> bool:
        end = end_of(state)
        if end < 0:
            return False
        if not silent:
            state.push(kind, "", 0).content = state.src[state.pos : end]
        state.pos = end
        return True

    return _tracked(rule)


def _end_of_slot(opener: str, state: StateInline) -> int:
    begin, closer = state.pos + len(opener), _CLOSERS[opener]
    opens = state.src.startswith(opener, state.pos)
    limit = min(state.posMax, begin + _LONGEST_SLOT)
    at = state.src.find(closer, begin, limit) if opens else -1
    return at + len(closer) if at >= 0 else -1


def _end_of(pattern: re.Pattern[str], state: StateInline) -> int:
    found = pattern.match(state.src, state.pos, state.posMax)
    return found.end() if found else -1


def _wikilink_rule(*, target_last: bool) -> InlineRule:
    def rule(state: StateInline, silent: bool) -> bool:
        found = _WIKILINK.match(state.src, state.pos, state.posMax)
        if found is None:
            return False
        words, target = (2, 3) if target_last else (3, 2)
        if found[3] is None:
            words = target = 2
        if not found[target].strip():
            return False
        if not silent:
            name = found[target].rstrip("\\").strip()
            kind = "embed" if found[1] else "wikilink"
            _push_link(state, name, found.span(words), kind=kind)
        state.pos = found.end()
        return True

    return _tracked(rule)


def _site_link(state: StateInline, silent: bool) -> bool:
    found = _SITE_LINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    words = 1 if found[1] is not None else 3
    if not silent:
        _push_link(state, found[words + 1], found.span(words))
    state.pos = found.end()
    return True


def _push_link(
    state: StateInline, target: str, words: tuple[int, int], *, kind: str = "wikilink"
) -> None:
    opener = state.push("link_open", "a", 1)
    opener.attrs = {"href": target}
    opener.meta = {LABEL: words, WIKI_TARGET: kind}
    state.push("text", "", 0).content = state.src[slice(*words)].strip() or target
    state.push("link_close", "a", -1)


def _shortcode(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Read `{{< highlight … >}}` or `{% highlight … %}` up to its end as code."""
    found = _CODE_SHORTCODE.match(state.src, _begin(state, start_line))
    if found is None:
        return False
    # Zola ends any by `{% end %}`.
    closer = rf"end(?:{found[2]}|\s*-?%\}})" if found[1] else rf"/\s*{found[2]}"
    return _block_rule(found[0], closer, "code_block")(state, start_line, end_line, silent)


def _begin(state: StateBlock, line: int) -> int:
    return state.bMarks[line] + state.tShift[line]


def _block_rule(opener: str, closer: str, kind: str) -> Callable[..., bool]:
    """Make a token of the lines from `opener` to a line that ends with what `closer` finds."""
    closing = re.compile(closer)

    def rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
        begin = _begin(state, start_line)
        if state.is_code_block(start_line) or not state.src.startswith(opener, begin):
            return False
        closed = closing.search(state.src, begin + len(opener))
        line = bisect_left(state.eMarks, closed.end(), start_line, end_line) if closed else end_line
        if closed is None or line == end_line:
            return False
        if line == start_line and state.src[closed.end() : state.eMarks[line]].strip():
            return False
        if not silent:
            content = state.getLines(start_line, line + 1, state.blkIndent, True)
            _push_block(state, kind, content, (start_line, line + 1))
        return True

    return rule


def _line_rule(pattern: re.Pattern[str]) -> Callable[..., bool]:
    def rule(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:
        begin = _begin(state, start_line)
        if state.is_code_block(start_line) or not pattern.match(state.src, begin):
            return False
        if not silent:
            content = state.src[begin : state.eMarks[start_line]]
            _push_block(state, MARKER, content, (start_line, start_line + 1))
        return True

    return rule


def _push_block(state: StateBlock, kind: str, content: str, lines: tuple[int, int]) -> None:
    token = state.push(kind, "", 0)
    token.map = list(lines)
    token.content = content
    state.line = lines[1]


def _tabs_as_admonitions(state: StateCore) -> None:
    """Let the tabs of MkDocs, whose text is indented too, be read by the rule of admonitions."""
    state.src = _TAB_LINE.sub(r"\1!!! tab", state.src)


def _read_inline(state: StateCore) -> None:
    from markdown_it.token import Token as Token

    for token in state.tokens:
        if token.type != "inline" or token.children is None:
            continue
        if token.content.count("[") > _MOST_BRACKETS:
            token.children.append(Token("text", "", 0, content=token.content))
        else:
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def inline_tokens(document: MarkdownDocument) -> Iterator[tuple[Token, int]]:
    """Yield the tokens that hold inline markup, each with the line it starts on, from 0."""
    for token in document.tokens:
        if token.type == "inline" and token.map is not None:
            yield token, token.map[0]
