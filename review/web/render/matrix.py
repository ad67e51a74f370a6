"""The cells of the matrix, of which a page has thousands: each is written in a few dozen bytes.

The look of a cell hangs on its class, of one letter; its word is there for who does not see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from django.utils.safestring import SafeString

from review.knowledge_base import Gate
from review.overview.matrix import MatrixFolder, MatrixRow
from review.reviews.pair_states import FAIL, FRESH, MISSING, STALE, STATES, WARN
from review.vocabulary import Staleness
from review.web.core.labels import label

_CLASSES = {
    FRESH: "p",
    WARN: "w",
    FAIL: "f",
    Staleness.NOTE_CHANGED.value: "n",
    Staleness.GATE_CHANGED.value: "g",
    MISSING: "m",
}
_DISAGREE = "models disagree"


def folder_cells(folder: MatrixFolder, *, disputed: bool) -> SafeString:
    """What is worst below a folder, with how many; or how many cells models disagree about."""
    if disputed:
        numbers = [folder.disputed[at] for at in range(len(folder.counts))]
        cells = [_cell("d", _DISAGREE, number) if number else "<td></td>" for number in numbers]
    else:
        cells = [_worst(count) for count in folder.counts]
    return SafeString("".join(cells))


def _worst(count: Counter[str]) -> str:
    if not count:
        return "<td></td>"
    stale = sum(count[state] for state in STALE)
    for number, letter, word in (
        (count[FAIL], "f", FAIL),
        (count[WARN], "w", WARN),
        (stale, "m" if stale == count.total() else "s", "stale"),
    ):
        if number:
            return _cell(letter, word, number)
    return "<td class=p><i>fresh</i>"


def _cell(letter: str, word: str, number: int) -> str:
    short = str(number) if number < 1000 else f"{number / 1000:.0f}k"
    return f"<td class={letter}><b>{short}</b><i>{word}</i>"


def row_cells(row: MatrixRow, number: int, *, can_pick: bool) -> SafeString:
    """The cells of a note, which is the row of this number on the page."""
    return SafeString("".join(_cells(row, number, can_pick=can_pick)))


def _cells(row: MatrixRow, number: int, *, can_pick: bool) -> Iterator[str]:
    for place, state in enumerate(row.cells):
        if not state:
            yield "<td>"
            continue
        letter, words = _CLASSES[state], f"<i>{state.replace('-', ' ')}</i>"
        if place in row.disputed:
            letter, words = "d", f"<i>{state.replace('-', ' ')}, {_DISAGREE}</i>"
        if place in row.jobs:
            yield f"<td class=r><a href=/jobs/{row.jobs[place]}><i>running</i></a>"
        elif place in row.reviews and (state != FRESH or place in row.disputed):
            yield f"<td class={letter}><a href=/reviews/{row.reviews[place]}/>{words}</a>"
        elif can_pick and state in STALE:
            yield (
                f"<td class={letter}><input type=checkbox name=c"
                f' value={number}.{place} aria-label="{state.replace("-", " ")}">'
            )
        else:
            yield f"<td class={letter}>{words}"


def legend(columns: Sequence[Gate]) -> list[tuple[str, str]]:
    """Classes and words of the cells."""
    known = [(_CLASSES[state], label(state)) for state in STATES]
    return [*known, ("r", "in an open job"), ("d", _DISAGREE)] if columns else []
