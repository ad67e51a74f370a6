"""What findings are called where there is no room for more: their words, their note and their gate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from review.models import Finding
from review.queries.queue_board import QueueBoard
from review.queries.review_details import gate_label

# Names stand in cookies, which hold 4 kB.
_TEXT_SHOWN = 90
_PATH_SHOWN = 80


@dataclass(frozen=True)
class FindingName:
    """A finding in one line."""

    text: str
    note_path: str
    gate_id: str

    def __str__(self) -> str:
        return f"“{self.text}” ({self.gate_id} in {self.note_path})"


def name_findings(
    board: QueueBoard, marks: Iterable[str], *, gates_folder: str
) -> dict[str, FindingName]:
    """The names of findings that are on the board, by fingerprint."""
    places = board.layout.places
    lines = {mark: board.lines[places[mark][0]] for mark in marks if mark in places}
    ids = {line.finding_id for line in lines.values()}
    texts = dict(Finding.objects.filter(pk__in=ids).values_list("pk", "text"))
    return {
        mark: FindingName(
            text=_shortened(texts[line.finding_id]),
            note_path=_tail(line.note_path),
            gate_id=_tail(gate_label(line.gate_path, gates_folder)),
        )
        for mark, line in lines.items()
    }


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TEXT_SHOWN else f"{words[:_TEXT_SHOWN].rstrip()}…"


def _tail(path: str) -> str:
    return path if len(path) <= _PATH_SHOWN else f"…{path[-_PATH_SHOWN:]}"
