"""Writes the table of the matrix: thousands of cells, each a few dozen bytes.

The look of a cell hangs on its class, of one letter; its word is there for who does not see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from review.queries.base_map import FRESH, NOT_FRESH, WORDS, Column, Folder
from review.queries.matrix import Matrix, MatrixRow
from review.web.words import label

_CLASSES = {letter: chr(letter) if letter != FRESH else "p" for letter in WORDS}
# In the cells, of which there are thousands, without "stale": the legend has it.
_LABELS = {letter: word.replace("-", " ") for letter, word in WORDS.items()}


@dataclass(frozen=True)
class TableLook:
    """How the table is written.

    :param can_pick: whether cells can be ticked.
    :param folder_url: the page of a folder is this, with the folder's path behind it.
    """

    can_pick: bool
    folder_urls: dict[str, str]


def render_matrix(matrix: Matrix, look: TableLook) -> SafeString:
    """The table: folders first, then notes."""
    body = [
        *(_folder(matrix, folder, look) for folder in matrix.folders),
        *(_row(matrix, row, number, look) for number, row in enumerate(matrix.rows)),
    ]
    return SafeString(
        f'<table class="matrix"><thead>{_heads(matrix, look)}</thead><tbody>{"".join(body)}</tbody></table>'
    )


def _heads(matrix: Matrix, look: TableLook) -> str:
    lenses = "".join(
        format_html('<th scope="colgroup" colspan="{}"><span>{}</span></th>', len(list(some)), lens)
        for lens, some in groupby(matrix.columns, key=lambda column: column.lens)
    )
    gates = "".join(_gate(column, place, look) for place, column in enumerate(matrix.columns))
    corner = '<th scope="col" rowspan="2" class="corner">Note</th>'
    return f"<tr>{corner}{lenses}</tr><tr>{gates}</tr>"


def _gate(column: Column, place: int, look: TableLook) -> str:
    name = column.gate_id.removeprefix(f"{column.lens}/")
    tick = (
        format_html(
            '<label class="all"><input type="checkbox" name="k" value="{}">'
            "<i>all of {}</i></label>",
            place,
            column.gate_id,
        )
        if look.can_pick
        else ""
    )
    hidden = (
        format_html('<input type="hidden" name="g" value="{}">', column.gate_id) if tick else ""
    )
    return format_html(
        '<th scope="col" class="gate"><a href="{}" title="{}"><span>{}</span></a>{}{}</th>',
        reverse("gate", args=[column.gate_id]),
        column.gate_id,
        name,
        tick,
        hidden,
    )


def _folder(matrix: Matrix, folder: Folder, look: TableLook) -> str:
    name = folder.path[len(matrix.request.folder) :].lstrip("/")
    head = format_html(
        '<th scope="row" class="folder"><a data-open href="{}">{}/</a> <small>{}</small></th>',
        look.folder_urls[folder.path],
        name,
        folder.notes,
    )
    cells = "".join(_rolled(column) for column in folder.columns)
    return f'<tr data-row tabindex="-1">{head}{cells}</tr>'


def _rolled(column: Mapping[int, int]) -> str:
    """What is worst below the folder, with how many; a folder that is fresh all over shows that."""
    asked = sum(column.values())
    if not asked:
        return "<td></td>"
    fails, warns = column.get(ord("f"), 0), column.get(ord("w"), 0)
    stale = sum(column.get(letter, 0) for letter in NOT_FRESH)
    if fails or warns:
        letter, word = ("f", "fail") if fails else ("w", "warn")
        return f"<td class={letter}><b>{_short(fails or warns)}</b><i>{word}</i>"
    if stale:
        part = "s" if stale < asked else "m"
        return f"<td class={part}><b>{_short(stale)}</b><i>stale</i>"
    return "<td class=p><i>fresh</i>"


def _short(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.0f}k" if number >= 9500 else f"{number / 1000:.1f}k"


def _row(matrix: Matrix, row: MatrixRow, number: int, look: TableLook) -> str:
    start = len(matrix.request.folder)
    name = row.note_path[start:].lstrip("/")
    tick = (
        format_html(
            '<label class="all"><input type="checkbox" name="r" value="{}">'
            "<i>all of {}</i></label>"
            '<input type="hidden" name="n" value="{}">',
            number,
            name,
            row.note_path,
        )
        if look.can_pick
        else ""
    )
    head = format_html(
        '<th scope="row"><div><a data-open href="{}">{}</a>{}</div></th>',
        reverse("note", args=[row.note_path]),
        name,
        tick,
    )
    return (
        f'<tr data-row tabindex="-1" id="r{number}">{head}'
        f"{''.join(_cells(row, number, can_pick=look.can_pick))}</tr>"
    )


def _cells(row: MatrixRow, number: int, *, can_pick: bool) -> Iterator[str]:
    for place, letter in enumerate(row.letters):
        word = _LABELS.get(letter)
        if word is None:
            yield "<td>"
        elif place in row.jobs:
            yield f"<td class=r><a href=/jobs/{row.jobs[place]}><i>running</i></a>"
        elif row.disputed[place]:
            yield _disputed(row, place, word)
        elif place in row.reviews:
            yield f"<td class={_CLASSES[letter]}><a href=/reviews/{row.reviews[place]}/><i>{word}</i></a>"
        elif can_pick and letter in NOT_FRESH:
            yield (
                f"<td class={_CLASSES[letter]}><input type=checkbox name=c"
                f' value={number}.{place} aria-label="{word}">'
            )
        else:
            yield f"<td class={_CLASSES[letter]}><i>{word}</i>"


def _disputed(row: MatrixRow, place: int, word: str) -> str:
    words = f"<i>{word}, models disagree</i>"
    if place in row.reviews:
        return f"<td class=d><a href=/reviews/{row.reviews[place]}/>{words}</a>"
    return f"<td class=d>{words}"


def legend(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Classes and words of the cells, for the legend."""
    known = [(_CLASSES[letter], label(word)) for letter, word in WORDS.items()]
    return [*known, ("r", "in an open job"), ("d", "models disagree")] if columns else []
