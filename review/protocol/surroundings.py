"""What stands around a block: an HTML comment that hides it, or words that call it an example.

Lines around blocks are ignored, a code fence among them, but for these two: a block that its own
writer hides, or shows as what a review would look like, is no review, whatever it decides.
"""

from __future__ import annotations

from review.domain.markdown_lines import Walker
from review.protocol.folding import ascii_lower, compiled

_COMMENT, _COMMENT_END = "<!--", "-->"
_BLOCK_INDENT = 3  # what is indented deeper is code (CommonMark 0.31.2, section 4.6)
_SENTENCE = 300
_NOUN = (
    r"(?:example|illustration|sample|mock-?up|mock|placeholder|dummy|template only|hypothetical|"
    r"demonstration|demo|beispiel|ejemplo|exemple|esempio|exemplo|voorbeeld)s?(?![-/._\w]*[\w/])"
)
_BETWEEN = r"(?:(?!the\b|this\b|that\b|your\b|note\b|gate\b|pair\b)[\w'\u2019-]+\s+){0,2}?"
# `Here is an example:`, `For example:`, `only a filled-in sample`; not `the note example:`.
_AN_EXAMPLE = (
    r"(?<![-/.\w])(?:an?|one|another|some|for|as|only|just|merely|ein|un|une|uno|een|zum|por|par|per)\s+"
    + _BETWEEN + _NOUN
)  # fmt: skip
_TITLE = (
    rf"\W*(?:e\.?\s?g\.?|{_NOUN})\s*(?:(?:output|answer|response|review|block|result|format|of|the|an?|"
    r"filled|in|out|for|pair|\d+|only|\(.{0,40}\))\s*){0,6}\W*"
)
_WOULD = (
    r"\b(?:would|could|might|should|may|can|will)\s+(?:then\s+|typically\s+|normally\s+)?"
    r"(?:look|read|be|have (?:looked|read|been))\s+(?:something\s+|roughly\s+)?(?:like|as follows|this)\b"
    r"|\b(?:i|we|one|you|it|reviewer|model|output|answer|review)\s*(?:would|could|might|['\u2019]d)\s+(?:then\s+|have\s+)?"
    r"(?:wr(?:ite|itten)|give|given|output|produced?|emit|sa(?:y|id)|answer(?:ed)?|report(?:ed)?|return(?:ed)?)\b"
)
_NO_REVIEW = (
    r"\b(?:not|no|n['\u2019]t|isn['\u2019]t|never)\s+(?:an?\s+|my\s+|the\s+)?(?:real|actual|final|true|genuine|finished)\s+"
    r"(?:review|output|answer|result|verdict|decision|block)"
    r"|\b(?:do not|don['\u2019]t|please)\s+(?:ingest|count|use|ignore|accept)\b.{0,30}\b(?:block|review|output|following|below|above|this)\b"
)
_INTRODUCED = (
    r"\W*(?:here(?:['\u2019]s| is| are| comes| follows)|below (?:is|are)|(?:the )?following (?:is|are)|"
    r"this (?:is|shows)|what follows (?:is|are))\b"
)
_AFTERWARDS = (
    r"\W*(?:(?:this|that|it|these|those|the (?:above|block|blocks|review|output)(?: above)?|the above|above)\s+"
    r"(?:is|was|are|were)|(?:note|nb|remember)\W+(?:that\s+)?(?:this|that|the above|it)\s+(?:is|was))\s+"
    r"(?:(?:only|just|merely|of course|purely|simply)\s+)?(?:meant as\s+)?(?:an?\s+)?(?:[\w-]+\s+)?" + _NOUN
)  # fmt: skip
_SENTENCE_END = r"(?<!e\.g)(?<!i\.e)[.!?][)\"'*_]*\s+"


class Surroundings:
    """Takes the lines between blocks, in their order, and says what they make of the next block."""

    def __init__(self, *, last_comment_end: int) -> None:
        """Begin before the first line.

        :param last_comment_end: where in the text the last `-->` stands, -1 for nowhere.
        """
        self._last_comment_end = last_comment_end
        self._comment = 0  # the line that opened the comment we are in
        self._walker = Walker()
        self._in_fence = False
        self._words = ""  # the paragraph above
        self._words_line = 0
        self._ended = True

    def take(self, line: str, *, number: int, begin: int) -> None:
        """Take the line of that number (from 1), which begins at that offset."""
        self._look_for_comment(line, number, begin)
        place = self._walker.place(line)
        text = line.strip()
        if place.is_fence_marker and not place.in_quote:
            self._turn_fence(text.strip("`~ \t"), number)
        elif not text:
            self._ended = True
        else:
            self._words = text if self._ended else f"{self._words} {text}"[-_SENTENCE * 2 :]
            self._words_line = number
            self._ended = False

    def objection(self) -> str:
        """Say why a block that begins here is no review; empty where it is one."""
        if self._comment:
            return f"its block stands in an HTML comment (line {self._comment})"
        self._ended = True
        if self._words and _announces_example(self._words):
            return f"line {self._words_line} calls its block an example"
        return ""

    def _turn_fence(self, info: str, number: int) -> None:
        if self._in_fence:
            self._words = ""  # what was announced ends with its fence
        elif info and _announces_example(info):
            self._words, self._words_line = info, number
        self._in_fence = not self._in_fence
        self._ended = True

    def _look_for_comment(self, line: str, number: int, begin: int) -> None:
        if self._comment:
            closed = line.find(_COMMENT_END)
            if closed < 0:
                return
            self._comment = 0
            line = line[closed + len(_COMMENT_END) :]
        opened = line.rfind(_COMMENT)
        if opened < 0 or line.find(_COMMENT_END, opened + 2) >= 0:
            return
        ahead = line[:opened]
        starts = not ahead.strip(" ") and len(ahead) <= _BLOCK_INDENT
        closes_later = self._last_comment_end > begin + opened
        if starts or (closes_later and ahead.count("`") % 2 == 0):
            self._comment = number


def calls_it_an_example(line: str) -> bool:
    """Whether the line after a block says that the block was an example only."""
    head = ascii_lower(line[:_SENTENCE])
    return bool(compiled(_AFTERWARDS).match(head) or compiled(_NO_REVIEW).search(head))


def _announces_example(words: str) -> bool:
    """Whether a paragraph ends by announcing an example."""
    tail = ascii_lower(words[-_SENTENCE * 2 :])
    last = compiled(_SENTENCE_END).split(tail)[-1].strip()
    if compiled(_NO_REVIEW).search(last) or compiled(_TITLE).fullmatch(last[:_SENTENCE]):
        return True
    last = last[-_SENTENCE:]
    leads_in = last.rstrip("*_ )").endswith((":", "\u2026", "..."))
    if not leads_in and not compiled(_INTRODUCED).match(last):
        return False
    return bool(compiled(_AN_EXAMPLE).search(last) or compiled(_WOULD).search(last))
