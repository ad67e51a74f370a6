"""Compares two texts: word by word within the lines that changed, or as a unified diff."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from review.domain.diffs.lines import LineEdit, line_edits, numbered, split_lines

MAX_ROWS = 1_000
MAX_CHARACTERS = 80_000
MAX_DIFF_LINES = 5_000
MAX_DIFF_CHARACTERS = 1_000_000
_CONTEXT = 3
_NEAR = 40  # characters
# Cells of the table that one comparison of words fills, 1 bit each.
_MAX_CELLS = 100_000_000
# Below this share of common words two passages are no edit of one another.
_ALIKE = 0.3
_TOKEN = re.compile(r"\n|\r|[^\S\n\r]+|\w+|[^\w\s]")


class Mark(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


_SIGNS = {Mark.SAME: " ", Mark.REMOVED: "-", Mark.ADDED: "+"}


@dataclass(frozen=True, slots=True)
class Piece:
    """Text with one mark; the line feed at the end of a row is part of its last piece."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line, with the numbers (from 1) it has in the old and the new text; None: not there."""

    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]

    @property
    def changed(self) -> bool:
        return any(piece.mark is not Mark.SAME for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Rows that belong together; `skipped` equal lines before them are not shown."""

    skipped: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class WordDiff:
    """The changes between two texts; `skipped` equal lines follow the last hunk."""

    hunks: tuple[Hunk, ...]
    skipped: int
    removed_words: int
    added_words: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class TextDiff:
    """A unified diff, `""` for equal texts; a truncated one says so in its last line."""

    text: str
    truncated: bool


def word_diff(before: str, after: str, *, keep: Collection[int] = ()) -> WordDiff:
    """Compare two texts, with context around changes and the old lines (from 1) to `keep`.

    Lines end at a line feed only; a line that lost or gained its own shows that as a change.
    """
    rows = list(_rows_of(split_lines(before), split_lines(after), by_words=True))
    hunks, rest = _hunks(rows, keep)
    shown = list(_cut(hunks))
    truncated = shown != hunks
    return WordDiff(
        hunks=tuple(shown),
        skipped=0 if truncated else rest,
        removed_words=_words(_texts(rows, Mark.REMOVED)),
        added_words=_words(_texts(rows, Mark.ADDED)),
        truncated=truncated,
    )


def unified_diff(before: str, after: str, *, path: str) -> TextDiff:
    """Compare two texts as `diff -u`; cut after MAX_DIFF_LINES or MAX_DIFF_CHARACTERS."""
    if before == after:
        return TextDiff("", truncated=False)
    hunks, _rest = _hunks(list(_rows_of(split_lines(before), split_lines(after), by_words=False)))
    written = [f"--- a/{path}\n", f"+++ b/{path}\n"]
    room = MAX_DIFF_CHARACTERS
    for line in (line for hunk in hunks for line in _unified(hunk)):
        room -= len(line)
        if len(written) >= MAX_DIFF_LINES or room < 0:
            written.append("[diff cut here: it is longer than what is shown]\n")
            return TextDiff("".join(written), truncated=True)
        written.append(line)
    return TextDiff("".join(written), truncated=False)


def _unified(hunk: Hunk) -> Iterator[str]:
    old, new = (
        [*filter(None, side)] for side in zip(*((r.old, r.new) for r in hunk.rows), strict=True)
    )
    yield f"@@ -{old[0] if old else 0},{len(old)} +{new[0] if new else 0},{len(new)} @@\n"
    for row in hunk.rows:
        line = _SIGNS[row.pieces[0].mark] + row.pieces[0].text
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def changed_words(diff: WordDiff) -> str:
    """Return changed lines with numbers, shortened to `[-removed-]{+added+}` and words around."""
    lines = [_shown_change(row) for hunk in diff.hunks for row in hunk.rows if row.changed]
    return "\n".join([*lines, *(["[cut here: more changed]"] if diff.truncated else [])])


def _shown_change(row: Row) -> str:
    shown = []
    for index, piece in enumerate(row.pieces):
        is_last = index == len(row.pieces) - 1
        text = (piece.text.removesuffix("\n") if is_last else piece.text).replace("\n", "⏎")
        if piece.mark is Mark.REMOVED:
            shown.append(f"[-{text or '⏎'}-]")
        elif piece.mark is Mark.ADDED:
            shown.append(f"{{+{text or '⏎'}+}}")
        else:
            shown.append(_ends(text, head=index > 0, tail=not is_last))
    return f"{row.new if row.new is not None else f'-{row.old}'}: {''.join(shown)}"


def _ends(text: str, *, head: bool, tail: bool) -> str:
    """Return the text adjacent to a change: before it (`head`) or after it (`tail`)."""
    if len(text) <= _NEAR * (head + tail):
        return text
    first = text[:_NEAR].rpartition(" ")[0] if head else ""
    last = text[-_NEAR:].partition(" ")[2] if tail else ""
    return f"{first} … {last}"


def _rows_of(old: Sequence[str], new: Sequence[str], *, by_words: bool) -> Iterator[Row]:
    position = shift = 0  # from a line of the old text to the same line of the new one
    for edit in (*line_edits(old, new), LineEdit(len(old), len(old), len(new), len(new))):
        for line in range(position, edit.old):
            yield Row(line + 1, line + shift + 1, (Piece(Mark.SAME, old[line]),))
        removed, added = old[edit.old : edit.old_end], new[edit.new : edit.new_end]
        merges = by_words and removed and added
        pieces = _merged("".join(removed), "".join(added)) if merges else None
        if pieces is not None:
            yield from _rows(pieces, edit.old + 1, edit.new + 1)
        else:
            for number, text in enumerate(removed, edit.old + 1):
                yield Row(number, None, (Piece(Mark.REMOVED, text),))
            for number, text in enumerate(added, edit.new + 1):
                yield Row(None, number, (Piece(Mark.ADDED, text),))
        position, shift = edit.old_end, edit.new_end - edit.old_end


def _hunks(rows: Sequence[Row], keep: Collection[int] = ()) -> tuple[list[Hunk], int]:
    """Gather the rows near a change or a kept line; return the number of those behind them too."""
    near: set[int] = set()
    for index, row in enumerate(rows):
        if row.changed:
            near.update(range(index - _CONTEXT, index + _CONTEXT + 1))
        if row.old in keep:
            near.update((index - 1, index, index + 1))
    hunks: list[Hunk] = []
    skipped = 0
    for is_shown, group in groupby(range(len(rows)), near.__contains__):
        some = tuple(rows[index] for index in group)
        hunks += [Hunk(skipped, some)] if is_shown else []
        skipped = 0 if is_shown else len(some)
    return hunks, skipped


def _cut(hunks: Iterable[Hunk]) -> Iterator[Hunk]:
    left, room = MAX_ROWS, MAX_CHARACTERS
    for hunk in hunks:
        fitting: list[Row] = []
        for row in hunk.rows:
            left -= 1
            room -= sum(len(piece.text) for piece in row.pieces)
            if left < 0 or room < 0:
                yield Hunk(hunk.skipped, tuple(fitting))
                return
            fitting.append(row)
        yield hunk


def _merged(before: str, after: str) -> list[Piece] | None:
    """One text with both in it; None where they have too little in common to be read as one."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) * len(new) > _MAX_CELLS:
        return None
    pieces = list(_pieces(old, new))
    same = _words(piece.text for piece in pieces if piece.mark is Mark.SAME)
    total = max(_words([before]), _words([after]))
    return pieces if total == 0 or same >= _ALIKE * total else None


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    """Yield first removed, then added; changes with only a blank or a mark between them are one."""
    from rapidfuzz.distance import Indel

    removed = added = ""
    edits = list(Indel.opcodes(*numbered(old, new)))
    for index, edit in enumerate(edits):
        gone = "".join(old[edit.src_start : edit.src_end])
        came = "".join(new[edit.dest_start : edit.dest_end])
        is_slight = "\n" not in gone and len(gone.strip()) <= 1 and not gone.strip().isalnum()
        is_between = (removed or added) and index < len(edits) - 1
        if edit.tag != "equal" or (is_between and is_slight):
            removed += gone
            added += came
        else:
            yield from _both(removed, added)
            yield Piece(Mark.SAME, gone)
            removed = added = ""
    yield from _both(removed, added)


def _both(removed: str, added: str) -> Iterator[Piece]:
    for mark, text in ((Mark.REMOVED, removed), (Mark.ADDED, added)):
        if text:
            yield Piece(mark, text)


def _rows(pieces: Iterable[Piece], old: int, new: int) -> Iterator[Row]:
    """Rows of a merged text: a line feed that both or the new text have ends one."""
    row: list[Piece] = []
    first_old, first_new = old, new
    for piece in pieces:
        for part in split_lines(piece.text):
            row.append(Piece(piece.mark, part))
            if not part.endswith("\n"):
                continue
            old += piece.mark is not Mark.ADDED
            new += piece.mark is not Mark.REMOVED
            if piece.mark is not Mark.REMOVED:
                yield _row(row, first_old, first_new)
                row, first_old, first_new = [], old, new
    if row:
        yield _row(row, first_old, first_new)


def _row(pieces: Sequence[Piece], old: int, new: int) -> Row:
    marks = {piece.mark for piece in pieces}
    return Row(
        None if marks == {Mark.ADDED} else old,
        None if marks == {Mark.REMOVED} else new,
        tuple(pieces),
    )


def _texts(rows: Iterable[Row], mark: Mark) -> Iterator[str]:
    return (piece.text for row in rows for piece in row.pieces if piece.mark is mark)


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)
