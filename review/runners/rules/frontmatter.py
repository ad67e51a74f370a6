"""Rules on what a note says of itself: title and description."""

from __future__ import annotations

import posixpath
import re

from review.domain.markdown.anchors import letters_only
from review.protocol.typed_review import WHOLE_NOTE
from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.lists import CARRIES_NOTHING, EMPTY_TITLES
from review.runners.rules.page import Findings, Page, info_if, rule
from review.runners.rules.words import plain, shown, word_count
from review.vocabulary import Severity

_FEWEST_WORDS = 4
_LONGEST_DESCRIPTION = 300
_FEWEST_NEW_WORDS = 2
_HOME = re.compile(r"(?:^|/)_?(?:index|root|home|.*(?:template|skeleton).*)\.mdx?$", re.IGNORECASE)
_HIDDEN = re.compile(r"<!--|\s+---")  # a frontmatter that is none
_TITLE_KEY = re.compile(r"^[\"']?title[\"']?\s*[:=]\s*\S", re.MULTILINE)
_VERSION = re.compile(r"v?\d{1,3}(?:\.\d{1,4}){1,3}")
_NAMED_BY_FILE = ("logseq", "mkdocs", "obsidian")
_CONTENT = frozenset(BlockKind) - {BlockKind.COMMENT, BlockKind.MARKER, BlockKind.RULE}
_ANCHOR = re.compile(r"\s*<a\b[^<>]*>\s*</a>\s*")
_DATE = re.compile(r"[\d\s./:_-]+")
_SLOT = re.compile(r"\{\{|<%")  # to be filled when a note is made of a template
_FILE_NAME = re.compile(r"\S+\.(?:md|markdown|mdx|txt)", re.IGNORECASE)


@rule(
    "the frontmatter is closed and can be read",
    "Mend the YAML on the line named: quote a value that holds a colon, indent with spaces, "
    "close the block with `---`.",
)
def readable_frontmatter(page: Page) -> Findings:
    problem = page.frontmatter.problem
    if problem is not None:
        said = f"the frontmatter cannot be read: {problem.message}"
        # Logseq reads lines of keys, whatever YAML makes of them.
        is_read = _SLOT.search(page.line(problem.line)) or page.given.flavour.name == "logseq"
        severity = Severity.INFO if is_read else Severity.FAIL
        yield page.finding(said, problem.line, severity=severity)


@rule(
    "the note has a title",
    "Start the body with one heading of level 1 that says what the note claims or covers.",
)
def missing_title(page: Page) -> Findings:
    if not plain(page.title) and not page.is_foreign and not _names_title(page):
        said = "there is neither a heading of level 1 nor a title"
        # It may be part of a text, or a site may title it by its file.
        yield page.finding(said, WHOLE_NOTE, severity=Severity.INFO)


def _opening(page: Page) -> Block | None:
    shown = (block for block in page.blocks if not _ANCHOR.fullmatch(block.text))
    return next((block for block in shown if block.kind in _CONTENT), None)


def _names_title(page: Page) -> bool:
    """True if the title is the file's name, as Pandoc writes it, or cannot be read."""
    if page.given.flavour.name in _NAMED_BY_FILE or page.given.text.startswith("% "):
        return True
    is_read = page.frontmatter.problem is None and not _HIDDEN.match(page.given.text)
    return not is_read and bool(_TITLE_KEY.search(page.given.text))


@rule(
    "the frontmatter's title and the first heading say the same",
    "Decide which of the two is right and repeat it in the other place, or drop the "
    "frontmatter's title.",
    reads_frontmatter=True,
)
def title_matches_h1(page: Page) -> Findings:
    stated, heading = plain(page.field("title")), plain(page.title)
    opening = _opening(page)
    # A heading of level 1 below other text, or one of several, titles a section.
    opens_note = page.h1 and opening is not None and opening.line == page.title_line
    is_one = sum(block.level == 1 for block in page.headings) <= 1
    if not (stated and heading and opens_note and is_one):
        return
    one, other = set(stated.split()), set(heading.split())
    short, long = sorted(map(letters_only, (stated, heading)), key=len)
    if one <= other or other <= one or short in long or _SLOT.search(page.title):
        return
    key = shown(page.field("title"))
    said = f"the heading says {shown(page.title)}, the frontmatter's title {key}"
    # It may be a title of the first section, and the other one a menu's or a search engine's.
    yield page.finding(said, page.title_line, severity=Severity.INFO)


