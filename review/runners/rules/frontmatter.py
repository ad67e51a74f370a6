"""Rules on what a note says of itself: title and description."""

from __future__ import annotations

import re
from collections.abc import Iterator

from review.domain.markdown.anchors import letters_only
from review.protocol.typed_review import WHOLE_NOTE, TypedFinding
from review.runners.rules.blocks import BlockKind
from review.runners.rules.lists import CARRIES_NOTHING, EMPTY_TITLES, NAMES_OF_THINGS
from review.runners.rules.page import Page
from review.runners.rules.registry import Check, finding, shown, warn
from review.runners.rules.words import plain, word_count
from review.vocabulary import Severity

_FEWEST_WORDS = 4
_LONGEST_DESCRIPTION = 300
_FEWEST_NEW_WORDS = 2
_DEEP = 3  # a level
_ASCII_ONLY = re.compile(r"[\x00-\x7f]*")
_TITLE_KEY = re.compile(r"^[\"']?title[\"']?\s*[:=]\s*\S", re.MULTILINE)
_VERSION = re.compile(r"v?\d{1,3}(?:\.\d{1,4}){1,3}")
_PARTIAL = re.compile(
    r"(?:^|/)(?:_(?:common|partials?|includes?|snippets?|shared|components?)|partials?|includes?|snippets?"
    r"|components|\.github)/|/_[^/]+\.mdx?$"
)
_CONTENT = frozenset(BlockKind) - {BlockKind.COMMENT, BlockKind.MARKER, BlockKind.RULE}
_DATE = re.compile(r"[\d\s./:_-]+")
_FILE_NAME = re.compile(r"\S+\.(?:md|markdown|mdx|txt)", re.IGNORECASE)


def _unreadable(page: Page) -> Iterator[TypedFinding]:
    problem = page.frontmatter.problem
    if problem is not None:
        yield finding(
            Severity.FAIL,
            f"the frontmatter cannot be read ({problem.code.value})",
            quote=page.quoted_line(problem.line),
            line=problem.line,
        )


def _missing_title(page: Page) -> Iterator[TypedFinding]:
    if not plain(page.title) and not _names_title(page):
        severity = Severity.INFO if _is_piece(page) else Severity.WARN
        said = "there is neither a heading of level 1 nor a title"
        yield finding(severity, said, quote="", line=WHOLE_NOTE)


def _is_piece(page: Page) -> bool:
    """True if it may be a part of a text: it opens with a heading, or has no section."""
    opening = next((block for block in page.blocks if block.kind in _CONTENT), None)
    opens_with_heading = opening is not None and opening.kind is BlockKind.HEADING
    return (
        opens_with_heading or min((block.level for block in page.headings), default=_DEEP) >= _DEEP
    )


def _names_title(page: Page) -> bool:
    """True if the title is the file's name, is another note's, or cannot be read."""
    if page.given.flavour.name in ("obsidian", "mkdocs") or _PARTIAL.search(page.given.note_path):
        return True
    return page.frontmatter.problem is not None and bool(_TITLE_KEY.search(page.given.text))


def _title_differs(page: Page) -> Iterator[TypedFinding]:
    stated, heading = plain(page.field("title")), plain(page.title)
    if not page.h1 or not stated or not heading or not _opens_note(page):
        return
    if f" {stated} " in f" {heading} " or f" {heading} " in f" {stated} ":
        return
    one, other = set(stated.split()), set(heading.split())
    if one <= other or other <= one or letters_only(stated) == letters_only(heading):
        return
    yield warn(
        f"the heading says {shown(page.title)}, the frontmatter's title {shown(page.field('title'))}",
        quote=page.quoted_line(page.title_line),
        line=page.title_line,
    )


def _opens_note(page: Page) -> bool:
    """True if the first heading of level 1 precedes all text; further down it titles a section."""
    first = next((block for block in page.blocks if block.kind in _CONTENT), None)
    return first is not None and bool(page.h1) and first.line == page.title_line


def _says_nothing(page: Page) -> Iterator[TypedFinding]:
    title = page.title
    if title and _is_empty_title(title, page.given.note_path):
        yield warn(
            f"the title {shown(title)} does not say what the note is about",
            quote=page.quoted_line(page.title_line),
            line=page.title_line,
        )


