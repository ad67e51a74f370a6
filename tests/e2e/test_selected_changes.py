"""`review_target_selector`: which pairs are stale, why, and what is told of each change."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    gate_path,
    make_gate,
    make_jobs,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.forked import run_forked
from tests.helpers.reviewed import review_pairs
from tests.helpers.selecting import pairs, reasons, select

pytestmark = pytest.mark.django_db
EDITED = NOTE + "\nOne more line.\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"b.md": NOTE, "a.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/y", "prose/x", "links/z")},
    )


@pytest.fixture
def reviewed(root):
    """Every pair of `a.md` is fresh."""
    review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"), ("a.md", "links/z"))
    return root


class TestStaleness:
    def test_everything_is_missing_at_first(self, root):
        found = select("--all-gates")

        assert {target["reason"] for target in found["targets"]} == {"missing-review"}
        assert found["counts"] == {
            "fresh": 0, "missing-review": 6, "gate-changed": 0, "note-changed": 0, "in-flight": 0,
        }  # fmt: skip

    def test_a_reviewed_pair_is_fresh(self, reviewed):
        found = select("--all-gates", "--note", note_path("a.md"))

        assert pairs(found) == []
        assert found["counts"]["fresh"] == 3

    def test_it_is_fresh_for_that_partition_only(self, reviewed):
        found = select("--all-gates", "--note", note_path("a.md"), model="other")

        assert len(pairs(found)) == 3

    def test_without_a_partition_any_review_covers(self, reviewed):
        found = select("prose/x", model=None)

        assert pairs(found) == [(note_path("b.md"), "prose/x")]
        assert found["model_partition"] is None

    def test_without_a_partition_an_edit_is_not_looked_at(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        assert pairs(select("prose/x", model=None)) == [(note_path("b.md"), "prose/x")]

    def test_an_edit_makes_it_stale_with_a_diff(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        found = select("prose/x", "--note", note_path("a.md"))

        (target,) = found["targets"]
        assert target["reason"] == "note-changed"
        assert target["note_sha256"] == hashlib.sha256(EDITED.encode()).hexdigest()
        assert target["accepted_note_sha256"] == hashlib.sha256(NOTE.encode()).hexdigest()
        assert target["change"]["watched"] == ["body"]
        assert 0 < target["change"]["body_ratio"] < 1
        assert "+One more line." in found["diffs"][0]["diff"]
        assert found["diffs"][0]["accepted_sha256"] == target["accepted_note_sha256"]

    def test_a_gate_that_changed_comes_first_and_both_diffs_are_given(self, reviewed):
        write_note(reviewed, "a.md", EDITED)
        write_gate(reviewed, "prose/x", make_gate("prose/x", body="Another question.\n"))

        found = select("prose/x", "--note", note_path("a.md"))

        assert found["targets"][0]["reason"] == "gate-changed"
        assert found["targets"][0]["reasons"] == ["gate-changed", "note-changed"]
        assert {diff["path"] for diff in found["diffs"]} == {
            note_path("a.md"),
            gate_path("prose/x"),
        }

    def test_a_diff_stands_once_however_many_pairs_share_it(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        found = select("--all-gates", "--note", note_path("a.md"))

        assert len(found["targets"]) == 3
        assert len(found["diffs"]) == 1

    @pytest.mark.parametrize(
        "edit",
        [
            pytest.param(lambda path: path.touch(), id="touch"),
            pytest.param(lambda path: path.write_bytes(path.read_bytes()), id="saved-again"),
        ],
    )
    def test_the_same_bytes_are_fresh(self, reviewed, edit):
        edit(reviewed / note_path("a.md"))

        assert pairs(select("prose/x", "--note", note_path("a.md"))) == []

    def test_a_byte_order_mark_is_a_change(self, reviewed):
        write_note(reviewed, "a.md", b"\xef\xbb\xbf" + NOTE.encode())

        assert reasons(select("prose/x", "--note", note_path("a.md"))) == {
            ("a.md", "prose/x"): ["note-changed"]
        }

    def test_a_note_that_is_gone_is_no_target(self, reviewed):
        (reviewed / note_path("a.md")).unlink()

        assert pairs(select("prose/x")) == [(note_path("b.md"), "prose/x")]

    def test_a_note_under_another_name_has_no_review(self, reviewed):
        (reviewed / note_path("a.md")).rename(reviewed / note_path("c.md"))

        assert reasons(select("prose/x"))["c.md", "prose/x"] == ["missing-review"]

    def test_a_pair_in_an_open_job_says_so(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))

        found = select("prose/x")

        open_jobs = {
            target["note_path"]: target["open_review_job_id"] for target in found["targets"]
        }
        assert open_jobs == {note_path("a.md"): job.review_job_id, note_path("b.md"): None}
        assert found["counts"]["in-flight"] == 1


class TestChange:
    def test_of_a_part_nobody_watches_is_trivial(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", watches="[title]"))
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", EDITED)

        (target,) = select("prose/x", "--note", note_path("a.md"))["targets"]

        assert target["reason"] == "note-changed"
        assert target["change"]["watched"] == []
        assert target["change"]["trivial"] is True

    def test_within_the_gates_own_limit_is_trivial(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", staleness="rewrite(0.5)"))
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", NOTE.replace("first", "last") + "\nAgain.\n")

        (target,) = select("prose/x", "--note", note_path("a.md"))["targets"]

        assert target["change"]["watched"] == ["body"]
        assert target["change"]["trivial"] is True

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param("one\n\ntwo\n", "one\ntwo\n", id="paragraphs-merged"),
            pytest.param("- a\n- b\n", "- a\n\n\n- b\n", id="list-detached"),
            pytest.param("one  \ntwo\n", "one\ntwo\n", id="hard-break-removed"),
            pytest.param("```\na\n\nb\n```\n", "```\na\nb\n```\n", id="blank-line-in-a-fence"),
        ],
    )
    def test_of_white_space_in_what_is_watched_is_not_trivial(self, root, before, after):
        write_note(root, "a.md", f"# T\n\n{before}")
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", f"# T\n\n{after}")

        (target,) = select("prose/x", "--note", note_path("a.md"))["targets"]

        assert target["change"]["trivial"] is False

    def test_is_measured_against_the_text_that_was_reviewed_not_the_last_ack(self, root):
        write_note(root, "a.md", "# T\n\n" + "word " * 100)
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", "# T\n\n" + "word " * 60)
        later = NOW + timedelta(hours=1)
        run("ack_gate_review", "--model", PARTITION, note_path("a.md"), "prose/x", now=later)
        write_note(root, "a.md", "# T\n\n" + "word " * 59)

        (target,) = select("prose/x", "--note", note_path("a.md"))["targets"]

        assert target["change"]["body_ratio"] > 0.2

    def test_skip_trivial_leaves_it_out_and_counts_it(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", watches="[title]"))
        review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_note(root, "a.md", EDITED)

        found = select("prose", "--note", note_path("a.md"), "--skip-trivial")

        assert pairs(found) == [(note_path("a.md"), "prose/y")]
        assert found["counts"]["note-changed"] == 2
        assert found["left_out"] == {"trivial": 1}


class TestFilters:
    def test_by_reason_the_counts_stay_whole(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        found = select("prose", "--reason", "note-changed")

        assert {note for note, _gate in pairs(found)} == {note_path("a.md")}
        assert found["counts"]["missing-review"] == 2
        assert found["left_out"] == {"other-reason": 2}

    def test_a_limit_cuts_the_targets_and_their_diffs_only(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        found = select("--all-gates", "--limit", "1")

        assert len(found["targets"]) == len(found["diffs"]) == 1
        assert sum(found["counts"].values()) == 6
        assert found["left_out"] == {"over-limit": 5}

    def test_requested_lists_fresh_pairs_too(self, reviewed):
        found = select("--all-gates", "--note", note_path("a.md"), "--mode", "requested")

        assert found["mode"] == "requested"
        assert [target["reason"] for target in found["targets"]] == ["requested"] * 3

    def test_requested_needs_a_partition(self, root):
        done = run("review_target_selector", "--all-gates", "--mode", "requested", "--json")

        assert done.exit == 2

    def test_no_diff_gives_none(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        assert select("prose/x", "--no-diff")["diffs"] == []


class TestWords:
    def test_one_changed_letter_does_not_repeat_its_paragraph(self, root):
        paragraph = "A long paragraph that nobody broke into lines says much of little. " * 14
        write_note(root, "a.md", f"# T\n\n{paragraph}a backlnk.\n")
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", f"# T\n\n{paragraph}a backlink.\n")

        (diff,) = select("prose/x", "--note", note_path("a.md"))["diffs"]
        shown = run("review_target_selector", "prose/x", "--model", PARTITION, "--diff").out

        assert diff["words"] == "3:  … into lines says much of little. a [-backlnk-]{+backlink+}."
        assert len(diff["diff"]) > 2 * len(paragraph)
        assert diff["words"] in shown
        assert len(shown) < 300


class TestText:
    def test_gives_the_note_and_its_gates_below(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        done = run("review_target_selector", "prose/x", "--model", PARTITION)

        assert done.out.splitlines() == [
            "kb/notes/a.md",
            "  - prose/x (note-changed)",
            "kb/notes/b.md",
            "  - prose/x (missing-review)",
        ]

    def test_gives_diffs_on_demand(self, reviewed):
        write_note(reviewed, "a.md", EDITED)

        done = run("review_target_selector", "prose/x", "--model", PARTITION, "--diff")

        assert "5: {+One more line.+}" in done.out.splitlines()


class TestLooking:
    def test_changes_no_note_and_gives_the_same_bytes_again(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": NOTE, "caf\u00e9.md": EDITED})
        before = {
            path: (path.stat().st_mtime_ns, path.read_bytes())
            for path in (root / "kb" / "notes").iterdir()
        }
        command = ("review_target_selector", "--all-gates", "--model", PARTITION, "--json")

        first = run_forked(*command, root=root)
        second = run_forked(*command, "--no-cache", root=root)

        assert first.exit == 0
        assert first.out == second.out
        assert before == {
            path: (path.stat().st_mtime_ns, path.read_bytes())
            for path in (root / "kb" / "notes").iterdir()
        }