@rule(
    "the title says what the note is about",
    "Name the claim or the subject, so that the title alone tells a reader whether to open it.",
)
def non_descriptive_title(page: Page) -> Findings:
    path = page.given.note_path
    titles = [page.title, page.field("title")]
    if page.given.flavour.name in _NAMED_BY_FILE:
        titles.append(posixpath.splitext(posixpath.basename(path))[0])
    is_index = _HOME.search(path)  # of the folder that names it
    if page.title and not is_index and all(_is_empty_title(t, path) for t in titles if t):
        said = f"the title {shown(page.title)} does not say what the note is about"
        # A file of that name may have a subject by its folder, or document what is called so.
        is_named = plain(page.title) in plain(posixpath.basename(path))
        yield page.finding(said, page.title_line, severity=info_if(is_named))


def _is_empty_title(title: str, note_path: str) -> bool:
    name = note_path.rpartition("/")[2].rpartition(".")[0]
    stem = name.rpartition(".")[2]  # the names before it, in Dendron, say of which subject it is
    if plain(title) == plain(stem) != plain(name):
        return False
    if title.startswith("`") or _VERSION.fullmatch(title) or _SLOT.search(title):
        return False
    is_file_name = _FILE_NAME.fullmatch(title) and plain(title) != plain(stem)
    if plain(title) in EMPTY_TITLES or is_file_name:
        return True
    # A note named by its day is a journal; there the date is what it is about.
    return bool(_DATE.fullmatch(title)) and letters_only(title) not in letters_only(note_path)


@rule(
    "the frontmatter has a description",
    "Add `description:` with one sentence that helps a reader decide whether to open the note.",
    reads_frontmatter=True,
)
def missing_description(page: Page) -> Findings:
    if page.field(page.description_key):
        return
    line = page.field_line(page.description_key)
    said = "the description is empty" if line else "there is no description"
    if line and page.frontmatter.fields[page.description_key]:
        said = "the description is a list or a mapping, expected one text"
    # Where and of what a site shows descriptions, the note does not tell.
    yield page.finding(said, line, severity=Severity.INFO)


@rule(
    f"a description has at least {_FEWEST_WORDS} words and at most {_LONGEST_DESCRIPTION} "
    "characters",
    "Write one sentence: what the note says, and when a reader needs it.",
    reads_frontmatter=True,
)
def description_length(page: Page) -> Findings:
    description = page.field(page.description_key)
    size, words = len(description), word_count(description)
    said = ""
    if description and words < _FEWEST_WORDS:
        said = f"the description has {words} of the {_FEWEST_WORDS} words it takes to say something"
    elif size > _LONGEST_DESCRIPTION:
        said = f"the description has {size} characters, over {_LONGEST_DESCRIPTION}"
    if said:
        # How much it takes depends on what the note is, and on where the description is shown.
        yield page.finding(said, page.field_line(page.description_key), severity=Severity.INFO)


@rule(
    "a description says more than the title",
    "Keep what the title says out of the description; add the mechanism, the scope or the use.",
    reads_frontmatter=True,
)
def description_repeats_title(page: Page) -> Findings:
    description, title = plain(page.field(page.description_key)), plain(page.title)
    if description and title and not _adds_something(description, title):
        said = f"the description says no more than the title {shown(page.title)}"
        severity = info_if(bool(_HOME.search(page.given.note_path)))
        yield page.finding(said, page.field_line(page.description_key), severity=severity)


def _adds_something(description: str, title: str) -> bool:
    if not description.isascii():
        return description != title
    words = set(description.split())
    known = set(title.split()) | CARRIES_NOTHING
    if not words & (known - CARRIES_NOTHING):
        return bool(words - CARRIES_NOTHING)
    return len(words - known) >= _FEWEST_NEW_WORDS
