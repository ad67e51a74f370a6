"""What stands around a block: an HTML comment that hides it, or words that call it an example.

Lines around blocks are ignored, a code fence among them, but for these two: a block that its own
writer hides is no review, and one that is shown as what a review would look like gives no PASS.
"""

from __future__ import annotations

from dataclasses import dataclass

from review.domain.markdown_lines import Walker
from review.protocol.announcements import announces_example

_COMMENT, _COMMENT_END = "<!--", "-->"
_BLOCK_INDENT = 3  # what is indented deeper is code (CommonMark 0.31.2, section 4.6)
_KEPT = 600
_SHOWN = 80
_ENDS_A_LINE = (".", ":", "!", "?", "\N{HORIZONTAL ELLIPSIS}", ">")
_CONTINUES = "\"'(*_[`"


@dataclass
class Comment:
    """An HTML comment that began between blocks; whether it encloses any is known at its end.

    :param in_prose: whether words stand ahead of its mark on the line: then it may only be spoken of.
    """

    line: int
    in_prose: bool
    is_closed: bool = False

    @property
    def hides(self) -> bool:
        """Whether what stands in it was taken out by its writer."""
        return self.is_closed and not self.in_prose

    @property
    def doubt(self) -> str:
        """Why what stands in it may be meant to be hidden; empty where it is not."""
        if self.is_closed and self.in_prose:
            return f"line {self.line} opens an HTML comment that ends below the block"
        if not self.is_closed and not self.in_prose:
            return f"line {self.line} opens an HTML comment that is never closed"
        return ""


class Surroundings:
    """Takes the lines between blocks, in their order, and says what they make of the next block."""

    def __init__(self) -> None:
        """Begin before the first line."""
        self.comment: Comment | None = None
        self._walker = Walker()
        self._in_fence = False
        self._words = ""  # the line above, with what it goes on from
        self._words_line = 0
        self._ended = True

    def take(self, line: str, *, number: int) -> None:
        """Take the line of that number (from 1)."""
        if "--" in line:
            self._look_for_comment(line, number)
        place = self._walker.place(line)
        text = line.strip()
        if place.is_fence_marker and not place.in_quote:
            self._turn_fence(text.strip("`~ \t"), number)
        elif not text:
            self._ended = True
        else:
            self._hear("" if place.in_quote else text, number)

    def announcement(self) -> str:
        """What calls a block that begins here an example; empty where nothing does."""
        self._ended = True
        if self._words and announces_example(self._words):
            return example_at(self._words_line, self._words)
        return ""

    def forget(self) -> None:
        """What was said last was said of the blocks above."""
        self._words = ""

    def _hear(self, text: str, number: int) -> None:
        goes_on = text[:1].isalpha() or text[:1] in _CONTINUES
        if self._ended or not goes_on or self._words.endswith(_ENDS_A_LINE):
            self._words = text[-_KEPT:]
        else:
            self._words = f"{self._words} {text}"[-_KEPT:]
        self._words_line = number
        self._ended = False

    def _turn_fence(self, info: str, number: int) -> None:
        if self._in_fence:
            self._words = ""  # what was announced ends with its fence
        elif info and announces_example(info):
            self._words, self._words_line = info[-_KEPT:], number
        self._in_fence = not self._in_fence
        self._ended = True

    def _look_for_comment(self, line: str, number: int) -> None:
        """Only a mark that begins its line opens a comment for certain."""
        stripped = line.lstrip(" ")
        starts = stripped.startswith(_COMMENT) and len(line) - len(stripped) <= _BLOCK_INDENT
        if self.comment is not None:
            rest = self._close_comment(self.comment, line)
            if rest is None and not (self.comment.in_prose and starts):
                return
            if rest is not None:
                self.comment, line, starts = None, rest, True
        opened = line.rfind(_COMMENT)
        if opened < 0 or line.find(_COMMENT_END, opened + 2) >= 0:
            return
        if starts or line.count("`", 0, opened) % 2 == 0:
            self.comment = Comment(number, in_prose=not starts)

    def _close_comment(self, comment: Comment, line: str) -> str | None:
        """What stands behind the end of the comment; None where it does not end on this line."""
        closed = line.find(_COMMENT_END)
        if closed < 0 or (comment.in_prose and line[:closed].strip()):
            return None
        comment.is_closed = True
        return line[closed + len(_COMMENT_END) :]


def example_at(number: int, words: str) -> str:
    """What a person reads who has to decide about a block that was called an example."""
    shown = words if len(words) <= _SHOWN else f"…{words[-_SHOWN:]}"
    return f"line {number} calls the block an example: {shown!r}"
