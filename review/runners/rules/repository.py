"""A rule on what a note names of the repository: paths and make targets that are gone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from review.domain.markdown.links import RepositoryFacts
from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.page import Findings, Page, rule
from review.runners.rules.words import shown
from review.vocabulary import Severity

_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
_FOLDERS = r"(?:[\w@+-][\w.@+-]*/)+"
_PATH = re.compile(
    rf"{_FOLDERS}[\w@+-][\w.@+-]*\.(?![A-QS-Z][a-z])[A-Za-z]\w{{0,7}}|\./{_FOLDERS}[\w@+-][\w.@+-]*"
)
_PLACE_BEHIND = re.compile(r"(?::\d+(?:[-:]\d+)?|#[\w-]+)$")
_SHELLS = frozenset(
    ["sh", "bash", "zsh", "fish", "ksh", "shell", "console", "shell-session", "shellsession"]
)
_PROMPT = re.compile(r"\s*[$>%]\s+")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*\{?\.?([\w-]*)")
_MAKERS = frozenset(
    ["touch", "mkdir", "cp", "mv", "tee", "curl", "wget", "ln", "rm", "git", "install"]
)
_LEAVES = re.compile(r"\b(?:cd|pushd|chroot|ssh|docker|git clone)\b|<<")
_WRITES_TO = frozenset((">", ">>", "2>", "&>", "-o", "--output", "--out", "-O"))
_MADE_UP = re.compile(
    r"(?:my|your|some|the|an?|new|old|foo|bar|baz|example|sample|path|to|name|file|filename|dir|"
    r"folder|page|target|[a-z]|x+|n{2,}|y{4}.*)(?:[-_.\d].*)?|.*(?:example|placeholder|x{3}).*",
    re.IGNORECASE,
)
# A sentence that tells of the past, of what is made, or of an example names paths that need not be there.
_NOT_NOW = re.compile(
    r"\b(?:removed?|deleted?|gone|dropped|former(?:ly)?|previously|used to|no longer|renamed?|moved?|"
    r"replaced?|was|were|been|creates?|created|adds?|added|writes?|written|generate[sd]?|will|would|"
    r"might|could|if|missing|not exist|for example|e\.g\.|such as|like|instead|suppose)\b",
    re.IGNORECASE,
)
# A sentence that names another repository, or a change that is not merged, names the paths of that.
_OF_OTHERS = re.compile(r"\w/[\w.-]+`?(?:\]\([^)\s]*\))? repo(?:sitory)?\b|/pull/\d", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?](?=\s)")
_ELSEWHERE = (BlockKind.QUOTE, BlockKind.HTML, BlockKind.MATH)
_HISTORY = re.compile(r"(?:^|/)(?:changelog|changes|history|news|releases?)[\w.-]*$", re.IGNORECASE)


_Naming = tuple[int, list[str]]  # the offset of a command or a path alone, and its words


@rule(
    "every path and make target of the repository that is named in code is there",
    "Name what took its place, or take the sentence out.",
)
def missing_paths(page: Page) -> Findings:
    facts = page.given.repository
    if facts is None or _HISTORY.search(page.given.note_path):
        return
    told: set[str] = set()
    for block in page.blocks:
        if block.kind in _ELSEWHERE:
            continue
        for start, words in (_commands if block.kind is BlockKind.CODE else _spans)(block):
            for name, said in _gone(words, facts, page.given.note_path):
                if name not in told:
                    told.add(name)
                    # It may be named for what it was, or for what a reader is to have.
                    yield block.finding(said, start, before=60, severity=Severity.INFO)


def _spans(block: Block) -> Iterator[_Naming]:
    ends = [end.end() for end in _SENTENCE_END.finditer(block.text)]
    for start, end in itertools.pairwise([0, *ends, len(block.text)]):
        if not (
            _NOT_NOW.search(_SPAN.sub("", block.text[start:end]))
            or _OF_OTHERS.search(block.text, start, end)
        ):
            for span in _SPAN.finditer(block.text, start, end):
                if not block.text.startswith("](http", span.end()):
                    yield span.start(2), span[2].split()


def _commands(block: Block) -> Iterator[_Naming]:
    """Yield the lines of a shell block as far as they start at the root."""
    lines = block.lines
    fence = _FENCE.match(lines[0])
    in_shell = fence is not None and fence[1].lower() in _SHELLS
    shows_output = any(map(_PROMPT.match, lines))  # between the lines with a prompt
    offset = 0
    for line in lines:
        prompt = _PROMPT.match(line)
        if _LEAVES.search(line):
            return
        if ((in_shell and not shows_output) or prompt) and not line.lstrip().startswith(
            ("#", "`", "~")
        ):
            command = line[prompt.end() :] if prompt else line
            yield offset, command.partition(" #")[0].split()
        offset += len(line) + 1


def _gone(words: list[str], facts: RepositoryFacts, note_path: str) -> Iterator[tuple[str, str]]:
    """Yield what a command names that is not there, with the text of the finding."""
    if not words or words[0] in _MAKERS:
        return
    if words[0] == "make":
        yield from _gone_target(words[1:], facts)
        return
    for before, word in zip(("", *words), words, strict=False):
        path = _path(word) if before not in _WRITES_TO else ""
        if path and facts.is_gone(path, note_path=note_path):
            yield path, f"the path {shown(path)} is not in the repository"


def _gone_target(words: list[str], facts: RepositoryFacts) -> Iterator[tuple[str, str]]:
    known = facts.make_targets
    plain = len(words) == 1 and re.fullmatch(r"[a-z][\w-]+", words[0]) is not None
    if known is not None and plain and words[0] not in known and not _MADE_UP.fullmatch(words[0]):
        yield f"make {words[0]}", f"the Makefile has no target {shown(words[0])}"


def _path(word: str) -> str:
    """Return the path that a word of a command is, from the root; `""` if that is in doubt."""
    word = _PLACE_BEHIND.sub("", word.rpartition("=")[2].strip("\"',;()"))
    if not _PATH.fullmatch(word) or any(map(_MADE_UP.fullmatch, word.split("/"))):
        return ""
    return word.removeprefix("./")
