"""Rules on how a note is built: headings, sections, fences, tables and alternative texts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise, takewhile

from review.protocol.typed_review import ReviewFinding
from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.lists import EMPTY_ALTERNATIVES
from review.runners.rules.page import Findings, Page, info_if, rule
from review.runners.rules.words import plain, safe_quote, shown, word_count
from review.vocabulary import Severity

_TOP = 1
_FEWEST_LABELS = 3
_COMPONENT = re.compile(r"\s*<[A-Z]\w*")  # what stands in it has levels of its own
# Parts of a book of mdBook and versions are headings of level 1 there.
_OF_PARTS = re.compile(r"/summary\.md$|change[-_ ]?log", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(?:`{3}|~{3})", re.MULTILINE)
_POINTS = ".:!?*_ "
_SKELETON = re.compile(
    r"\.github/|(?:^|[/_. -])(?:daily|journals?)\b|template|change[-_ ]?log|release[-_ ]?notes|\bhistory\b|vorlage|mod[eè]le|plantilla|шаблон|模板|템플릿|テンプレート",
    re.IGNORECASE,
)
_LABEL_WITH_VALUE = re.compile(
    r"[^:\n]{1,40}(?::|\uff1a|\s[-\u2013\u2014])[\s*_]*[^\s:*_]|(?:[A-Z]+ )?/\S*$|\w*[a-z][A-Z]\w*(?:\(.*)?$"
)
_CODE = re.compile(r"(`+)[^`]+\1")
_ODD_FENCE = re.compile(
    r"^ {0,3}(?:`{3,}[^`\n]*[^`\s][^`\n]*`|~{3,}[^~\n]*[^~\s][^~\n]*~)", re.MULTILINE
)
_SCRIPT = re.compile(r"\w*\s*\*/")  # that reads as a note up to its fence, and is to end in code
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")
_EMPTY_END = re.compile(r"\|[|\s]*(?:\^[\w-]+)?\s*$")  # empty cells, or an id of Obsidian
_DELIMITER_ROW = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?\|?\s*")


@rule("there is at most one heading of level 1", "Make the later ones level 2, or split the note.")
def multiple_h1(page: Page) -> Findings:
    tops = [block for block in page.headings if block.level == _TOP]
    # Sections may be of level 1 in a vault, and in a piece of a larger text.
    is_piece = len(tops) == len(page.headings) and not page.field("title")
    for block in tops[1:] if not _OF_PARTS.search(f"/{page.given.note_path}") else ():
        said = f"a second heading of level 1; the first stands on line {tops[0].line}"
        yield block.finding(said, severity=info_if(is_piece or page.is_of_vault))


@rule(
    "headings go down one level at a time",
    "Raise the heading by the levels that are missing above it.",
)
def heading_level_skips(page: Page) -> Findings:
    # Without a title the text is a piece of another, which begins at any level.
    above = _TOP if page.title or not page.headings else page.headings[0].level
    framed = {below.line for block, below in pairwise(page.blocks) if _COMPONENT.match(block.text)}
    for block in () if _OF_PARTS.search(page.given.note_path) else page.headings:
        if block.level > above + 1 and block.line not in framed:
            yield block.finding(f"a heading of level {block.level} follows level {above}")
        above = block.level


@rule(
    "every heading has text or subsections under it", "Write the section or take its heading out."
)
def empty_sections(page: Page) -> Findings:
    if page.is_foreign or _SKELETON.search(f"{page.given.note_path} {page.title}"):
        return
    invisible = (BlockKind.RULE, BlockKind.COMMENT)
    blocks = [block for block in page.blocks if block.kind not in invisible]
    for block, below in zip(blocks, [*blocks[1:], None], strict=False):
        if block.kind is not BlockKind.HEADING or block.inside or not plain(block.words):
            continue
        is_heading = below is not None and below.kind is BlockKind.HEADING and not below.inside
        is_empty = not below or (is_heading and below.level <= block.level)
        if is_empty and not _says_something(block):
            # It may be of an outline or a list, or what a site fills.
            said = f"nothing stands under {shown(block.words)}"
            yield block.finding(said, severity=Severity.INFO)


def _says_something(heading: Block) -> bool:
    """True if it is the content: a link, an address, a name of code, a sentence, a label with its value."""
    children = heading.token.children or ()
    return (
        heading.words.endswith((".", "\u3002"))
        or bool(_LABEL_WITH_VALUE.match(heading.text))
        or any(token.type in ("link_open", "image") for token in children)
    )


@rule(
    "headings under one parent differ",
    "Merge the sections, or say in the headings how they differ.",
)
def duplicate_headings(page: Page) -> Findings:
    counts = Counter(block.words.casefold() for block in page.headings)
    path: list[tuple[int, dict[str, int]]] = [(0, {})]  # level, and its subheadings by words
    again: list[tuple[Block, int, dict[str, int]]] = []
    repeated: defaultdict[int, set[str]] = defaultdict(set)
    for block in page.headings:
        while path[-1][0] >= block.level:
            path.pop()
        siblings, words = path[-1][1], " ".join(block.text.casefold().split()).strip(_POINTS)
        if all(token.type == "code_inline" for token in block.token.children or ()):
            words = ""  # the name of a file, whose state is shown again
        if words and words in siblings:
            again.append((block, siblings[words], siblings))
            repeated[id(siblings)].add(words)
        siblings.setdefault(words, block.line)
        path.append((block.level, {}))
    for block, line, siblings in again:
        # A word, and text that comes often, is a label, and so are several that come again;
        # of level 1 it may be a slide, or a comment of code that no fence holds.
        is_often = counts[block.words.casefold()] >= _FEWEST_LABELS
        is_label = is_often or word_count(block.words) <= 1
        severity = info_if(is_label or block.level == _TOP or len(repeated[id(siblings)]) > 1)
        said = f"the heading {shown(block.words)} stands on line {line} already"
        yield block.finding(said, severity=severity)


@rule(
    "every code fence is closed",
    "Close the fence with as many backticks as opened it, indented no less than its opening.",
)
def unclosed_fences(page: Page) -> Findings:
    # A fence with backticks behind it or a tag above opens none in CommonMark, and does elsewhere.
    html = (block.text for block in page.blocks if block.kind is BlockKind.HTML)
    is_odd = _ODD_FENCE.search("\n".join(page.document.lines)) or any(map(_FENCE.search, html))
    is_sure = not is_odd and page.given.flavour.name != "logseq"  # which looks at no indent
    texts = ((block, f"{block.token.info}\n{block.token.content}") for block in _fences(page))
    for block in (block for block, text in texts if not _SCRIPT.match(text)):
        severity = Severity.WARN
        following = page.document.lines[block.last_line - page.lines_above :]
        if block.last_line - block.line > block.token.content.count("\n"):  # closed
            if not _opens_again(block):
                continue
            said = "the code fence opened here is not closed before the next one opens"
        elif any(line.strip() for line in following):
            said = (
                "the code fence opened here ends with its list item or quotation, not with a fence"
            )
        else:
            severity = Severity.FAIL if block.token.content.strip() else Severity.WARN
            said = "the code fence opened here is never closed: all that follows is code"
        yield page.finding(said, block.line, severity=severity if is_sure else Severity.INFO)


def _fences(page: Page) -> list[Block]:
    return [block for block in page.blocks if block.token.type == "fence"]


def _opens_again(fence: Block) -> bool:
    """True if a fence of the same width opens inside: then the closing fence belongs to that one."""
    marker = re.escape(fence.token.markup)
    opener = rf"^ {{0,3}}{marker}(?!{marker[-1]})[ \t]*\w+[ \t]*$"
    return re.search(opener, fence.token.content, re.MULTILINE) is not None


@rule(
    "table rows have as many cells as their header",
    "Add or merge cells; write a pipe inside a cell as `\\|`.",
)
def table_column_mismatch(page: Page) -> Findings:
    pipes_in_code = page.given.flavour.name in ("jekyll", "mkdocs")
    for block in page.blocks:
        if block.kind is BlockKind.PARAGRAPH:
            yield from _uneven_header(page, block)
        if block.kind is not BlockKind.TABLE:
            continue
        _header, delimiter, *rows = block.lines
        width = _cells(delimiter)
        for number, row in enumerate(rows, start=block.line + 2):
            cells = _cells(_CODE.sub("", row) if pipes_in_code else row)
            said = f"this row has {cells} cells under {width} headers"
            if cells > width:
                is_empty = _cells(_EMPTY_END.sub("|", row)) <= width
                said = f"{said}: what is over is not shown"
                yield page.finding(said, number, severity=info_if(is_empty))
            elif 1 < cells < width and row.strip(" |:-"):
                yield page.finding(said, number, severity=Severity.INFO)


def _uneven_header(page: Page, block: Block) -> Findings:
    """Find a row of dashes whose number differs from the header's: that makes no table."""
    for number, (header, delimiter) in enumerate(pairwise(block.lines), start=block.line):
        if _DELIMITER_ROW.fullmatch(delimiter) and "|" in header:
            cells, width = _cells(header), _cells(delimiter)
            if cells != width > 1:
                said = (
                    f"the header has {cells} cells, the dashes below it {width}: this is not shown "
                    "as a table"
                )
                # Kramdown takes any dashes for those of the header.
                is_shown = page.given.flavour.name == "jekyll"
                yield page.finding(said, number, severity=info_if(is_shown))


