"""Rules on links, anchors, footnotes and labels: they lead somewhere, and tell why to follow."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence

from review.domain.markdown.anchors import letters_only, read_anchors
from review.domain.markdown.link_forms import ANCHORED, Share, form_of
from review.domain.markdown.links import LinkKind, RuleLink
from review.runners.rules.blocks import Block, BlockKind, InlineLink
from review.runners.rules.lists import VAGUE_LINK_TEXTS
from review.runners.rules.page import Findings, Page, info_if, rule
from review.runners.rules.words import plain, shown, word_count
from review.vocabulary import Severity

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_CODE = re.compile(r"`[^`]*`")
_TEMPLATE = re.compile(r"^[`%]|\{\{|\{%|<%|%%|%[a-z]+_[a-z]+%|\$\{|<[A-Za-z]")
_EXAMPLE_HOST = re.compile(
    r"https?://(?:localhost|127\.|0\.0\.0\.0|\[::1\]|192\.168\.|10\.|(?:[\w-]+\.)*example\b|"
    r"[\w.-]+\.(?:local|test|invalid|localhost)\b|(?:www\.)?youtu\.?be\b|"
    r"\S*(?:[{$]|\b(?:my|your)-|_your|YOUR|XX))"
)
# Names that nothing has: links to them show how a link is written.
_MADE_UP = re.compile(
    r"(?:.*[\W_\d])?(?:an? |my|your)?(?:examples?|samples?|foo|bar|placeholder|exemple|ejemplo"
    r"|esempio|exemplo|beispiel|voorbeeld|пример|示例|例|예시)(?:[\W_\d].*)?"
    r"|(?:(?:some)?(?:url|link|path)|path/to/.*|target|my-\w+|id - name|(?:note|page|file)[ -]?(?:name|title)"
    r"|(?:ノート|ページ)名|リンク|链接|.*(?:\*|\?\?|->).*|\w|\.{3}|…)",
    re.IGNORECASE,
)
# Notes that others include, and contents of books, whose chapters may be to be written or built.
_PIECE = re.compile(
    r"\b(?:_(?!index)|hls__)[^/]*$|\b_?(?:snippets|includes|partials|wrappers|fixtures|testdata|tests|templates?)/|(?:^|/)(?:SUMMARY|summary)\.md$|(?i:(?:^|[/_. -])template\.md$)"
)
# Anchors as no heading makes them, but a list of options or of numbered pieces that a build brings.
_LABEL = re.compile(r"#(?:\d+$|.*[A-Za-z]\.[A-Za-z])")
_CONVENTION = (
    ", as {1} of {of} written like it: if a site's builder resolves these, set `flavour` or "
    "`site_root` in kb/review.toml, or name their folder in `excludes`"
)
_MOST_BROKEN = 1000
_FEWEST_NAMES = 10
_FILE = re.compile(r"\.(?!mdx?$|html$)[A-Za-z]\w{1,4}$")
_HOST = re.compile(r"(?:www\.|(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|dev)(?=[/?#]|$))")
_SITE_NAME = re.compile(r"www\.[^/?#]*[/?#]?")
_SLIP = re.compile(r"[^\W\d][^\[\]]*(?:\] \(|\)\[)$")  # "[words] (address)"
_PART = re.compile(r"[*…]|\.{3}|(?:://|\.git)$")
# Marks of a value, a citation, a definition and an example.
_CITED = re.compile(r"(?:=|@\{?(?:url:)?|\]:\s*|\be\. ?g\.,? ?)$")
_CONTEXT = 60  # characters
_LONGEST_RUN = 7
_LONGEST_NAME = 5  # words
_LONGEST_LABEL = 3  # words
_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e`_*"
_INDEX = re.compile(
    r"/(?:_?index|readme|summary|toc|contents|sidebar|_sidebar|home|moc)\.mdx?$|\bmoc\b",
    re.IGNORECASE,
)
_CONTENTS = re.compile(
    r"\b(?:contents?|toc|index|overview|table|chapters?|pages?|sections?|list|links|see also|related|"
    r"references?|further reading|navigation|menu|sitemap|glossary|archives?|catalog(?:ue)?|directory|"
    r"inhalt\w*|[üu]bersicht|verzeichnis|siehe auch|sommaire|liens|voir aussi|[íi]ndice|enlaces|"
    r"map of content|moc)\b|目[录次錄]|索引|链接|参考|目录|содержание|оглавление|ссылки|см\. также|목차|참고|링크",
    re.IGNORECASE,
)


@rule(
    "every link to a file of the knowledge base leads to one",
    "Correct the path, create the note, or take the link out.",
)
def unresolved_links(page: Page) -> Findings:
    inside = [link for link in page.given.links if not link.external and _is_address(link)]
    broken = [
        link
        for link in inside
        if link.resolved is None
        and not any(
            f"{mark}{link.target}" in code
            for code in _CODE.findall(page.line(link.line))  # which shows how it is written
            for mark in "[("
        )
    ]
    # Where most lead nowhere, the note may be of another place, or of a builder that is not known.
    is_piece = len(broken) >= _MANY and len(broken) * 2 > len(inside)
    told = Counter[RuleLink]()
    for link in broken[:_MOST_BROKEN]:
        said = f"the link {shown(link.target)} leads nowhere"
        said += ": `https://` is missing" * bool(_HOST.match(link.target))
        is_doubtful = is_piece or _is_doubtful(page, link)
        share = Share() if is_doubtful else page.given.share_of(form_of(link.target))
        said += _CONVENTION.format(*share, of=sum(share)) if share.is_low else ""
        severity = info_if(is_doubtful or share.is_low)
        yield page.link_finding(link, said, severity=severity, nth=told[link])
        told[link] += 1


def _is_doubtful(page: Page, link: RuleLink) -> bool:
    """True for what may be still to be written, what a build may bring, and what git leaves out."""
    note, known, target = page.given.note_path, page.given.repository, link.target.partition("#")[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(note), target)).lstrip("/")
    folder = posixpath.dirname(path)
    is_built = bool(_PIECE.search(note)) or path.endswith((".zip", ".tgz", ".epub"))
    is_built |= bool(re.search(rf"ref\s+\W?{re.escape(target)}", page.line(link.line)))  # in Hugo
    # What is above the root is not known.
    if link.kind is LinkKind.WIKILINK or folder.startswith("..") or is_built:
        return True
    # A name without an ending is an address, a label or a formula, unless such names resolve here.
    form = form_of(target)
    if "." not in form.removeprefix("../"):
        share = page.given.share_of(form)
        return share.resolved < _FEWEST_NAMES or share.is_low
    if known is None:
        return False
    # A path to a folder that is not here may have come with its text from elsewhere.
    is_far = target.startswith(("../", "/")) and folder and folder not in known
    is_index = path.endswith(".md") and path[:-3] in known  # of a folder, which a site makes
    # Where a page has an address of its own, links start from that.
    is_index |= bool(page.field("permalink")) and target[0] != "/"
    # The build of a site may bring in pages of a folder that is not here; Hugo looks for a file
    # from the address of a page, not beside its file.
    is_page = page.given.flavour.makes_pages or path.endswith(".html")
    is_beside = page.given.flavour.name != "hugo" or _INDEX.search(f"/{note}")
    is_moved = folder not in known or (_FILE.search(path) and not is_beside)
    is_of_site = is_far or is_index or (is_page and folder and is_moved)
    return bool(is_of_site) or known.ignores(path) or known.ignores(target)


def _is_address(link: RuleLink) -> bool:
    target = link.target.strip()
    if target.startswith("#") or _SCHEME.match(target) or not re.search(r"\w", target):
        return False
    # Hidden files are not in the link table; whether they are there is not known here.
    hidden = any(part.startswith(".") and part.strip(".") for part in target.split("/"))
    is_made_up = _MADE_UP.fullmatch(target.partition("#")[0].rpartition("/")[2] or target)
    return not hidden and not is_made_up and not _TEMPLATE.search(target)


@rule(
    "addresses in the text are links with words",
    "Write `[what it is](address)`, or put a literal address between backticks.",
)
def bare_urls(page: Page) -> Findings:
    for block in page.prose:
        for url in block.inline.urls:
            if block.link_at(url.start) or _is_literal(block.text, url):
                continue
            is_slip = bool(_SLIP.search(block.prose[max(0, url.start - _CONTEXT) : url.start]))
            said = "a naked address: a reader cannot tell what it leads to"
            if is_slip:
                said = "the words before the address are no link: nothing may stand between them"
            yield block.finding(said, url.start, before=_CONTEXT, severity=info_if(not is_slip))


def _is_literal(text: str, url: InlineLink) -> bool:
    """True if the text is about the address itself: it is quoted, an example, or a name."""
    before, after = text[max(0, url.start - 1) : url.start], text[url.end : url.end + 1]
    is_quoted = before in _QUOTES and after in _QUOTES and bool(before)
    is_part = _PART.search(url.target) or text.startswith(("...", "…", "<"), url.end)
    is_example = _SITE_NAME.fullmatch(url.target) or _EXAMPLE_HOST.match(url.target)
    return bool(is_quoted or is_part or is_example or _CITED.search(text[: url.start]))


@rule(
    "long lists of links say why to follow them",
    "Add to each link half a sentence on what a reader finds there, or group them under headings.",
)
def wall_of_links(page: Page) -> Findings:
    if _INDEX.search(f"/{page.given.note_path.rpartition('/')[2]}") or _lists_contents(page.title):
        return
    run: list[Block] = []
    heading = ""
    for block in page.texts:
        if block.kind is BlockKind.HEADING:
            heading = block.text
        if block.kind is BlockKind.ITEM and _is_only_links(block):
            run.append(block)
            continue
        yield from _wall(run, heading)
        run = []
    yield from _wall(run, heading)


def _is_only_links(block: Block) -> bool:
    # A table of contents needs no reasons, and neither do words that are a reason themselves.
    if not block.links or all(
        "#" in link.target or link.text.startswith("`") for link in block.links
    ):
        return False
    shown_words = sum(word_count(link.text) for link in block.links)
    is_title = shown_words > _LONGEST_NAME * len(block.links)
    return word_count(block.prose) <= shown_words and not is_title


def _wall(run: Sequence[Block], heading: str) -> Findings:
    # Items of several levels are a tree: the contents of something.
    is_tree = len({block.inside for block in run}) > 1
    if len(run) > _LONGEST_RUN and not is_tree and not _lists_contents(heading):
        said = f"{len(run)} links in a row, and no word on why to follow any"
        yield run[0].finding(said, severity=Severity.INFO)


def _lists_contents(heading: str) -> bool:
    return len(heading.split()) <= _LONGEST_LABEL and bool(_CONTENTS.search(heading))


@rule(
    "link texts say where they lead",
    "Name the target in the link text, so that it makes sense when read alone.",
)
def vague_link_text(page: Page) -> Findings:
    for block in page.texts:
        for link in block.links if block.kind is not BlockKind.QUOTE else ():
            is_name = link.text.startswith("`") or link.kind is LinkKind.WIKILINK
            is_name |= plain(link.text) in plain(link.target).split()
            if not is_name and plain(link.text) in VAGUE_LINK_TEXTS:
                said = f"the link text {shown(link.text)} does not say where it leads"
                yield block.finding(said, link.start, before=_CONTEXT)


_FOOTNOTE_NAME = re.compile(r"(?=[^\W_])[\w-]{1,60}")
_RANGE = re.compile(r"\w-\w")
_REFERENCE = re.compile(r"(?<!!)\[([^\[\]]+)\]\[([^\[\]^][^\[\]]*)?\](?![*+?{(\[:])")
_OPERATOR = re.compile(r"[=<>{}]")
_OBJECT = re.compile(r"`?[\w-]+(?:(?:::|[.:/#])[\w-]+)*`?")
_CAPITALS = re.compile(r"[A-Z_-]+")
_BY_WORDS = (LinkKind.WIKILINK, LinkKind.EMBED)
_CHARACTERS = re.compile(r"\S*\w-\w\S*|\W*\w\W*")
_MANY = 3


@rule(
    "every link to a heading leads to one that is there",
    "Spell the anchor as the heading is spelled now.",
)
def broken_anchors(page: Page) -> Findings:
    own = read_anchors(page.document, page.given.flavour)
    # The title and some lists of the frontmatter, which a site shows.
    of_site = {letters_only(name) for name in (page.title, *page.frontmatter.fields)}
    within = [
        (block, link) for block in page.texts for link in block.links if link.target.startswith("#")
    ]
    broken = [
        (block, link)
        for block, link in within
        if not own.have(link.target[1:], by_words=link.kind in _BY_WORDS)
        and letters_only(link.target) not in of_site
    ]
    # Without a title, or where most are broken, it may be a piece of a larger text that has them.
    is_piece = not page.title or (len(broken) >= _MANY and len(broken) * 2 > len(within))
    is_piece |= bool(_PIECE.search(page.given.note_path))
    for block, link in broken:
        said = f"no heading of the note answers to {shown(link.target)}"
        doubt = info_if(is_piece or _is_label(page, link))
        yield block.finding(said, link.start, before=_CONTEXT, severity=doubt)
    for other in page.given.links:
        if other.resolved is None or not other.anchor or other.target.startswith("#"):
            continue
        is_own = other.resolved == page.given.note_path
        anchors = own if is_own else page.given.anchors_of(other.resolved)
        if anchors and not anchors.have(other.anchor, by_words=other.kind in _BY_WORDS):
            said = f"no heading of {shown(other.resolved)} answers to {shown(other.target)}"
            yield page.link_finding(other, said, severity=info_if(_is_label(page, other)))


def _is_label(page: Page, link: InlineLink | RuleLink) -> bool:
    """True for what a build may bring: no heading makes it, or it is so in all of the base."""
    is_label = link.kind not in _BY_WORDS and _LABEL.search(link.target)
    return bool(is_label) or page.given.share_of(ANCHORED).is_low


@rule("every footnote mark has its text", "Write the footnote's text, or take its mark out.")
def broken_footnotes(page: Page) -> Findings:
    defined = {
        str(token.meta["label"]).casefold(): page.lines_above + 1 + token.map[0]
        for token in page.document.tokens
        if token.type == "footnote_reference_open" and token.map is not None
    }
    used: set[str] = set()
    for block in page.texts:
        for mark in block.inline.footnotes:
            name = mark.target.casefold()
            used.add(name)
            if name not in defined and _is_footnote_mark(block, mark, bool(defined)):
                said = f"the footnote {shown(mark.target)} has no text"
                yield block.finding(said, mark.start, before=_CONTEXT)
    for name, line in defined.items():
        if name not in used:
            said = f"nothing refers to the footnote {shown(name)}"
            yield page.finding(said, line, severity=Severity.INFO)


def _is_footnote_mark(block: Block, mark: InlineLink, any_defined: bool) -> bool:
    """True for a footnote, not for a regular expression such as `[^a-z]+` without backticks."""
    is_repeated = block.text.startswith(tuple("*+?{]"), mark.end)
    is_name = _FOOTNOTE_NAME.fullmatch(mark.target) and not _RANGE.fullmatch(mark.target)
    return bool(is_name and not is_repeated and (any_defined or mark.target.isdigit()))


@rule(
    "every link label is defined", "Add `[label]: address` below, or write the address in the link."
)
def undefined_references(page: Page) -> Findings:
    """Look for brackets side by side that the reader, who knows all definitions, took for text."""
    for block in page.texts:
        for found in _REFERENCE.finditer(block.prose):
            words, start = found[1], found.start()
            label = found[2] or words
            is_link = any(one.start < found.end() and start < one.end for one in block.links)
            if is_link or _is_site_label(page, label) or f"[{label}]:" in page.given.text:
                continue  # the address may be one that a site fills in
            if _is_reference(block, start, words, label):
                said = f"the link label {shown(label)} is defined nowhere"
                yield block.finding(said, start, before=_CONTEXT)


def _is_site_label(page: Page, label: str) -> bool:
    """True if a plugin may resolve the label, or a heading does, as in Pandoc."""
    if page.given.flavour.name == "pandoc":
        return letters_only(label) in read_anchors(page.document, page.given.flavour).words
    if page.given.flavour.name == "mkdocs":  # where snippets and headings define labels
        return True
    return not label.isalnum() and bool(_OBJECT.fullmatch(label))


def _is_reference(block: Block, start: int, words: str, label: str) -> bool:
    """Leave out what has brackets side by side for another reason: indices, log tags, citations."""
    before = block.text[max(0, start - 1) : start]
    if before.isalnum() or (before and before in "])_\\`[.\ue000"):
        return False
    if not any(char.isalpha() for char in words) or not any(map(str.isalnum, label)):
        return False
    if _OPERATOR.search(label):
        return False
    patterns = (_CAPITALS, _CHARACTERS)
    return not any(pattern.fullmatch(text) for pattern in patterns for text in (words, label))
