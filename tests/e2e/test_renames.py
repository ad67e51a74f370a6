"""A note that was renamed: named with the command to type, carried over, and no orphan any more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.selection.names import find_renames
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    gate_path,
    make_gate,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.reviewed import WARN, open_corpus, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
A, B = note_path("a.md"), note_path("b.md")
LONG = NOTE + "\nAnd so it goes on, for a while, with words that tell it from another note.\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    root = make_root(tmp_path, notes={"a.md": LONG, "other.md": "# Other\n\nText.\n"})
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return root


def select(*args):
    return run("review_target_selector", "--all-gates", "--model", PARTITION, *args)


def renames() -> list[dict]:
    """As the selector and `review_status` name them; they say the same."""
    found = select("--json").json["renames"]
    assert run("review_status", "--json").json["renames"] == found
    return found


def type_in(command: str):
    """Run a command as it was printed."""
    program, name, *args = command.split()
    assert program == "commonplace"
    return run(name, *args, now=LATER)


def gone() -> tuple[list, list]:
    """The orphans, and the queue's entries of deleted notes."""
    orphans = run("review_status", "--json").json["orphans"]
    return orphans, run("warn_selector", "--json").json["deleted_notes"]


class TestRenamed:
    def test_is_named_with_the_command_that_makes_it_fresh(self, root):
        (root / A).rename(root / B)

        (found,) = renames()

        assert (found["old_path"], found["new_path"], found["similarity"]) == (A, B, 1.0)
        assert found["command"] in select().err
        assert found["command"] in run("review_status").out
        assert type_in(found["command"]).exit == 0
        assert select("--json").json["counts"]["fresh"] == 1
        assert renames() == []
        assert gone() == ([], [])

    def test_is_looked_at_where_it_is_now(self, root):
        write_gate(root, "prose/y", make_gate("prose/y"))
        strange = WARN.replace("A reader finds a note by its title", "Budgets were cut in May")
        review_pairs(root, ("a.md", "prose/y"), review=strange)
        (root / A).rename(root / B)
        assert type_in(renames()[0]["command"]).exit == 0

        (look,) = run("warn_selector", "--needs-a-look", "--note", B, "--json").json["needs_a_look"]
        done = run("dispose_finding", look["findings"][0]["fingerprint"], "--as", "rejected")

        assert (look["note_path"], done.exit) == (B, 0)
        assert run("warn_selector", "--needs-a-look", "--json").json["needs_a_look"] == []

    def test_and_edited_is_carried_over_as_changed(self, root):
        (root / A).unlink()
        write_note(root, "b.md", LONG + "\nA last line.\n")

        (found,) = renames()

        assert found["command"].endswith(" --edited")
        assert 0.6 < found["similarity"] < 1
        assert type_in(found["command"]).exit == 0
        assert select("--json").json["counts"]["note-changed"] == 1
        (entry,) = run("warn_selector", "--json").json["entries"]
        assert (entry["note_path"], entry["note_changed_since"]) == (B, True)
        assert entry["findings"][0]["line_now"] == 3

    def test_is_found_beside_a_new_note_that_vanishes_meanwhile(self, root):
        (root / A).unlink()
        write_note(root, "b.md", LONG.replace("for a while", "for long"))
        write_note(root, "aa.md")
        corpus = open_corpus(root)
        notes = corpus.notes().notes
        (root / note_path("aa.md")).unlink()

        (found,) = find_renames(corpus, notes)

        assert (found.old_path, found.new_path) == (A, B)

    def test_folder_is_one_command(self, root):
        write_note(root, "kb/notes/old/c.md", "# C\n\nOne.\n")
        write_note(root, "kb/notes/old/d.md", "# D\n\nTwo.\n")
        review_pairs(root, ("kb/notes/old/c.md", "prose/x"), ("kb/notes/old/d.md", "prose/x"))
        (root / "kb/notes/old").rename(root / "kb/notes/new")

        (found,) = renames()

        assert (found["old_path"], found["new_path"]) == ("kb/notes/old", "kb/notes/new")

    def test_is_found_in_a_narrow_scope(self, root):
        (root / A).rename(root / B)

        assert len(select("--note", B, "--json").json["renames"]) == 1
        assert select("--note", note_path("other.md"), "--json").json["renames"] == []

    @pytest.mark.parametrize("both", [False, True])
    def test_gate_is_named_too_alone_or_with_a_note(self, root, both):
        (root / gate_path("prose/x")).rename(root / gate_path("prose/z"))
        if both:
            (root / A).rename(root / B)

        commands = [item["command"] for item in renames()]

        assert len(commands) == 1 + both
        assert [type_in(command).exit for command in commands] == [0] * (1 + both)
        assert select("--json").json["counts"]["fresh"] == 1
        assert (renames(), gone()) == ([], ([], []))

    def test_gate_that_was_edited_on_the_way_is_carried_over_as_changed(self, root):
        (root / gate_path("prose/x")).unlink()
        write_gate(root, "style/x", make_gate("style/x"))

        (found,) = renames()

        assert type_in(found["command"]).exit == 0
        assert select("--json").json["counts"]["gate-changed"] == 1

    @pytest.mark.parametrize("new", ["0.md", "z.md"])
    def test_note_does_not_come_back_when_its_gate_is_renamed_and_edited(self, root, new):
        (root / A).rename(root / note_path(new))
        (renamed,) = renames()
        type_in(renamed["command"])
        (root / gate_path("prose/x")).unlink()
        write_gate(root, "style/x", make_gate("style/x"))

        (moved,) = renames()
        done = type_in(f"{moved['command']} --json")

        assert [item["note_path"] for item in done.json["carried"]] == [note_path(new)]
        assert gone() == ([], [])

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda root: write_note(root, "b.md", LONG), id="copied"),
            pytest.param(lambda root: (root / A).unlink(), id="deleted"),
            pytest.param(lambda root: (root / A).write_text("# Other\n"), id="edited"),
        ],
    )
    def test_nothing_else_is(self, root, change):
        change(root)

        assert renames() == []


class TestRetire:
    def retire(self, *args):
        return run("carry_over_acceptances", "--retire", A, *args, now=LATER)

    def test_takes_a_deleted_note_out_of_the_queue_and_the_orphans(self, root):
        (root / A).unlink()
        assert [len(items) for items in gone()] == [1, 1]

        done = self.retire("--reason", "merged into b.md", "--json")

        assert (done.exit, [item["old_note_path"] for item in done.json["retired"]]) == (0, [A])
        assert gone() == ([], [])
        assert self.retire().exit == 5

    def test_a_note_that_comes_back_is_stale(self, root):
        (root / A).unlink()
        self.retire()

        write_note(root, "a.md", LONG)

        assert select("--json").json["counts"]["fresh"] == 0

    def test_a_note_that_is_there_is_refused(self, root):
        done = self.retire("--json")

        assert (done.exit, done.json["refused"][0]["code"]) == (4, "still-there")

    def test_a_dry_run_writes_nothing(self, root):
        (root / A).unlink()

        assert f"would retire: {A} (" in self.retire("--dry-run").out
        assert len(gone()[0]) == 1

    def test_needs_no_new_path(self, root):
        assert run("carry_over_acceptances", "--retire", A, B).exit == 2
        assert run("carry_over_acceptances", A).exit == 2
