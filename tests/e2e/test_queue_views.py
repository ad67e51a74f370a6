"""`warn_selector`: what people decided, what is asked for, and how it is shown."""

from __future__ import annotations

import csv
import io

import pytest

from review.models import Disposition
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    note_path,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.queueing import (
    DEEP,
    HOUR,
    NOTE_A,
    QUOTE,
    dispose,
    entries,
    finding,
    queue,
    three_notes,
)
from tests.helpers.reviewed import FAIL, WARN, review_pairs

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return three_notes(tmp_path)


@pytest.fixture
def warned(root):
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return root


class TestDispositions:
    @pytest.mark.parametrize("state", ["fixed", "rejected", "deferred"])
    def test_a_finding_that_was_dealt_with_is_out_and_can_be_asked_for(self, warned, state):
        dispose(finding()["fingerprint"], state, "--reason", "because")

        assert entries() == []
        assert finding("--status", state)["status"] == state

    def test_a_remark_that_is_left_wants_no_edit(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN.replace("- WARN", "- INFO: so\n- WARN"))
        (entry,) = queue("--severity", "warn")["entries"]
        dispose(entry["findings"][0]["fingerprint"], "fixed")

        status = run("review_status", "--json").json
        assert finding()["severity"] == "info"
        assert status["queue"] == {"warn": 0, "fail": 0}
        assert not [step for step in status["next_steps"] if "findings" in step["what"]]

    def test_open_takes_it_back(self, warned):
        mark = finding()["fingerprint"]
        dispose(mark, "rejected", "--reason", "because")
        dispose(mark, "open", now=NOW + 2 * HOUR)

        assert entries() == [(NOTE_A, "prose/x")]

    def test_reported_again_after_fixed_it_is_open_and_regressed(self, warned):
        dispose(finding()["fingerprint"], "fixed")
        review_pairs(warned, ("a.md", "prose/x"), review=WARN, now=NOW + 2 * HOUR)

        assert (finding()["status"], finding()["regressed"]) == ("open", True)
        assert "regressed" in run("warn_selector").out

    def test_an_ack_after_fixed_reports_nothing_again(self, warned):
        dispose(finding()["fingerprint"], "fixed")
        write_note(warned, "a.md", NOTE + "\nA source.\n")
        run("ack_gate_review", "--model", PARTITION, NOTE_A, "prose/x", now=NOW + 2 * HOUR)

        assert entries() == []

    def test_rejected_holds_when_it_is_reported_again_in_other_words(self, warned):
        dispose(finding()["fingerprint"], "rejected", "--reason", "because")
        again = WARN.replace("the claim has no source", "nothing supports this claim")
        review_pairs(warned, ("a.md", "prose/x"), review=again, now=NOW + 2 * HOUR)

        assert entries() == []

    def test_deferred_holds_until_the_note_changes(self, warned):
        dispose(finding()["fingerprint"], "deferred", "--reason", "needs figures")
        assert entries() == []

        write_note(warned, "a.md", NOTE + "\nFigures.\n")

        assert entries() == [(NOTE_A, "prose/x")]

    def test_each_is_kept(self, warned):
        mark = finding()["fingerprint"]
        dispose(mark, "rejected", "--reason", "because")
        dispose(mark, "open", now=NOW + 2 * HOUR)

        assert Disposition.objects.count() == 2


class TestFilters:
    @pytest.fixture
    def mixed(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        review_pairs(root, (DEEP, "prose/x"), (DEEP, "links/z"), review=FAIL)
        return root

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            pytest.param(["--decision", "warn"], ["a.md"], id="decision"),
            pytest.param(["--severity", "fail"], [DEEP], id="severity"),
            pytest.param(["--gate", "links"], [DEEP], id="bundle"),
            pytest.param(["--note", "kb/notes/deep"], [DEEP], id="folder"),
            pytest.param(["--note", "./kb/notes/deep/"], [DEEP], id="folder-as-typed"),
            pytest.param(["--note", NOTE_A], ["a.md"], id="file"),
            pytest.param(["--model", "other"], [], id="partition"),
        ],
    )
    def test_keep_what_is_asked_for(self, mixed, args, expected):
        assert sorted({note for note, _gate in entries(*args)}) == [*map(note_path, expected)]

    def test_an_absolute_path_below_the_root_is_taken(self, mixed):
        assert {note for note, _gate in entries("--note", mixed / "kb/notes/deep")} == {DEEP}

    def test_a_folder_is_not_one_of_another_case(self, mixed):
        write_note(mixed, "kb/notes/DEEP/c.md")
        review_pairs(mixed, ("kb/notes/DEEP/c.md", "prose/x"), review=WARN)

        assert entries("--note", "kb/notes/DEEP") == [("kb/notes/DEEP/c.md", "prose/x")]

    def test_a_note_that_is_gone_can_be_named(self, mixed):
        (mixed / NOTE_A).unlink()

        assert len(queue("--note", NOTE_A)["deleted_notes"]) == 1

    @pytest.mark.parametrize(
        ("args", "near"),
        [
            pytest.param(["--note", "kb/notes/aa.md"], NOTE_A, id="note"),
            pytest.param(["--gate", "prose/xx"], "prose/x", id="gate"),
        ],
    )
    def test_a_name_of_nothing_is_refused_with_near_ones(self, mixed, args, near):
        done = run("warn_selector", *args, "--json")

        assert done.exit == 5
        assert near in done.error["hint"]


