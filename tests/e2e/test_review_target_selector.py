"""`review_target_selector`: which gates and notes it takes, and what it says of faulty ones."""

from __future__ import annotations

import pytest

from tests.builders import (
    NOTE,
    PARTITION,
    gate_path,
    make_gate,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.selecting import pairs, select

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"b.md": NOTE, "a.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/y", "prose/x", "links/z")},
    )


class TestGates:
    def test_none_named_is_a_usage_error(self, root):
        done = run("review_target_selector", "--json")

        assert done.exit == 2
        assert done.out == ""
        assert done.error["code"] == "usage"

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            pytest.param(["prose/x"], ["prose/x"], id="id"),
            pytest.param([gate_path("prose/x")], ["prose/x"], id="path"),
            pytest.param(["prose"], ["prose/x", "prose/y"], id="bundle"),
            pytest.param(["links", "prose/y", "links/z"], ["links/z", "prose/y"], id="each-once"),
            pytest.param(["--all-gates"], ["links/z", "prose/x", "prose/y"], id="all"),
        ],
    )
    def test_are_named_by_id_path_or_bundle(self, root, names, expected):
        found = select(*names, "--note", note_path("a.md"))

        assert [target["gate_id"] for target in found["targets"]] == expected

    def test_an_unknown_one_is_refused_with_near_matches(self, root):
        done = run("review_target_selector", "prose/xx", "--json")

        assert done.exit == 5
        assert done.error["code"] == "unknown-gate"
        assert "prose/x" in done.error["hint"]

    def test_a_gate_and_a_folder_of_one_name_are_refused_by_name(self, root):
        write_gate(root, "prose/x/inner")

        done = run("review_target_selector", "prose/x", "--json")

        assert done.exit == 5
        assert done.error["code"] == "ambiguous-gate"
        assert "prose/x.md" in done.error["hint"]

    def test_a_nested_one_has_its_path_as_id(self, root):
        write_gate(root, "prose/deep/inner")

        assert pairs(select("prose/deep/inner", "--note", note_path("a.md"))) == [
            (note_path("a.md"), "prose/deep/inner")
        ]

    @pytest.mark.parametrize(
        ("option", "why", "number"),
        [("--rules-only", "has-no-rule", 3), ("--skip-rules", "has-rule", 1)],
    )
    def test_those_that_a_rule_or_its_absence_leaves_out_are_counted(
        self, root, option, why, number
    ):
        write_gate(root, "links/ruled", make_gate("links/ruled", rule="unresolved-links"))

        assert select("--all-gates", option)["left_out"] == {why: number}

    def test_rules_only_leaves_out_those_that_need_a_model(self, root):
        write_gate(root, "prose/ruled", make_gate("prose/ruled", rule="repeated-words"))

        found = select("--all-gates", "--rules-only", "--note", note_path("a.md"))

        assert pairs(found) == [(note_path("a.md"), "prose/ruled")]

    @pytest.mark.parametrize(
        ("fields", "code", "said"),
        [
            pytest.param({"requires_trait": "[a: b"}, "invalid-frontmatter", "line", id="yaml"),
            pytest.param({"requires_trait": "5"}, "invalid-gate", "requires_trait", id="number"),
            pytest.param({"watches": "[titel]"}, "unknown-watch", "title", id="watch"),
        ],
    )
    def test_a_faulty_one_is_a_problem_of_its_file(self, root, fields, code, said):
        write_gate(root, "prose/x", make_gate("prose/x", **fields))

        problems = select("prose")["problems"]

        found = [item for item in problems if item["path"] == gate_path("prose/x")]
        assert code in {item["code"] for item in found}
        assert any(said in item["message"] for item in found)

    def test_one_that_calls_itself_another_keeps_the_id_of_its_path(self, root):
        write_gate(root, "prose/x", make_gate("prose/other"))

        found = select("prose/x", "--note", note_path("a.md"))

        assert pairs(found) == [(note_path("a.md"), "prose/x")]
        assert [item["code"] for item in found["problems"]] == ["gate-id-mismatch"]

    def test_a_typing_error_in_a_key_is_named_with_what_was_meant(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", require_trait="[cited]"))

        found = select("prose/x")

        assert any("requires_trait" in item["message"] for item in found["problems"])
        assert pairs(found) == []


class TestGatesBehindTheOption:
    """`--note X prose`: gates stand before `--note`, and who forgets it is told."""

    @pytest.mark.parametrize("gates", [(), ("--all-gates",)], ids=["none-named", "all"])
    @pytest.mark.parametrize(
        ("name", "model"),
        [
            pytest.param("review_target_selector", (), id="selector"),
            pytest.param("ack_trivial_changes", ("--model", PARTITION), id="acks"),
            pytest.param(
                "review_sweep", ("--runner", "rules", "--model", "rules", "--dry-run"), id="sweep"
            ),
            pytest.param("next_review_job", ("--runner", "r", "--model", PARTITION), id="next"),
        ],
    )
    def test_are_refused_with_their_right_place(self, root, name, model, gates):
        done = run(name, *gates, *model, "--note", note_path("a.md"), "prose", "links/z", "--json")

        assert done.exit in (2, 5)
        hint = done.error["hint"]
        assert hint == f"gates stand before --note: prose links/z --note {note_path('a.md')}"

    def test_of_a_command_that_must_have_one_are_refused_too(self, root):
        note = note_path("a.md")
        done = run("run_gate_sweep", "--runner", "rules", "--model", "m", "--note", note, "prose/x")

        assert done.exit == 2
        assert "hint: GATE_ID stands before --note, which takes all words behind it" in done.err


class TestNotes:
    def test_targets_are_sorted_by_note_and_gate(self, root):
        found = select("prose")

        assert pairs(found) == sorted(pairs(found))
        assert len(pairs(found)) == 4

    def test_a_folder_holds_its_subfolders(self, root):
        write_note(root, "kb/notes/deep/er/c.md")

        found = select("prose/x", "--note", "kb/notes/deep")

        assert pairs(found) == [("kb/notes/deep/er/c.md", "prose/x")]

    def test_an_unknown_one_is_refused_with_near_matches(self, root):
        done = run("review_target_selector", "prose", "--note", "kb/notes/aa.md", "--json")

        assert done.exit == 5
        assert note_path("a.md") in done.error["hint"]

    def test_current_keeps_those_whose_status_says_so(self, root):
        write_note(root, "a.md", f"---\nstatus: current\n---\n{NOTE}")
        write_note(root, "b.md", f"---\nstatus: on\n---\n{NOTE}")

        assert pairs(select("prose/x", "--current")) == [(note_path("a.md"), "prose/x")]

    def test_current_says_that_no_note_has_a_status(self, root):
        done = run("review_target_selector", "prose/x", "--current")

        assert done.exit == 0
        assert "2 notes left out by --current: none has a status\n" in done.err
        assert select("prose/x", "--current")["left_out"] == {
            "not-current": 2,
            "without-status": 2,
        }

    @pytest.mark.parametrize(
        ("options", "left_out", "said"),
        [
            (["prose"], {"applies-to-none": 1}, "1 gates left out: they apply to no note"),
            (["prose/y", "--flagged-by", PARTITION], {"not-flagged": 2}, "by --flagged-by"),
            (["prose/y", "--repeat"], {"not-repeatable": 2}, "2 pairs left out by --repeat"),
        ],
    )
    def test_each_filter_says_what_it_left_out(self, root, options, left_out, said):
        write_gate(root, "prose/x", make_gate("prose/x", requires_type="kb/types/adr.md"))

        assert said in run("review_target_selector", *options, "--model", PARTITION).err
        assert select(*options)["left_out"] == left_out

    def test_the_next_job_names_the_filters_that_leave_nothing(self, root):
        command = ["next_review_job", "prose/x", "--current", "--model", PARTITION]
        done = run(*command, "--runner", "r", "--json")

        assert done.error["message"] == (
            "no pair is in this scope; 2 notes left out by --current: none has a status"
        )

    def test_gates_are_named_or_all_meant(self, root):
        done = run("review_target_selector", "--all-gates", "prose/x", "--json")

        assert (done.exit, "not allowed with" in done.error["message"]) == (2, True)

    def test_a_note_among_the_gates_is_pointed_out(self, root):
        done = run("review_target_selector", "prose/x", note_path("a.md"), "--json")

        assert done.error["hint"] == f"notes stand behind --note: --note {note_path('a.md')}"

    def test_the_others_are_counted_where_a_folder_is_named(self, root):
        (root / "kb/notes/sub").mkdir()
        write_note(root, "sub/c.md", NOTE)

        found = select("prose/x", "--note", "kb/notes/sub")

        assert found["left_out"] == {"not-named": 2}

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            pytest.param(b"", "empty-note", id="empty"),
            pytest.param(b"# caf\xe9\n", "not-utf8", id="latin-1"),
            pytest.param(b"\xff\xfe#\x00", "not-utf8", id="utf-16"),
            pytest.param(b"# a\n\x00\n", "contains-nul", id="nul"),
        ],
    )
    @pytest.mark.parametrize("named", [(), ("--note", "kb/notes/bad.md")], ids=["found", "named"])
    def test_a_file_that_cannot_be_read_is_one_problem_however_it_is_named(
        self, root, content, code, named
    ):
        write_note(root, "bad.md", content)

        found = select("prose/x", *named)

        assert [(item["path"], item["code"], item["skipped"]) for item in found["problems"]] == [
            ("kb/notes/bad.md", code, True)
        ]
        assert "kb/notes/bad.md" not in {note for note, _gate in pairs(found)}
        assert bool(pairs(found)) == (not named)

    def test_one_with_unreadable_frontmatter_is_still_reviewed_as_text(self, root):
        write_note(root, "a.md", f"---\ntitle: [a\n---\n{NOTE}")
        write_gate(root, "prose/y", make_gate("prose/y", requires_trait="[cited]"))

        found = select("prose", "--note", note_path("a.md"))

        assert pairs(found) == [(note_path("a.md"), "prose/x")]
        (problem,) = found["problems"]
        assert (problem["code"], problem["skipped"]) == ("invalid-frontmatter", False)
        assert problem["message"].startswith("line ")

    def test_a_gate_asks_for_types_and_traits(self, root):
        write_note(
            root, "a.md", f"---\ntype: ../types/concept.md\ntraits: [cited, short]\n---\n{NOTE}"
        )
        write_gate(root, "prose/x", make_gate("prose/x", requires_type="kb/types/concept.md"))
        write_gate(root, "prose/y", make_gate("prose/y", requires_trait="[cited, long]"))

        assert pairs(select("prose")) == [(note_path("a.md"), "prose/x")]

    @pytest.mark.parametrize(
        ("note", "fields", "judged"),
        [
            pytest.param("adr/a.md", "", True, id="of-the-folder"),
            pytest.param("adr/deep/a.md", "", True, id="of-the-nearest-folder-that-has-one"),
            pytest.param("adr/other/a.md", "", False, id="of-a-nearer-folder"),
            pytest.param("a.md", "", False, id="elsewhere"),
            pytest.param("team/rfc/01-a.md", "", True, id="of-a-pattern"),
            pytest.param("team/rfc/README.md", "", False, id="not-of-the-pattern"),
            pytest.param("team/rfc/02-a/old.md", "", False, id="of-a-nearer-pattern"),
            pytest.param("adr/a.md", "---\ntype: note\n---\n", False, id="its-own-counts"),
            pytest.param("adr/a.md", "---\ntags: [x\n---\n", False, id="unreadable-frontmatter"),
        ],
    )
    def test_without_a_type_has_that_of_its_folder(self, root, note, fields, judged):
        write_gate(root, "prose/x", make_gate("prose/x", requires_type="kb/types/adr.md"))
        (root / "kb/review.toml").write_text(
            '[types]\n"kb/notes/adr" = "kb/types/adr.md"\n"kb/notes/adr/other/" = "other"\n'
            '"kb/notes/*/rfc/*/old.md" = "old"\n"kb/notes/*/rfc/[0-9]*" = "adr"\n'
        )
        path = f"kb/notes/{note}"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{fields}{NOTE}")

        assert pairs(select("prose/x", "--note", path)) == ([(path, "prose/x")] if judged else [])

    def test_links_inside_are_notes_and_links_outside_are_problems(self, root, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside") / "secret.md"
        outside.write_text(NOTE)
        (root / "kb" / "notes" / "in.md").symlink_to("a.md")
        (root / "kb" / "notes" / "out.md").symlink_to(outside)
        (root / "kb" / "notes" / "loop").symlink_to(".")

        found = select("prose/x")

        assert (note_path("in.md"), "prose/x") in pairs(found)
        assert ("kb/notes/out.md", "outside-root") in {
            (item["path"], item["code"]) for item in found["problems"]
        }
        assert len(pairs(found)) == 3

    def test_a_name_that_could_act_on_a_terminal_is_left_out(self, root):
        write_note(root, "kb/notes/a\x1b[2J.md")

        done = run("review_target_selector", "prose/x", "--model", PARTITION)

        assert "\x1b" not in done.out + done.err
        assert "bad-name" in done.err


class TestWithoutANote:
    @pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
    @pytest.mark.parametrize("named", [(), ("--note", "kb/notes")], ids=["all", "folder"])
    def test_says_that_zeros_tell_nothing(self, root, form, named):
        for name in ("a.md", "b.md"):
            (root / note_path(name)).unlink()

        done = run("review_target_selector", "--all-gates", *named, *form)

        assert done.exit == 0
        assert "no note was found below kb/notes" in done.err

    def test_a_note_of_another_status_is_one(self, root):
        done = run("review_target_selector", "--all-gates", "--current", "--json")

        assert done.json["targets"] == []
        assert done.err == ""
