"""Compares two texts word by word within the lines that changed, for people to read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from review.domain.diffs.lines import LineEdit, line_edits, numbered, split_lines

MAX_ROWS = 1_000
MAX_CHARACTERS = 80_000
_CONTEXT = 3
_AROUND_KEPT = 1
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
    """The changes between two texts.

    :param skipped: equal lines after the last hunk.
    :param truncated: there is more than what is shown.
    """

    hunks: tuple[Hunk, ...]
    skipped: int
    removed_words: int
    added_words: int
    truncated: bool


def word_diff(before: str, after: str, *, keep: Collection[int] = ()) -> WordDiff:
    """Compare two texts, with three lines of context around every change.

    Lines end at a line feed only; a line that lost or gained its own shows that as a change.

    :param keep: lines of the old text, from 1, to show whether they changed or not.
    """
    old, new = split_lines(before), split_lines(after)
    blocks = [(edit, list(_edited_rows(edit, old, new))) for edit in line_edits(old, new)]
    hunks, shown_to, truncated = _cut(_hunks(blocks, old, new, keep))
    return WordDiff(
        tuple(hunks),
        skipped=max(0, len(old) - shown_to),
        removed_words=_count_words(blocks, Mark.REMOVED),
        added_words=_count_words(blocks, Mark.ADDED),
        truncated=truncated,
    )


def changed_words(diff: WordDiff) -> str:
    """Return the changed lines alone, each shortened to `[-removed-]{+added+}` and the words around.

    A line begins with its number in the new text; with `-` and the old number if it is gone.
    """
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


def _hunks(
    blocks: Sequence[tuple[LineEdit, list[Row]]],
    old: Sequence[str],
    new: Sequence[str],
    keep: Collection[int],
) -> Iterator[tuple[Hunk, int]]:
    """Hunks, each with the number of old lines that are behind it."""
    shown = _shown_lines([edit for edit, _rows in blocks], len(old), keep)
    shift = 0  # from a line of the old text to the same line of the new one
    position = 0
    skipped = 0
    rows: list[Row] = []
    for edit, edited in (*blocks, (LineEdit(len(old), len(old), len(new), len(new)), [])):
        for line in range(position, edit.old):
            if line in shown:
                same = (Piece(Mark.SAME, old[line]),)
                rows.append(Row(line + 1, line + shift + 1, same))
                continue
            if rows:
                yield Hunk(skipped, tuple(rows)), line
                rows, skipped = [], 0
            skipped += 1
        rows += edited
        position, shift = edit.old_end, edit.new_end - edit.old_end
    if rows:
        yield Hunk(skipped, tuple(rows)), position


def _shown_lines(edits: Iterable[LineEdit], count: int, keep: Collection[int]) -> set[int]:
    shown: set[int] = set()
    for edit in edits:
        shown.update(range(max(0, edit.old - _CONTEXT), min(count, edit.old_end + _CONTEXT)))
    for line in keep:
        shown.update(range(max(0, line - 1 - _AROUND_KEPT), min(count, line + _AROUND_KEPT)))
    return shown


def _cut(hunks: Iterable[tuple[Hunk, int]]) -> tuple[list[Hunk], int, bool]:
    """Return as much as a page shows, and the number of old lines that are behind it."""
    kept: list[Hunk] = []
    left, room, behind = MAX_ROWS, MAX_CHARACTERS, 0
    for hunk, end in hunks:
        fitting: list[Row] = []
        for row in hunk.rows:
            left -= 1
            room -= sum(len(piece.text) for piece in row.pieces)
            if left < 0 or room < 0:
                return [*kept, Hunk(hunk.skipped, tuple(fitting))], end, True
            fitting.append(row)
        kept.append(hunk)
        behind = end
    return kept, behind, False


def _edited_rows(edit: LineEdit, old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
    removed, added = old[edit.old : edit.old_end], new[edit.new : edit.new_end]
    pieces = _merged("".join(removed), "".join(added)) if removed and added else None
    if pieces is not None:
        yield from _rows(pieces, edit.old + 1, edit.new + 1)
        return
    for number, line in enumerate(removed, edit.old + 1):
        yield Row(number, None, (Piece(Mark.REMOVED, line),))
    for number, line in enumerate(added, edit.new + 1):
        yield Row(None, number, (Piece(Mark.ADDED, line),))


def _merged(before: str, after: str) -> list[Piece] | None:
    """One text with both in it; None where they have too little in common to be read as one."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) * len(new) > _MAX_CELLS:
        return None
    pieces = _calmed(list(_pieces(old, new)))
    same = _words(piece.text for piece in pieces if piece.mark is Mark.SAME)
    total = max(_words([before]), _words([after]))
    return pieces if total == 0 or same >= _ALIKE * total else None


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    from rapidfuzz.distance import Indel

    for item in Indel.opcodes(*numbered(old, new)):
        if item.tag == "insert":
            yield Piece(Mark.ADDED, "".join(new[item.dest_start : item.dest_end]))
        else:
            mark = Mark.SAME if item.tag == "equal" else Mark.REMOVED
            yield Piece(mark, "".join(old[item.src_start : item.src_end]))


def _calmed(pieces: Sequence[Piece]) -> list[Piece]:
    """Join changes with only a blank or a mark between them: first removed, then added."""
    calm: list[Piece] = []
    removed = added = ""
    for index, piece in enumerate(pieces):
        is_last = index == len(pieces) - 1
        if piece.mark is Mark.REMOVED:
            removed += piece.text
        elif piece.mark is Mark.ADDED:
            added += piece.text
        elif (removed or added) and not is_last and _is_slight(piece.text):
            removed += piece.text
            added += piece.text
        else:
            calm += _both(removed, added)
            calm.append(piece)
            removed = added = ""
    return [*calm, *_both(removed, added)]


def _is_slight(text: str) -> bool:
    return "\n" not in text and len(text.strip()) <= 1 and not text.strip().isalnum()


def _both(removed: str, added: str) -> list[Piece]:
    found = ((Mark.REMOVED, removed), (Mark.ADDED, added))
    return [Piece(mark, text) for mark, text in found if text]


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


def _count_words(blocks: Iterable[tuple[LineEdit, list[Row]]], mark: Mark) -> int:
    pieces = (piece for _edit, rows in blocks for row in rows for piece in row.pieces)
    return _words(piece.text for piece in pieces if piece.mark is mark)


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)
