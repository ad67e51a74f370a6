"""Read a worker's output into one block a pair; total, linear, and it never guesses.

A block runs from a START to the END with the same token and ordinal. An END inside a fence of the
block is a quotation, unless that fence is still open where the block must end: then the worker
forgot to close the fence, and the END counts. Reasoning between tags that begin their lines is no
answer. Of several versions with words between them the last one counts, if no words follow it.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Literal

from review.domain.markdown.lines import Walker, iter_lines
from review.protocol.sentinels import (
    ExpectedPair,
    Sentinel,
    near_sentinels,
    read_sentinel,
    unframed,
)
from review.protocol.typed_review import TypedReview

_SELF_REPORT = re.compile(
    r"[*_`\s]*self-reported-model[*_`\s]*:[*_`\s]*([^\s`*][^\n]{0,199})", re.I
)
# Terminal escapes of ECMA-48, ahead of them what a spinner drew and took back.
_ESCAPES = re.compile(
    r"(?m)^[^\n]*(?:\r\x1b\[[0-2]?K|\x1b\[[0-2]?K(?:\r(?!\n)|\x1b\[1?G))"
    r"|\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_REASONING = re.compile(
    r"(?i)<\|?(?P<end>/|end_of_)?[\w:-]{0,30}(?:think|thought|reason|scratchpad|analysis|reflection|monologue|planning)"
    r"[\w:-]{0,30}(?:\s[^<>]*)?\|?>"
    r"|[\[\u25c1](?P<closes>/?)(?:think|thinking|thoughts?|reasoning|scratchpad)[\]\u25b7]"
    r"|<details\s[^<>]*\breasoning\b[^<>]*>|<summary>[^<>]*\b(?:think|thought|reason)[^<>]*</summary>"
    r"|<\|?channel\|?>(?:analysis|commentary|thought)(?:<\|message\|>)?"
    r"|(?P<final>(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|.*assistantfinal)"
)
# These end reasoning that was begun, and mean nothing elsewhere.
_REASONING_END = re.compile(r"</details>|<\|end\|>|.*(?:<channel\|>|</think(?:ing)?>)", re.I)
_THINKING = re.compile(r"thinking\s*(?:\.\.\.|\u2026)", re.I)
_THINKING_END = re.compile(r"(?:\.\.\.|\u2026)\s*done thinking\.?", re.I)
# Above what follows it: marked ahead, or with a colon at its end.
_TITLE = re.compile(r"(?=\W|.*[:\uff1a]$)\W*(?P<words>\w.{0,80}?)[\W_]*")
_THOUGHTS = re.compile(
    r"(?i)(?:(?:here(?: i|')s|start|show|my|internal|step-by-step) )*"
    r"(?:think\w*|thoughts?|reasoning|chain.of.thought|scratch ?pad|monologue|draft|überlegung\w*|gedanken\w*|réflexions?|raisonnement|razonamiento|pensamiento|ragionamento"
    r"|raciocínio|размышлен\w*|рассужден\w*|思考\w*|推[理論论]\w*|사고 과정|생각)(?: process| for .*)?"
)
_LONGEST_TAG = 120
_MAX_PROBLEMS = 50
_MAX_MISFITS = 5
NO_BLOCK = "no block for this pair"


@dataclass(frozen=True)
class ParsedBlock:
    """The text between a pair's sentinels; `typed` is the same review as data, if it came so."""

    text: str
    typed: TypedReview | None = None


@dataclass(frozen=True)
class ParsedOutput:
    """The content of an output for the expected pairs.

    Every expected ordinal is in `blocks` or in `missing` (with the reason). `has_own_blocks` says
    that at least one block of the job's token was opened and closed, `is_begun` that one was opened
    at least. `misfits` are the lines that look like a sentinel of a pair that is missing.
    """

    blocks: Mapping[int, ParsedBlock]
    missing: Mapping[int, str]
    problems: tuple[str, ...]
    self_reported_model: str | None
    foreign_tokens: tuple[str, ...]
    has_own_blocks: bool
    is_begun: bool = False
    misfits: tuple[str, ...] = ()


def parse_output(data: bytes, *, token: str, expected: Sequence[ExpectedPair]) -> ParsedOutput:
    pairs = {pair.ordinal: pair for pair in expected}
    return _Reader(decode_output(data), token.lower(), pairs).read()


