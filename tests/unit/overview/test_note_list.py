"""The list of notes, whose counts come from groups: what looking at every note would give."""

from __future__ import annotations

from collections import Counter

import pytest

from review.overview.note_list import NOTES_A_PAGE, ListRequest, list_notes
from review.reviews.pair_states import STATES, PairStates
from tests.helpers.maps import random_states

REQUESTS = [
    pytest.param({}, id="all"),
    pytest.param({"folders": ("kb/notes/a",)}, id="folder"),
    pytest.param({"folders": ("kb/notes/a", "kb/nowhere")}, id="folders"),
    pytest.param({"states": ("warn",)}, id="state"),
    pytest.param({"states": ("fail", "gate-changed"), "statuses": ("draft",)}, id="state, status"),
    pytest.param({"statuses": ("",), "folders": ("kb/other",)}, id="status, folder"),
    pytest.param({"partitions": ("p1",), "states": ("fail",)}, id="partition"),
    pytest.param({"partitions": ("p2", "p0")}, id="partitions"),
    pytest.param({"partitions": ("nobody",), "states": ("missing-review",)}, id="no partition"),
    pytest.param({"words": ("notes/a", "n00")}, id="words"),
    pytest.param({"words": ("n01",), "states": ("warn",), "folders": ("kb/notes",)}, id="both"),
    pytest.param({"words": ("nothing",)}, id="nothing"),
    pytest.param({"after": (0, 0, 0, 0, "kb/notes/a/m"), "by_path": True}, id="after, by path"),
    pytest.param({"after": (-1, -2, 0, 0, "kb/notes/a/n"), "words": ("a",)}, id="after, words"),
]


def expected(base: PairStates, request: ListRequest):
    """Places, and the counts of folders, states and statuses, note by note."""
    names = request.partitions or base.partitions
    folders, states, statuses, places = Counter(), Counter(), Counter(), []
    for note in base.notes:
        if not all(word in note.path.lower() for word in request.words):
            continue
        folder = note.path.rpartition("/")[0]
        cells = [state for name in names for state in base.row(name, note)]
        in_folder = not request.folders or folder in request.folders
        in_status = not request.statuses or note.status in request.statuses
        in_state = not request.states or any(word in cells for word in request.states)
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
                place = (0, 0, 0, 0) if request.by_path else tuple(-number for number in to_do)
                places.append((*place, note.path))
    return (
        sorted(places),
        folders,
        {word: states[word] for word in STATES if states[word]},
        statuses,
    )


@pytest.mark.parametrize("changes", REQUESTS)
@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_is_what_looking_at_every_note_gives(changes, partitions):
    base = random_states(partitions, partitions=partitions)
    request = ListRequest(**changes)

    found = list_notes(base, request)

    places, folders, states, statuses = expected(base, request)
    rest = [place for place in places if request.after is None or place > request.after]
    assert [item.place for item in found.notes] == rest[: NOTES_A_PAGE + 1]
    assert found.total == len(places)
    assert found.folders == dict(folders)
    assert list(found.folders) == sorted(folders)
    assert found.states == states
    assert found.statuses == dict(statuses)


def test_states_counted_are_those_of_the_note():
    base = random_states(7)

    for item in list_notes(base, ListRequest(partitions=("p1",))).notes:
        cells = base.row("p1", item.note)
        assert item.counts == {"p1": {state: n for state in STATES if (n := cells.count(state))}}
