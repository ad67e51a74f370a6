"""The list of notes, whose counts come from groups: what looking at every note would give."""

from __future__ import annotations

from collections import Counter

import pytest

from review.reviews.pair_states import STATES, PairStates
from review.web.core.filters import Filters
from review.web.pages.notes import list_notes
from tests.helpers.maps import random_states

REQUESTS = [
    pytest.param({}, id="all"),
    pytest.param({"folder": ("kb/notes/a",)}, id="folder"),
    pytest.param({"folder": ("kb/notes/a", "kb/nowhere")}, id="folders"),
    pytest.param({"state": ("warn",)}, id="state"),
    pytest.param({"state": ("fail", "gate-changed"), "status": ("draft",)}, id="state, status"),
    pytest.param({"status": ("none",), "folder": ("kb/other",)}, id="status, folder"),
    pytest.param({"model": ("p1",), "state": ("fail",)}, id="partition"),
    pytest.param({"model": ("p2", "p0")}, id="partitions"),
    pytest.param({"model": ("nobody",), "state": ("missing-review",)}, id="no partition"),
    pytest.param({"q": ("notes/a n00",)}, id="words"),
    pytest.param({"q": ("n01",), "state": ("warn",), "folder": ("kb/notes",)}, id="both"),
    pytest.param({"q": ("nothing",)}, id="nothing"),
    pytest.param({"sort": ("path",)}, id="by path"),
]


def expected(base: PairStates, wanted: dict[str, tuple[str, ...]]):
    """Places, and the counts of folders, states and statuses, note by note."""
    names = wanted.get("model") or base.partitions
    words = " ".join(wanted.get("q", ())).split()
    folders, states, statuses, places = Counter(), Counter(), Counter(), []
    for note in base.notes:
        if not all(word in note.path.lower() for word in words):
            continue
        folder = note.path.rpartition("/")[0]
        cells = [state for name in names for state in base.row(name, note)]
        in_folder = folder in wanted.get("folder", (folder,))
        in_status = (note.status or "none") in wanted.get("status", (note.status or "none",))
        in_state = "state" not in wanted or any(word in cells for word in wanted["state"])
        folders[folder] += in_status and in_state
        statuses[note.status] += in_folder and in_state
        if in_folder and in_status:
            states.update(set(cells))
            if in_state:
                changed = cells.count("note-changed") + cells.count("gate-changed")
                to_do = (
                    cells.count("fail"),
                    cells.count("warn"),
                    changed,
                    cells.count("missing-review"),
                )
                place = (0, 0, 0, 0) if "sort" in wanted else tuple(-number for number in to_do)
                places.append((*place, note.path))
    return (
        sorted(places),
        folders,
        {word: states[word] for word in STATES if states[word]},
        statuses,
    )


@pytest.mark.parametrize("wanted", REQUESTS)
@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_is_what_looking_at_every_note_gives(wanted, partitions):
    base = random_states(partitions, partitions=partitions)

    found = list_notes(base, Filters("/notes/", wanted))

    places, folders, states, statuses = expected(base, wanted)
    assert [place for place, _note in found.chosen] == places
    assert found.folders == folders
    assert {word: found.states[word] for word in STATES if found.states[word]} == states
    assert found.statuses == statuses