class TestNeedsALook:
    def looks(self, *args):
        return [
            (look["note_path"], look["why"])
            for look in queue("--needs-a-look", *args)["needs_a_look"]
        ]

    @pytest.mark.parametrize(
        ("review", "why"),
        [
            pytest.param("I cannot say.", "decision-unknown", id="unknown"),
            pytest.param("No access.\n\n## Result: ERROR", "decision-error", id="error"),
            pytest.param(
                "### Findings\n- WARN: no source\n\n## Result: PASS", "findings-disagree", id="pass"
            ),
            pytest.param(
                "### Findings\n- WARN: no source\n\n## Result: FAIL",
                "findings-disagree",
                id="fail-that-only-warns",
            ),
            pytest.param(
                "### Findings\n- FAIL: no source\n\n## Result: WARN",
                "findings-disagree",
                id="warn-whose-finding-fails",
            ),
            pytest.param("The lead is long.\n\n## Result: WARN", "no-findings", id="bare-warn"),
            pytest.param(
                "### Findings\n- WARN: no source\n  > These words stand in no note.\n\n"
                "## Result: WARN",
                "quotes-not-found",
                id="quotes-not-found",
            ),
        ],
    )
    def test_a_review_that_a_person_must_see(self, root, review, why):
        review_pairs(root, ("a.md", "prose/x"), review=review)

        assert self.looks() == [(NOTE_A, why)]

    def test_a_quotation_of_two_places_in_one_is_none(self, root):
        quoted = "its title, then by its links.\n  > A reader finds a note by its title"
        review = f"### Findings\n- WARN: twice\n  > {quoted}\n\n## Result: WARN"
        review_pairs(root, ("a.md", "prose/x"), review=review)

        assert self.looks() == []

    def test_a_pass_with_a_remark_is_none(self, root):
        review_pairs(
            root,
            ("a.md", "prose/x"),
            review="### Findings\n- INFO: long\n\n## Result: PASS (1 INFO)",
        )

        assert self.looks() == []

    def test_a_persons_decision_answers_it(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review="I cannot say.")

        run(
            "set_decision", "--review-pair-id", pair_id, "--as", "warn",
            "--reason", "it describes a warning", "--actor", "human:ana", now=NOW + HOUR,
        )  # fmt: skip

        assert self.looks() == []
        assert entries() == [(NOTE_A, "prose/x")]

    def test_a_later_review_answers_it(self, root):
        review_pairs(root, ("a.md", "prose/x"), review="I cannot say.")
        review_pairs(root, ("a.md", "prose/x"), now=NOW + HOUR)

        assert self.looks() == []

    def test_filters_apply(self, root):
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "links/z"), review="I cannot say.")

        assert self.looks("--note", NOTE_A) == [(NOTE_A, "decision-unknown")]
        assert self.looks("--gate", "links") == [(note_path("b.md"), "decision-unknown")]


class TestFormats:
    def test_text_gives_places_to_go_to(self, warned):
        lines = run("warn_selector").out.splitlines()

        assert lines[0] == NOTE_A
        assert lines[1].startswith("  WARN prose/x (pair ")
        assert lines[2].startswith(f"    {NOTE_A}:3: warn: the claim has no source [")
        assert lines[3] == f"      > {QUOTE}"

    def test_an_empty_queue_is_silent_on_stdout(self, root):
        done = run("warn_selector")

        assert (done.exit, done.out) == (0, "")
        assert "empty" in done.err

    def test_csv_has_a_row_for_each_finding_and_no_formula(self, root):
        review = "### Findings\n- WARN: =cmd()\n- FAIL: @SUM(A1)\n\n## Result: FAIL"
        review_pairs(root, ("a.md", "prose/x"), review=review)

        rows = list(csv.DictReader(io.StringIO(run("warn_selector", "--format", "csv").out)))

        assert [row["text"] for row in rows] == ["'=cmd()", "'@SUM(A1)"]
        assert {row["note_path"] for row in rows} == {NOTE_A}

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param(["--json", "--format", "csv"], id="two-formats"),
            pytest.param(["--needs-a-look", "--format", "csv"], id="looks-as-csv"),
        ],
    )
    def test_what_cannot_be_given_is_refused(self, root, args):
        assert run("warn_selector", *args).exit == 2

    def test_a_reviews_text_cannot_act_on_a_terminal(self, root):
        review_pairs(
            root, ("a.md", "prose/x"),
            review="### Findings\n- WARN: clear \x9b2J it\n\n## Result: WARN",
        )  # fmt: skip

        assert "\x9b" not in run("warn_selector").out
        assert "\x9b" in finding()["text"]