def _is_empty_title(title: str, note_path: str) -> bool:
    stem = note_path.rpartition("/")[2].rpartition(".")[0]
    if title.startswith("`") or _VERSION.fullmatch(title):
        return False
    if plain(title) in EMPTY_TITLES or _FILE_NAME.fullmatch(title):
        # What is documented may have that name: a function `Title`, say.
        return plain(title) not in NAMES_OF_THINGS or plain(stem) != plain(title)
    # A note named by its day is a journal; there the date is what it is about.
    return bool(_DATE.fullmatch(title)) and letters_only(title) not in letters_only(note_path)


def _missing_description(page: Page) -> Iterator[TypedFinding]:
    if page.field(page.description_key):
        return
    line = page.field_line(page.description_key)
    said = "the description is empty" if line else "there is no description"
    if line and page.frontmatter.fields[page.description_key]:
        said = "the description is a list or a mapping, expected one text"
    yield warn(said, quote=page.quoted_line(line), line=line)


def _description_length(page: Page) -> Iterator[TypedFinding]:
    description = page.field(page.description_key)
    words = word_count(description)
    if not description:
        return
    if words < _FEWEST_WORDS:
        said = f"the description has {words} of the {_FEWEST_WORDS} words it takes to say something"
    elif len(description) > _LONGEST_DESCRIPTION:
        said = f"the description has {len(description)} characters, over {_LONGEST_DESCRIPTION}"
    else:
        return
    line = page.field_line(page.description_key)
    yield warn(said, quote=page.quoted_line(line), line=line)


def _repeats_title(page: Page) -> Iterator[TypedFinding]:
    description, title = plain(page.field(page.description_key)), plain(page.title)
    if not description or not title or _adds_something(description, title):
        return
    line = page.field_line(page.description_key)
    yield warn(
        f"the description says no more than the title {shown(page.title)}",
        quote=page.quoted_line(line),
        line=line,
    )


def _adds_something(description: str, title: str) -> bool:
    if not _ASCII_ONLY.fullmatch(description):
        return description != title
    words = set(description.split())
    known = set(title.split()) | CARRIES_NOTHING
    if not words & (known - CARRIES_NOTHING):
        return bool(words - CARRIES_NOTHING)
    return len(words - known) >= _FEWEST_NEW_WORDS


CHECKS = (
    Check(
        "readable-frontmatter",
        "Readable frontmatter",
        "the frontmatter is closed and can be read",
        "Mend the YAML on the line named: quote a value that holds a colon, indent with spaces, "
        "close the block with `---`.",
        _unreadable,
    ),
    Check(
        "missing-title",
        "Title is there",
        "the note has a title",
        "Start the body with one heading of level 1 that says what the note claims or covers.",
        _missing_title,
    ),
    Check(
        "title-matches-h1",
        "Title and heading agree",
        "the frontmatter's title and the first heading say the same",
        "Decide which of the two is right and repeat it in the other place, or drop the "
        "frontmatter's title.",
        _title_differs,
        reads_frontmatter=True,
    ),
    Check(
        "non-descriptive-title",
        "Title says something",
        "the title says what the note is about",
        "Name the claim or the subject, so that the title alone tells a reader whether to open it.",
        _says_nothing,
    ),
    Check(
        "missing-description",
        "Description is there",
        "the frontmatter has a description",
        "Add `description:` with one sentence that helps a reader decide whether to open the note.",
        _missing_description,
        reads_frontmatter=True,
    ),
    Check(
        "description-length",
        "Description of a useful length",
        f"a description has at least {_FEWEST_WORDS} words and at most {_LONGEST_DESCRIPTION} "
        "characters",
        "Write one sentence: what the note says, and when a reader needs it.",
        _description_length,
        reads_frontmatter=True,
    ),
    Check(
        "description-repeats-title",
        "Description adds to the title",
        "a description says more than the title",
        "Keep what the title says out of the description; add the mechanism, the scope or the use.",
        _repeats_title,
        reads_frontmatter=True,
    ),
)