def _cells(row: str) -> int:
    """Count the cells of a table row as GitHub does: only a backslash protects a pipe."""
    inner = row.strip().removeprefix("|")
    closes = inner.endswith("|") and not inner.endswith("\\|")
    return len(_UNESCAPED_PIPE.findall(inner)) + (not closes)


@rule(
    "code fences name their language",
    "Write the language after the opening fence, `text` where there is none.",
)
def fences_without_language(page: Page) -> Findings:
    for block in _fences(page):
        if not block.token.info.strip():
            quote = next((line for line in block.lines[1:] if line.strip()), "")
            said = "the code fence does not name its language"
            yield ReviewFinding(Severity.INFO, said, safe_quote(quote), block.line)


_HTML_IMAGE = re.compile(r"<img\b[^<>]*\bsrc[^<>]*>", re.IGNORECASE)
_HTML_ALT = re.compile(r"\balt\s?=|\brole\s?=\s?[\"']?(?:presentation|none)|\baria-", re.IGNORECASE)
_FILE_NAME = re.compile(r"[^\s/]+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|avif)", re.IGNORECASE)
_PLAYER = re.compile(
    r"https?://(?:[\w-]+\.)?(?:youtube\.com|youtu\.be|vimeo\.com|twitter\.com|x\.com)/",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:img|image|screenshot|screen shot|picture|photo|dsc|figure|fig)[\s_-]*\d*"
)
_BOLD_LINE = re.compile(r"(?:\*\*([^*\n]+)\*\*|__([^_\n]+)__)")
_WITHOUT = "an image without alternative text"
# Words of a sentence, which is said with force, and names of files; a heading may be a question.
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|must|should|might|does|did|not|never"
    r"|please|ist|sind|wird|werden|hat|haben|kann|können|muss|müssen|soll|darf|nicht|est|sont|sera|peut"
    r"|doit|faut|está|están|fue|puede|debe|è|sono|può|deve|são|pode)\b|n['\u2019]t\b"
    r"|[你您这却\u3001\uff0c]|注意|不[要能是]|(?:ない|[了吗呢]|一下)$|[\u3040-\u9fff]{12}|^\S+\.\w+$",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:how|what|when|where|which|who|why|whether|was|wer|wie|wann|warum|wo|comment|pourquoi|quand|où"
    r"|qu|cómo|qué|cuándo|dónde|come|perché|como|por)\b",
    re.IGNORECASE,
)
_LONGEST_HEADING = 80
_MOST_WORDS = 8
_STOPPED = re.compile(r"[.!?:\u3002\uff01\uff1f\uff1a\u0964][ *_)]*\Z")
_TEXT = (BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.HTML)
_HEADS = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM})


