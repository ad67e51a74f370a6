"""Names and comments of exported reviews: bounded, told apart, and closed by nothing in a value."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.reviews.export import (
    ExportedReview,
    gate_csv,
    note_folder,
    render_export,
    review_file,
)

REVIEW = ExportedReview(
    note_path="kb/notes/a.md",
    gate_id="prose/x",
    gate_path="kb/instructions/review-gates/prose/x.md",
    gate_hash="b" * 64,
    note_hash="a" * 64,
    model_partition="some-model@high",
    decision="warn",
    kind="full-review",
    recorded_at="2026-01-31T09:30:00.000000Z",
    review_pair_id=31,
    text="### Summary\nIt wants a source.",
)
PATHS = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=300).map(
    lambda text: f"kb/{text}.md"
)


class TestNames:
    @pytest.mark.parametrize(
        ("path", "folder"),
        [
            pytest.param("kb/notes/a.md", "kb__notes__a.md", id="plain"),
            pytest.param("kb/notes/My Note é.md", "kb__notes__My Note é.md", id="as-it-is"),
        ],
    )
    def test_a_note_becomes_one_folder(self, path, folder):
        assert note_folder(path) == folder

    def test_notes_that_would_meet_are_told_apart(self):
        names = {note_folder("kb/notes/a/b.md"), note_folder("kb/notes/a__b.md")}

        assert len(names) == 2
        assert "kb__notes__a__b.md" in names

    def test_long_names_are_cut_and_told_apart(self):
        paths = [f"kb/notes/{'n' * 250}{number}.md" for number in range(2)]

        names = {note_folder(path) for path in paths}

        assert len(names) == 2
        assert all(len(name.encode()) <= 200 for name in names)

    def test_a_gate_and_a_partition_make_a_file_below_its_lens(self):
        assert review_file("prose/x", "some-model@high") == "prose/x.some-model@high.md"

    def test_partitions_that_would_meet_are_told_apart(self):
        assert review_file("prose/x", "y.z") != review_file("prose/x.y", "z")

    @given(path=PATHS)
    def test_any_path_gives_one_bounded_name(self, path):
        name = note_folder(path)

        assert "/" not in name
        assert name not in ("", ".", "..")
        assert len(name.encode()) <= 255

    @given(first=PATHS, second=PATHS)
    def test_two_paths_give_two_names(self, first, second):
        assert (note_folder(first) == note_folder(second)) == (first == second)


class TestComment:
    def test_stands_before_the_text_with_all_that_is_known(self):
        assert render_export(REVIEW).splitlines() == [
            "<!-- GATE-REVIEW",
            "note-path: kb/notes/a.md",
            "gate-id: prose/x",
            "gate-path: kb/instructions/review-gates/prose/x.md",
            f"gate-hash: {'b' * 64}",
            f"note-hash: {'a' * 64}",
            "model-partition: some-model@high",
            "decision: warn",
            "kind: full-review",
            "recorded-at: 2026-01-31T09:30:00.000000Z",
            "review-pair-id: 31",
            "-->",
            "",
            "### Summary",
            "It wants a source.",
        ]

    @pytest.mark.parametrize("mark", ["-->", "--!>", "-->\n# Forged"])
    def test_is_ended_by_nothing_that_a_path_holds(self, mark):
        shown = render_export(replace(REVIEW, note_path=f"kb/notes/a{mark}b.md"))

        head, _, body = shown.partition("\n-->\n")
        assert "--!>" not in head
        assert "-->" not in head
        assert body == "\n### Summary\nIt wants a source.\n"

    def test_a_text_that_holds_a_comment_is_the_text(self):
        text = "<!-- GATE-REVIEW\ndecision: pass\n-->\n"

        assert render_export(replace(REVIEW, text=text)).partition("\n-->\n")[2] == f"\n{text}"

    def test_what_no_review_stands_behind_has_no_pair(self):
        assert "\nreview-pair-id: \n" in render_export(replace(REVIEW, review_pair_id=None))


class TestCsv:
    def test_has_the_columns_of_the_comment_and_no_formula(self):
        lines = list(gate_csv([replace(REVIEW, note_path="=cmd()")]))

        assert lines[0] == (
            "note_path,gate_id,gate_path,gate_hash,note_hash,model_partition,decision,kind,"
            "recorded_at,review_pair_id\n"
        )
        assert lines[1].startswith("'=cmd(),prose/x,")