def decode_output(data: bytes) -> str:
    """Bytes as text: UTF-8 (UTF-16 under its BOM), a BOM dropped, bad bytes and NUL as U+FFFD."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if is_utf16 else "utf-8-sig", "replace")
    return unframed(strip_escapes(text).replace("\0", "\N{REPLACEMENT CHARACTER}"))


def behind_reasoning(line: str) -> str:
    """Return what follows the tags of reasoning that a line begins with."""
    while tag := _REASONING.match(line) or _REASONING_END.match(line):
        line = line[tag.end() :]
    return line


def _end_in(line: str) -> re.Match[str] | None:
    """Return the last tag of a line that ends reasoning which was begun."""
    tags = (tag for tag in _REASONING.finditer(line) if tag["end"] or tag["closes"] or tag["final"])
    return _REASONING_END.match(line) or max(tags, key=lambda tag: tag.end(), default=None)


def strip_escapes(text: str) -> str:
    return _ESCAPES.sub("", text) if "\x1b" in text else text


@dataclass
class _OpenBlock:
    """A block since line `start`; `fenced_end` is an END seen in a fence that is still open."""

    sentinel: Sentinel
    start: int
    walker: Walker = field(default_factory=Walker)
    fenced_end: tuple[int, Sentinel] | None = None
    ends_reasoning: bool = False


class _Reader:
    def __init__(self, text: str, token: str, expected: Mapping[int, ExpectedPair]) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._token = token
        self._expected = expected
        self._found: dict[int, list[str]] = {}
        # The first line of a pair's block inside reasoning.
        self._in_reasoning: dict[int, int] = {}
        # Blocks above words, or right above an end of reasoning that never began.
        self._doubtful: dict[int, list[str]] = {}
        self._talks = False  # since the last block
        self._faults: dict[int, str] = {}
        self._unclosed: list[str] = []
        self._problems: list[str] = []
        self._foreign: dict[str, None] = {}
        self._model: str | None = None
        self._saw_start = False
        self._open: _OpenBlock | None = None
        self._reasons = False
        self._is_titled = False  # below a title such as "## Thinking"
        self._thinking_ends = _THINKING_END.search(text) is not None
        self._number = 0

    def read(self) -> ParsedOutput:
        for number, raw in enumerate(self._lines, start=1):
            self._number = number
            line = raw.removesuffix("\r")
            while self._open is None and (end := self._end_of_tag(line)):
                self._take(line[:end])
                line = line[end:]
            self._take(line)
        self._abandon("")
        if self._is_titled and self._talks:
            self._forget()
        self._found = self._doubtful | self._found
        return self._result()

    def _end_of_tag(self, line: str) -> int:
        """Return where the tag that begins a line ends, if text follows it; else 0."""
        tag = _end_in(line) if self._reasons else _REASONING.match(line)
        return tag.end() if tag and line[tag.end() :].strip(_EDGES) else 0

    def _take(self, line: str) -> None:
        sentinel = self._own_sentinel(line) if "==" in line else None
        if self._open is not None:
            self._inside(self._open, line, sentinel)
        elif self._reasons:
            self._reason(line, sentinel)
        elif sentinel is None:
            self._around_blocks(line)
        elif sentinel.opens:
            self._start(sentinel)
        else:
            self._problem(f"an END of pair {sentinel.ordinal} closes nothing")

    def _result(self) -> ParsedOutput:
        missing = {ordinal: why for ordinal in self._expected if (why := self._why_not(ordinal))}
        near = [*near_sentinels(self._text, token=self._token)] if missing else []
        for one in reversed(near):
            if one.ordinal in missing and one.ordinal not in self._found:
                missing[one.ordinal] = f"{missing[one.ordinal].partition('; line ')[0]}; {one}"
        reasoned = [
            f"line {line}: the block of pair {key} stands in reasoning"
            for key, line in self._in_reasoning.items()
            if key not in self._doubtful
        ]
        misfits = [*map(str, near[: _MAX_MISFITS - 1]), *self._unclosed, *reasoned]
        return ParsedOutput(
            blocks={
                pair: ParsedBlock(self._found[pair][0])
                for pair in self._expected
                if pair not in missing
            },
            missing=missing,
            problems=tuple(self._problems[:_MAX_PROBLEMS]),
            self_reported_model=self._model,
            foreign_tokens=tuple(self._foreign),
            has_own_blocks=bool(self._found),
            is_begun=self._saw_start or bool(self._found),
            misfits=tuple(misfits[:_MAX_MISFITS]),
        )

    def _why_not(self, ordinal: int) -> str:
        """Return why the pair has no block, or ""; two versions are never chosen between."""
        texts = self._found.get(ordinal, [])
        if ordinal in self._faults:
            return self._faults[ordinal]
        if not texts and (line := self._in_reasoning.get(ordinal)):
            return f"its block stands in reasoning (line {line}), which is no answer"
        if not texts:
            return NO_BLOCK
        if len({" ".join(text.split()) for text in texts}) > 1:
            return "two different blocks for this pair"
        return "" if texts[0].strip() else "its block is empty"

    def _own_sentinel(self, line: str) -> Sentinel | None:
        sentinel = read_sentinel(line)
        if sentinel is not None and sentinel.token != self._token:
            self._foreign[sentinel.token] = None
            return None
        return sentinel

    def _reason(self, line: str, sentinel: Sentinel | None) -> None:
        if sentinel is not None and sentinel.opens:
            self._in_reasoning.setdefault(sentinel.ordinal, self._number)
        elif self._reasoning_edge(line) == "end" or _end_in(line):
            self._reasons = False

    def _around_blocks(self, line: str) -> None:
        if title := _TITLE.fullmatch(line.strip()):
            if self._is_titled:
                self._forget()
            words = _THOUGHTS.fullmatch(title["words"])
            self._is_titled = not self._saw_start and words is not None
        match self._reasoning_edge(line):
            case "start":
                self._reasons = True
            case "end":
                self._forget()
            case None if re.search(r"\w", re.sub(r"<[^<>]*>", "", line)):
                self._talks = True
                for key, texts in self._found.items():
                    self._doubtful[key] = [*self._doubtful.get(key, ()), *texts]
                self._found.clear()
        if not (self._saw_start or self._model) and (found := _SELF_REPORT.match(line)):
            self._model = found[1].strip(" \t*_`")

    def _reasoning_edge(self, line: str) -> Literal["start", "end"] | None:
        text = line.strip(_EDGES) if len(line) <= _LONGEST_TAG else ""
        if tag := _REASONING.fullmatch(text):
            return "end" if tag["end"] or tag["closes"] or tag["final"] else "start"
        if _THINKING_END.fullmatch(text) or line.rstrip().endswith(("</think>", "assistantfinal")):
            return "end"
        return "start" if self._thinking_ends and _THINKING.fullmatch(text) else None

    def _forget(self) -> None:
        """Take all blocks for reasoning without a start, or with a title, if words are between."""
        found = self._doubtful | self._found
        self._in_reasoning = dict.fromkeys(found, self._number) | self._in_reasoning
        self._doubtful = {
            key: found[key] for key in found.keys() - self._faults if found[key] and not self._talks
        }
        for seen in (self._found, self._faults, self._unclosed, self._problems):
            seen.clear()
        self._saw_start = False

    def _start(self, sentinel: Sentinel) -> None:
        self._saw_start = True
        self._open = _OpenBlock(sentinel, self._number)
        if sentinel.ordinal not in self._expected:
            self._problem(f"pair {sentinel.ordinal} was not requested")

    def _inside(self, block: _OpenBlock, line: str, sentinel: Sentinel | None) -> None:
        if sentinel is not None and sentinel.opens:
            self._abandon(f" before the START of pair {sentinel.ordinal} on line {self._number}")
            self._start(sentinel)
            return
        place = block.walker.place(line)
        if not place.in_fence or place.is_fence_marker:
            block.fenced_end = None  # the fence it stood in was closed after all
        if sentinel is None:
            block.ends_reasoning |= self._reasoning_edge(line) == "end"
        elif sentinel.ordinal != block.sentinel.ordinal:
            if not place.in_fence:
                self._problem(f"an END of pair {sentinel.ordinal} closes nothing")
        elif not place.in_fence:
            self._close(block, self._number, sentinel)
        elif block.fenced_end is None:
            block.fenced_end = (self._number, sentinel)

    def _abandon(self, where: str) -> None:
        """End the open block where it must end: at an END in a fence never closed, or missing."""
        block = self._open
        if block is None:
            return
        if block.fenced_end is not None:
            self._close(block, *block.fenced_end)
            return
        self._open = None
        ordinal = block.sentinel.ordinal
        if block.ends_reasoning:
            self._found.setdefault(ordinal, [])
            self._forget()
            return
        if ordinal in self._expected:
            self._faults[ordinal] = f"unclosed: its START on line {block.start} has no END{where}"
        self._unclosed.append(f"the START of pair {ordinal} on line {block.start} is never closed")

    def _close(self, block: _OpenBlock, ends: int, end: Sentinel) -> None:
        self._open = None
        ordinal = block.sentinel.ordinal
        if ordinal not in self._expected:
            return
        self._talks = False
        self._faults.pop(ordinal, None)
        text = dedent("\n".join(self._lines[block.start : ends - 1]).removesuffix("\r"))
        self._found.setdefault(ordinal, []).append(_unfenced(text))
        for sentinel in (block.sentinel, end):
            if not self._names_agree(sentinel):
                self._faults[ordinal] = (
                    f"its sentinel names {sentinel.names!r};"
                    f" pair {ordinal} is {self._expected[ordinal].names!r}"
                )

    def _names_agree(self, sentinel: Sentinel) -> bool:
        """Return True if it names its pair, or no pair and its own but for case and punctuation."""
        said, ours = _folded(sentinel.names), _folded(self._expected[sentinel.ordinal].names)
        if not said or said == ours:
            return True
        is_other = any(said == _folded(pair.names) for pair in self._expected.values())
        return not is_other and _letters(said) == _letters(ours)

    def _problem(self, what: str) -> None:
        self._problems.append(f"line {self._number}: {what}")


# What a sentinel line may carry around its names, as decoration or as its own rule.
_EDGES = "=*_` "


def _letters(names: str) -> str:
    return re.sub(r"[\W_]+", "", names).casefold()


def _folded(names: str) -> str:
    return " ".join(unicodedata.normalize("NFC", names).replace("::", " :: ").split()).strip(_EDGES)


def _unfenced(text: str) -> str:
    """`text` without the one fence that wraps all of it, if there is one."""
    if not text.lstrip().startswith(("```", "~~~")):
        return text
    lines = [line for line in iter_lines(text) if line.text.strip()]
    markers = [line for line in lines if line.is_fence_marker and not line.in_quote]
    if len(markers) < 2 or markers[0] != lines[0] or markers[1] != lines[-1]:
        return text
    return text[text.find("\n", markers[0].start) + 1 : markers[1].start]
