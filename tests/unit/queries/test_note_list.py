"""The list of notes, whose counts come from groups: what looking at every note would give."""

from __future__ import annotations

from collections import Counter

import pytest

from review.queries.base_map import WORDS, BaseMap
from review.queries.note_list import NOTES_A_PAGE, STATES, ListRequest, list_notes
from tests.helpers.maps import random_map

LETTERS = {word: letter for letter, word in WORDS.items()}
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
    pytest.param({"after": "kb/notes/a/m"}, id="after"),
    pytest.param({"after": "kb/notes/a/n", "states": ("warn",), "words": ("a",)}, id="after, both"),
]


def expected(base: BaseMap, request: ListRequest):
    """Paths, and the counts of folders, states and statuses, note by note."""
    names = request.partitions or base.partitions
    folders, states, statuses, paths = Counter(), Counter(), Counter(), []
    for note in base.notes:
        if not all(word in note.path.lower() for word in request.words):
            continue
        folder = note.path.rpartition("/")[0]
        letters = set().union(*(base.of(name, note) for name in names))
        in_folder = not request.folders or folder in request.folders
        in_status = not request.statuses or note.status in request.statuses
        in_state = not request.states or any(LETTERS[word] in letters for word in request.states)
        folders[folder] += in_status and in_state
        statuses[note.status] += in_folder and in_state
        if in_folder and in_status:
            states.update(WORDS[letter] for letter in letters if letter in WORDS)
            if in_state:
                paths.append(note.path)
    return paths, folders, {word: states[word] for word in STATES if states[word]}, statuses


@pytest.mark.parametrize("changes", REQUESTS)
@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_is_what_looking_at_every_note_gives(changes, partitions):
    base = random_map(partitions, partitions=partitions)
    request = ListRequest(**changes)

    found = list_notes(base, request)

    paths, folders, states, statuses = expected(base, request)
    rest = [path for path in paths if path > request.after]
    assert [note.path for note in found.notes] == rest[: NOTES_A_PAGE + 1]
    assert found.total == len(paths)
    assert found.counts.folders == dict(folders)
    assert list(found.counts.folders) == sorted(folders)
    assert found.counts.states == states
    assert found.counts.statuses == dict(statuses)


def test_letters_counted_are_those_of_the_note(monkeypatch):
    base = random_map(7)

    for item in list_notes(base, ListRequest(partitions=("p1",))).notes:
        (note,) = [note for note in base.notes if note.path == item.path]
        letters = base.of("p1", note)
        assert item.counts == {
            "p1": {word: n for letter, word in WORDS.items() if (n := letters.count(letter))}
        }


@pytest.mark.parametrize("query", [{}, {"states": ("warn",)}, {"folders": ("kb/notes/a",)}])
def test_a_page_looks_at_the_letters_of_the_notes_it_shows_only(monkeypatch, query):
    base = random_map(3, notes=3000).prepared()
    looked, real = [], BaseMap.of

    def counting(self, partition, note):
        looked.append(note.path)
        return real(self, partition, note)

    monkeypatch.setattr(BaseMap, "of", counting)
    found = list_notes(base, ListRequest(**query))

    assert len(found.notes) == NOTES_A_PAGE + 1
    assert len(looked) == len(found.notes) * len(base.partitions)
