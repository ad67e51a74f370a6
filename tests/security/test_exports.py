"""What a review could do to a spreadsheet, a Markdown viewer, or the folder that it is exported to."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace

import pytest

from review.domain.printing import safe_cell
from review.reviews.export import COLUMNS, render_export
from tests.builders import write_note
from tests.helpers.commands import run
from tests.helpers.reviewed import review_pairs
from tests.security.hostile_texts import ACTS, EVIL_REVIEW, FORMULA_STARTS

FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x",
    "=cmd|' /C calc'!A0", '=HYPERLINK("https://evil.example")', "-2+3+cmd|' /C calc'!A0",
)  # fmt: skip


def runs_as_formula(cell: str) -> bool:
    """Whether a spreadsheet could take the cell for a formula."""
    return cell.strip().startswith(FORMULA_STARTS)


class TestCsv:
    @pytest.mark.parametrize("text", FORMULAS)
    def test_no_cell_begins_a_formula(self, text):
        assert safe_cell(text).startswith("'")

    @pytest.mark.parametrize("text", ["a;=1", "a;  =1", "a\t=1", "a;@x", "a;-1"])
    def test_no_cell_begins_one_where_cells_end_at_a_semicolon(self, text):
        assert not any(
            runs_as_formula(part) for part in safe_cell(text).replace("\t", ";").split(";")
        )

    @pytest.mark.parametrize("text", ["a = b", "x-y", "kb/notes/a.md", "5 + 5", "", "a; b"])
    def test_plain_words_stay(self, text):
        assert safe_cell(text) == text

    def test_numbers_stay_numbers(self):
        assert safe_cell(-5) == "-5"

    @pytest.mark.parametrize(
        "call", [("warn_selector", "--format", "csv"), ("export_reviews", "--format", "csv", "--output", "-")],
        ids=["queue", "gates"],
    )  # fmt: skip
    def test_of_a_command_holds_no_formula_and_nothing_that_acts(self, root, db, call):
        for name in ("=1+1.md", "+x.md", "@y.md", "a,b.md", '"q".md'):
            write_note(root, f"kb/notes/{name}")
        names = [
            (f"kb/notes/{name}", "prose/x")
            for name in ("=1+1.md", "+x.md", "@y.md", "a,b.md", '"q".md')
        ]
        review_pairs(root, *names, review=EVIL_REVIEW)

        out = run(*call).out
        rows = list(csv.reader(io.StringIO(out)))

        assert len({len(row) for row in rows}) == 1
        assert not [cell for row in rows for cell in row if runs_as_formula(cell)]
        assert not ACTS.findall(out)


class TestMarkdown:
    @pytest.mark.parametrize(
        "name",
        [
            "-->",
            "--!>",
            "-- >",
            "--&gt;",
            "<!--",
            "\n-->\n",
            "--\n>",
            "-" * 50 + ">",
            "--> <script>",
        ],
    )
    def test_no_name_ends_the_comment_with_the_metadata(self, name):
        values = dict.fromkeys(COLUMNS, f"a{name}b") | {"text": "TEXT", "gate_id": "prose/x"}

        comment, _, rest = render_export(SimpleNamespace(**values)).partition("\n-->\n")

        assert "-->" not in comment
        assert "--!>" not in comment
        assert comment.count("\n") == len(COLUMNS)
        assert rest == "\nTEXT\n"

    def test_no_line_of_the_metadata_is_another(self):
        values = dict.fromkeys(COLUMNS, "a\ndecision: pass") | {"text": ""}

        lines = render_export(SimpleNamespace(**values)).splitlines()

        assert "decision: pass" not in lines
