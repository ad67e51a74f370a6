"""A rename or an edited heading breaks links in notes that nobody touched: they are judged again."""

from __future__ import annotations

import pytest

from review.knowledge_base import Corpus
from review.overview.note_page import read_note_page
from tests.builders import make_config, make_gate, make_root, note_path, write_note
from tests.helpers.checking import check_clone, commit_all, git
from tests.helpers.commands import run

pytestmark = pytest.mark.django_db
LINKS, ANCHORS, TITLES = (
    "links/unresolved-links",
    "links/broken-anchors",
    "frontmatter/missing-title",
)
SWEEP = ("review_sweep", "--all-gates", "--runner", "rules", "--model", "rules")
LINKING = "# A\n\nSee [b](b.md#the-part), and [c](c.md).\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    gates = {
        gate: make_gate(gate, rule=gate.partition("/")[2]) for gate in (LINKS, ANCHORS, TITLES)
    }
    notes = {"a.md": LINKING, "b.md": "# B\n\n## The part\n\nText.\n", "c.md": "# C\n\nText.\n"}
    made = make_root(tmp_path, notes=notes, gates=gates)
    commit_all(made)
    run(*SWEEP)
    return made


def stale():
    done = run("review_target_selector", "--all-gates", "--model", "rules", "--json")
    return {(item["note_path"], item["gate_id"]) for item in done.json["targets"]}


def state_on_the_page(root, pair):
    with Corpus(make_config(root)) as corpus:
        pairs = read_note_page(corpus, pair[0], (), None).document.pairs
    return next(item.state for item in pairs if item.gate_id == pair[1])


def broken():
    lines = run("warn_selector", "--json").json["entries"]
    return {(entry["note_path"], entry["gate_id"]) for entry in lines}


A_LINKS, A_ANCHORS = (note_path("a.md"), LINKS), (note_path("a.md"), ANCHORS)


def test_nothing_is_judged_again_while_nothing_changes(root):
    assert (stale(), broken()) == (set(), set())


def test_a_picture_that_is_embedded_by_its_name(root):
    write_note(root, "a.md", "# A\n\n![[Plan.png]]\n")
    run(*SWEEP)
    assert broken() == {A_LINKS}

    (root / "kb/notes/assets").mkdir()
    (root / "kb/notes/assets/plan.png").write_bytes(b"")

    assert A_LINKS in stale()
    run(*SWEEP)
    assert (stale(), broken()) == (set(), set())


def test_a_rename_and_its_way_back(root):
    old, new = root / note_path("c.md"), root / note_path("d.md")
    old.rename(new)
    assert A_LINKS in stale()
    assert A_ANCHORS not in stale()
    assert state_on_the_page(root, A_LINKS) == "missing-review"
    assert state_on_the_page(root, A_ANCHORS) == "fresh"

    run(*SWEEP)
    assert (stale(), broken()) == (set(), {A_LINKS})

    new.rename(old)
    assert A_LINKS in stale()
    run(*SWEEP)
    assert broken() == set()
    assert run("warn_selector", "--needs-a-look", "--json").json["needs_a_look"] == []


def test_an_edited_heading(root):
    write_note(root, "b.md", "# B\n\n## Another part\n\nText.\n")

    assert A_ANCHORS in stale()
    run(*SWEEP)
    assert broken() == {A_ANCHORS}


def test_what_was_carried_over_is_judged_at_its_new_place(root):
    (root / "kb/notes/sub").mkdir()
    (root / note_path("a.md")).rename(root / "kb/notes/sub/a.md")
    run("carry_over_acceptances", note_path("a.md"), "kb/notes/sub/a.md")

    assert stale() == {("kb/notes/sub/a.md", gate) for gate in (LINKS, ANCHORS)}
    run(*SWEEP)
    assert broken() == {("kb/notes/sub/a.md", LINKS)}


def test_a_check_of_a_change_sees_what_the_change_breaks_elsewhere(root):
    write_note(root, "old.md", "# Old\n\nSee [x](gone-long-ago.md).\n")
    commit_all(root)
    git(root, "checkout", "-q", "-b", "topic")
    (root / note_path("c.md")).rename(root / note_path("d.md"))
    write_note(root, "b.md", "# B\n\n## Another part\n\nText.\n")

    found = check_clone(root, since="main").findings

    assert {(item.note_path, item.gate_id) for item in found} == {A_LINKS, A_ANCHORS}


def test_a_check_of_a_change_sees_a_picture_that_is_gone(root):
    (root / "kb/notes/plan.png").write_bytes(b"png")
    write_note(root, "p.md", "# P\n\n![the plan](plan.png)\n")
    commit_all(root)
    git(root, "checkout", "-q", "-b", "topic")
    (root / "kb/notes/plan.png").unlink()

    (found,) = check_clone(root, since="main").findings

    assert (found.note_path, found.gate_id) == (note_path("p.md"), LINKS)


def test_what_was_decided_follows_a_note_that_was_swept_under_its_new_name(root):
    write_note(root, "b.md", "# B\n\n## Another part\n\nText.\n")
    run(*SWEEP)
    (finding,) = run("warn_selector", "--json").json["entries"][0]["findings"]
    run("dispose_finding", finding["fingerprint"], "--as", "rejected", "--actor", "human:ada")
    (root / note_path("a.md")).rename(root / note_path("z.md"))
    swept = run(*SWEEP, "--json")
    assert [item["new_path"] for item in swept.json["renames"]] == [note_path("z.md")]
    assert broken() == {(note_path("z.md"), ANCHORS)}

    told = run("carry_over_acceptances", note_path("a.md"), note_path("z.md"))

    assert "decided findings carried over: 1" in told.out + told.err
    assert broken() == set()