@rule(
    "every image has an alternative text that describes it",
    "Say in the brackets what the image shows and why it is here.",
)
def images_without_alt_text(page: Page) -> Findings:
    html = [block for block in page.blocks if block.kind is BlockKind.HTML]
    for block in [*page.texts, *html]:
        for image in block.inline.images:
            said = _fault_of(image.text.strip())
            if said and not _PLAYER.match(image.target):  # which is no image
                yield block.finding(said, image.start, end=image.end)
        tags = [(found.start(), found[0]) for found in _HTML_IMAGE.finditer(block.text)]
        for offset, tag in tags if block.kind is BlockKind.HTML else block.inline.html_images:
            if not _HTML_ALT.search(tag):
                yield block.finding(_WITHOUT, offset)


def _fault_of(alternative: str) -> str:
    if not alternative:
        return _WITHOUT
    is_no_description = (
        plain(alternative) in EMPTY_ALTERNATIVES
        or _FILE_NAME.fullmatch(alternative)
        or _NUMBERED.fullmatch(alternative.lower())
    )
    said = f"the alternative text {shown(alternative)} does not describe the image"
    return said if is_no_description else ""


@rule(
    "no bold line stands in place of a heading",
    "Make it a heading of the level below the section it stands in.",
)
def bold_as_heading(page: Page) -> Findings:
    counts = Counter(block.text.strip() for block in page.blocks)
    subtitles = set(_subtitles(page))
    for block, below in pairwise(() if page.is_foreign else page.blocks):
        text = block.text.strip()
        if block.kind is not BlockKind.PARAGRAPH or BlockKind.ITEM in block.inside:
            continue
        found = _BOLD_LINE.fullmatch(text) if len(text) <= _LONGEST_HEADING else None
        # Followed by code, a table or an image it is a caption.
        stands_alone = block.gap_before and below.gap_before and below.kind in _HEADS
        if found is None or not stands_alone or below.text.startswith("!"):
            continue
        words = (found[1] or found[2]).strip()
        is_sentence = _CLAUSE.search(words) and not _QUESTION.match(words)
        if words and words[-1].isalnum() and not is_sentence:
            # Repeated text there is a label, and a long one or "or" may be of a sentence.
            is_part = word_count(words) > _MOST_WORDS or words[0].islower()
            severity = info_if(is_part or counts[text] > 1 or block.line in subtitles)
            said = f"the bold line {shown(words)} stands where a heading would"
            yield block.finding(said, severity=severity)


def _subtitles(page: Page) -> Iterator[int]:
    """Yield the lines between a heading and its text, if no bold line follows: names, notices."""
    starts = [at for at, block in enumerate(page.blocks) if block.kind is BlockKind.HEADING]
    for start, end in pairwise([-1, *starts, len(page.blocks)]):
        section = page.blocks[start + 1 : end]
        above = list(
            takewhile(lambda it: it.kind in _TEXT and not _STOPPED.search(it.text), section)
        )
        if not any(_BOLD_LINE.fullmatch(block.text.strip()) for block in section[len(above) :]):
            yield from (block.line for block in above)
