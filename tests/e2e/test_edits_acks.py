"""A note or gate edited at every point of an ack, an override or a carry-over: only what was read is pinned."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from review.models import Acceptance
from review.upkeep.checks import broken_invariants
from tests.builders import NOTE as TEXT
from tests.builders import PARTITION, gate_path, make_gate, make_root, note_path, write_note
from tests.helpers.commands import run
from tests.helpers.edits import EDITS, Door
from tests.helpers.reviewed import current, review_pairs

pytestmark = pytest.mark.django_db
NOTE, GATE = note_path("a.md"), gate_path("prose/x")
MOVED = note_path("b.md")
TRIVIAL = TEXT.replace("by its links", "by links")
TOO_MUCH = "# Something else\n\nNobody has ever judged a single word of this text.\n"
ACK = ("ack_gate_review", "--model", PARTITION, NOTE, "prose/x", "--accept-gate-change", "--json")
OVERRIDE = (
    "override_acceptance", "--model", PARTITION, NOTE, "prose/x",
    "--reason", "it is fine", "--actor", "human:ana", "--json",
)  # fmt: skip
SELECT = ("review_target_selector", "--all-gates", "--model", PARTITION, "--json")

every_edit = pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
either_file = pytest.mark.parametrize("path", [NOTE, GATE], ids=["note", "gate"])
around_the_read = pytest.mark.parametrize("when", ["before", "after"])


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A note that was reviewed, and edited a little since."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    gate = make_gate("prose/x", staleness="rewrite(0.3)")
    root = make_root(tmp_path, gates={"prose/x": gate})
    review_pairs(root, ("a.md", "prose/x"))
    write_note(root, "a.md", TRIVIAL)
    return root


@pytest.fixture
def door(root, monkeypatch) -> Door:
    door = Door(root)
    door.watch(monkeypatch)
    return door


def listed() -> str:
    done = run(*SELECT)
    assert done.exit == 0, done.err
    return done.out


def reasons(name: str = "a.md") -> list[str]:
    found = json.loads(listed())["targets"]
    key = (note_path(name), GATE)
    return [item["reason"] for item in found if (item["note_path"], item["gate_path"]) == key]


def expected_reasons(root: Path, name: str = "a.md") -> list[str]:
    """Told from nothing but the bytes that are accepted and those on disk."""
    files, row = [root / note_path(name), root / GATE], current(name)
    if not all(file.exists() for file in files):
        return []
    if row is None:
        return ["missing-review"]
    if row.gate_snapshot.text.encode() != files[1].read_bytes():
        return ["gate-changed"]
    return ["note-changed"] if row.note_snapshot.text.encode() != files[0].read_bytes() else []


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def check(root: Path, door: Door, *, moved: bool) -> None:
    """The acceptance pins the very bytes that the command read, or is the one from before."""
    row = current()
    assert Acceptance.objects.count() == 1 + moved
    if moved:
        assert row.note_snapshot.text.encode() == door.last_read(NOTE)
        assert row.gate_snapshot.text.encode() == door.last_read(GATE)
    else:
        assert row.note_snapshot.text == TEXT
    assert row.note_snapshot.content_sha256 == sha256(row.note_snapshot.text.encode())
    assert reasons() == expected_reasons(root)
    assert broken_invariants() == ()


@every_edit
@either_file
class TestAnEdit:
    @around_the_read
    @pytest.mark.parametrize("command", [ACK, OVERRIDE], ids=["ack", "override"])
    def test_around_the_read_of_a_command_that_accepts_what_is_there(
        self, root, door, path, edit, when, command
    ):
        door.edit(when, path, 1, edit)

        done = run(*command)

        assert door.is_over
        assert done.exit in (0, 5), done.err
        check(root, door, moved=done.exit == 0)

    def test_since_the_note_was_looked_at_refuses_an_ack_that_names_it(
        self, root, door, path, edit
    ):
        before = sha256((root / NOTE).read_bytes())
        edit(root / path)

        done = run(*ACK, "--expect-note-sha", before)

        same = (root / NOTE).exists() and sha256((root / NOTE).read_bytes()) == before
        there = (root / GATE).exists()
        assert done.exit == (0 if same and there else 4 if there and (root / NOTE).exists() else 5)
        check(root, door, moved=done.exit == 0)

    @pytest.mark.parametrize("when", ["between", "before", "after"])
    def test_since_it_was_selected_refuses_an_ack_of_the_selection(
        self, root, door, path, edit, when
    ):
        selection = listed()
        (target,) = json.loads(selection)["targets"]
        if when == "between":
            edit(root / path)
        else:
            door.edit(when, path, 1, edit)

        done = run("ack_gate_review", "--input", "-", "--json", stdin=selection)

        assert door.is_over
        as_listed = all(
            door.reads.get(name) and sha256(door.last_read(name)) == target[field]
            for name, field in ((NOTE, "note_sha256"), (GATE, "gate_sha256"))
        )
        gone = when != "after" and edit.__name__ in ("deleted", "renamed")
        assert [item["gate_id"] for item in done.json["acked"]] == (
            ["prose/x"] if as_listed and not gone else []
        )
        assert {item["code"] for item in done.json["refused"]} <= {
            "note-edited", "gate-edited", "vanished",
        }  # fmt: skip
        check(root, door, moved=bool(done.json["acked"]))


class TestTrivialAcks:
    @around_the_read
    @pytest.mark.parametrize("number", [1, 2])
    def test_never_take_an_edit_that_is_more_than_trivial(self, root, door, when, number):
        door.edit(when, NOTE, number, lambda file: file.write_text(TOO_MUCH))

        done = run("ack_trivial_changes", "--all-gates", "--model", PARTITION, "--json")

        assert done.exit in (0, 4), done.err
        assert current().note_snapshot.text in (TEXT, TRIVIAL)
        assert reasons() == expected_reasons(root)
        assert broken_invariants() == ()

    @pytest.mark.parametrize("number", [1, 2])
    def test_take_the_change_that_is_there_again(self, root, door, number):
        door.edit("before", NOTE, number, EDITS["there_and_back"])

        done = run("ack_trivial_changes", "--all-gates", "--model", PARTITION, "--json")

        assert done.exit == 0, done.err
        assert current().note_snapshot.text == TRIVIAL
        assert reasons() == []


@every_edit
class TestCarryOver:
    CARRY = ("carry_over_acceptances", NOTE, MOVED, "--json")

    @pytest.fixture(autouse=True)
    def _moved(self, root):
        (root / NOTE).unlink()
        write_note(root, "b.md", TEXT)

    @pytest.mark.parametrize("when", ["between", "before", "after"])
    def test_carries_the_accepted_bytes_or_nothing(self, root, door, edit, when):
        if when == "between":
            edit(root / MOVED)
        else:
            door.edit(when, MOVED, 1, edit)

        done = run(*self.CARRY)

        assert door.is_over
        assert done.exit in (0, 4), done.err
        row = current("b.md")
        assert (row is not None) == bool(done.json["carried"])
        if row is not None:
            assert row.note_snapshot.text == TEXT
            assert door.last_read(MOVED) == TEXT.encode()
        assert reasons("b.md") == expected_reasons(root, "b.md")
        assert broken_invariants() == ()
