"""`resolve_gates`: what names stand for, and which gates apply to a note."""

from __future__ import annotations

import pytest

from tests.builders import NOTE, TYPED_NOTE, gate_path, make_gate, make_root, write_gate, write_note
from tests.helpers.commands import run, run_process


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "typed.md": TYPED_NOTE},
        gates={
            "prose/x": make_gate(
                "prose/x", watches="[body, title]", staleness="rewrite(0.25)", rule="repeated-words"
            ),
            "prose/y": make_gate("prose/y", requires_trait="[cited]"),
            "links/z": make_gate("links/z", requires_type="kb/types/concept.md"),
        },
    )


def ids(*args):
    return [gate["gate_id"] for gate in run("resolve_gates", *args, "--json").json["gates"]]


class TestNames:
    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            pytest.param([], ["links/z", "prose/x", "prose/y"], id="none-is-all"),
            pytest.param(["prose"], ["prose/x", "prose/y"], id="bundle"),
            pytest.param(
                [gate_path("prose/y"), "links/z"], ["links/z", "prose/y"], id="path-and-id"
            ),
        ],
    )
    def test_stand_for_gates_sorted_by_path(self, root, names, expected):
        assert ids(*names) == expected

    def test_a_gate_is_told_with_what_it_watches_and_asks_for(self, root):
        (gate,) = run("resolve_gates", "prose/x", "--json").json["gates"]

        assert gate.pop("sha256")
        assert gate == {
            "gate_id": "prose/x",
            "gate_path": gate_path("prose/x"),
            "lens": "prose",
            "name": "x",
            "description": "Asks one thing of a note, named x.",
            "watches": ["title", "body"],
            "staleness": "rewrite(0.25)",
            "requires_type": [],
            "requires_trait": [],
            "rule": "repeated-words",
            "applies_to": [],
            "language": None,
            "reads": [],
            "severity": None,
        }

    def test_an_unknown_one_is_refused_with_near_ones(self, root):
        done = run("resolve_gates", "prose/xx", "--json")

        assert (done.exit, done.error["code"]) == (5, "unknown-gate")
        assert "prose/x" in done.error["hint"]

    def test_one_that_cannot_be_used_is_a_problem(self, root):
        write_gate(root, "prose/y", b"")

        found = run("resolve_gates", "prose", "--json").json

        assert [gate["gate_id"] for gate in found["gates"]] == ["prose/x"]
        assert [item["code"] for item in found["problems"]] == ["empty-gate"]


class TestNote:
    @pytest.mark.parametrize(
        ("note", "applies"),
        [
            pytest.param("kb/notes/a.md", ["prose/x"], id="plain"),
            pytest.param("kb/notes/typed.md", ["links/z", "prose/x", "prose/y"], id="typed"),
            pytest.param("./kb/notes/typed.md", ["links/z", "prose/x", "prose/y"], id="as-typed"),
        ],
    )
    def test_keeps_the_gates_that_apply_to_it(self, root, note, applies):
        assert ids("--note", note) == applies

    def test_names_those_that_do_not(self, root):
        found = run("resolve_gates", "prose", "--note", "kb/notes/a.md", "--json").json

        assert found["not_applicable"] == ["prose/y"]
        assert found["note_path"] == "kb/notes/a.md"

    @pytest.mark.parametrize("note", ["kb/notes/none.md", "kb/notes"])
    def test_what_is_no_note_is_refused(self, root, note):
        assert run("resolve_gates", "--note", note).exit == 5

    def test_one_that_cannot_be_read_says_why(self, root):
        write_note(root, "a.md", b"\xff\xfe")

        done = run("resolve_gates", "--note", "kb/notes/a.md", "--json")

        assert (done.exit, done.error["code"]) == (5, "unreadable-file")


class TestText:
    def test_starts_each_line_with_an_id_that_can_be_used(self, root):
        lines = run("resolve_gates", "prose").out.splitlines()

        assert [line.split()[0] for line in lines] == ["prose/x", "prose/y"]
        assert lines[0].endswith("[rule]")

    def test_needs_no_store(self, tmp_path):
        done = run_process("resolve_gates", root=make_root(tmp_path))

        assert done.exit == 0
        assert not (tmp_path / "kb" / "reports" / "review-store.sqlite").exists()
