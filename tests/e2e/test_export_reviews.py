"""`export_reviews`: the current reviews as files, from the store alone."""

from __future__ import annotations

import csv
import io
import shutil
from datetime import timedelta

import pytest

from tests.builders import NOTE, NOW, PARTITION, make_gate, make_root, note_path
from tests.helpers.commands import run
from tests.helpers.reviewed import UNDECIDED, WARN, review_pairs

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
NOTE_A = note_path("a.md")
FILE = f"kb__notes__a.md/prose/x.{PARTITION}.md"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "prose/y")},
    )
    review_pairs(tmp_path, ("a.md", "prose/x"), review=WARN)
    return tmp_path


@pytest.fixture
def gates(root):
    return root / "kb/reports/reviews/gates"


def export(shape, *args):
    return run("export_reviews", "--format", shape, *args, "--json")


class TestMarkdown:
    def test_a_review_is_a_file_with_its_metadata(self, gates):
        done = export("markdown")

        assert (done.json["reviews"], done.json["written"]) == (1, 1)
        text = (gates / FILE).read_text()
        assert text.startswith("<!-- GATE-REVIEW\nnote-path: kb/notes/a.md\n")
        assert text.endswith(f"-->\n\n{WARN}\n")

    def test_is_written_from_the_store_alone(self, root, gates):
        shutil.rmtree(root / "kb/notes")
        shutil.rmtree(root / "kb/reports")

        export("markdown")

        assert (gates / FILE).read_text().endswith(f"{WARN}\n")

    def test_what_is_unchanged_is_not_written_again(self, gates):
        export("markdown")
        before = (gates / FILE).stat().st_mtime_ns

        done = export("markdown")

        assert (done.json["written"], done.json["unchanged"]) == (0, 1)
        assert (gates / FILE).stat().st_mtime_ns == before

    def test_a_new_review_takes_the_place_of_the_old_one(self, root, gates):
        export("markdown")
        review_pairs(root, ("a.md", "prose/x"), now=NOW + HOUR)

        assert export("markdown").json["written"] == 1
        assert "decision: pass" in (gates / FILE).read_text()

    def test_each_partition_has_its_own(self, root, gates):
        review_pairs(root, ("a.md", "prose/x"), model_partition="other")

        export("markdown")

        assert sorted(path.name for path in (gates / "kb__notes__a.md/prose").iterdir()) == [
            f"x.{PARTITION}.md",
            "x.other.md",
        ]

    def test_what_was_not_accepted_is_not_exported(self, root):
        review_pairs(root, ("b.md", "prose/x"), review=UNDECIDED)

        assert export("markdown").json["reviews"] == 1

    def test_an_override_says_who_and_why(self, root, gates):
        run(
            "override_acceptance", "--model", PARTITION, NOTE_A, "prose/y",
            "--reason", "a quotation", "--actor", "human:ana", now=NOW,
        )  # fmt: skip

        export("markdown")

        text = (gates / f"kb__notes__a.md/prose/y.{PARTITION}.md").read_text()
        assert "kind: override" in text
        assert "human:ana" in text
        assert "a quotation" in text

    def test_files_of_no_acceptance_are_named_and_left(self, root, gates):
        export("markdown")
        strangers = ("kb__notes__gone.md/prose/x.m.md", "kb__notes__a.md/prose/gone.m.md")
        for name in strangers:
            (gates / name).parent.mkdir(parents=True, exist_ok=True)
            (gates / name).write_text("old\n")

        done = run("export_reviews", "--format", "markdown")

        assert export("markdown").json["left"] == sorted(strangers)
        assert all(name in done.err for name in strangers)
        assert all((gates / name).read_text() == "old\n" for name in strangers)

    def test_another_folder_can_be_named(self, root, tmp_path):
        done = export("markdown", "--output", tmp_path / "out")

        assert done.json["output"] == str(tmp_path / "out")
        assert (tmp_path / "out" / FILE).exists()

    def test_a_folder_that_cannot_be_written_is_told(self, root):
        done = export("markdown", "--output", "/proc/new")

        assert (done.exit, done.error["code"]) == (1, "artifact-not-written")


class TestCsv:
    def test_is_an_index_with_the_same_columns(self, root):
        done = export("csv")

        path = root / "kb/reports/reviews/csv/gate_reviews.csv"
        (row,) = csv.DictReader(io.StringIO(path.read_text()))
        assert (done.json["output"], done.json["reviews"]) == (str(path), 1)
        assert row["note_path"] == NOTE_A
        assert (row["gate_id"], row["decision"], row["kind"]) == ("prose/x", "warn", "full-review")

    def test_goes_to_standard_output_on_demand(self, root):
        done = run("export_reviews", "--format", "csv", "--output", "-")

        assert len(list(csv.DictReader(io.StringIO(done.out)))) == 1
        assert not (root / "kb/reports/reviews").exists()

    def test_is_sorted_by_note_gate_and_partition(self, root):
        review_pairs(root, ("b.md", "prose/y"), ("b.md", "prose/x"), ("a.md", "prose/y"))
        review_pairs(root, ("a.md", "prose/x"), model_partition="a-model")

        rows = csv.DictReader(
            io.StringIO(run("export_reviews", "--format", "csv", "--output", "-").out)
        )

        keys = [(row["note_path"], row["gate_path"], row["model_partition"]) for row in rows]
        assert keys == sorted(keys)
        assert len(keys) == 5

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param(["--format", "markdown", "--output", "-"], id="markdown-to-stdout"),
            pytest.param(["--format", "csv", "--output", "-", "--json"], id="two-documents"),
            pytest.param([], id="no-format"),
        ],
    )
    def test_what_makes_no_sense_is_a_usage_error(self, root, args):
        assert run("export_reviews", *args).exit == 2


class TestOverwriting:
    @pytest.mark.parametrize(
        ("form", "place"),
        [
            pytest.param("csv", "kb/reports/review-store.sqlite", id="the-store"),
            pytest.param("csv", "kb/notes/a.md", id="a-note"),
            pytest.param("csv", "kb/review.toml", id="the-settings"),
            pytest.param("markdown", "kb/notes", id="the-notes"),
        ],
    )
    def test_never_touches_what_it_did_not_write(self, root, form, place):
        store = root / "kb/reports/review-store.sqlite"
        store.parent.mkdir(parents=True, exist_ok=True)
        store.write_bytes(b"SQLite format 3\0")
        before = {path: path.read_bytes() for path in (root / "kb").rglob("*.*") if path.is_file()}

        done = run("export_reviews", "--format", form, "--output", root / place, "--json")

        assert (done.exit, done.error["code"]) == (5, "output-refused")
        after = {path: path.read_bytes() for path in (root / "kb").rglob("*.*") if path.is_file()}
        assert after == before
