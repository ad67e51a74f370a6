"""`review_sweep --fix`: a runner edits a copy of a note; nothing is applied unless that is asked for."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.helpers.scripted import is_running, make_scripted, note
from tests.helpers.sweeping import command, start, wait_for
from tests.helpers.workers import write_worker_output

pytestmark = pytest.mark.own_stores(on_server="soak")

FIX = ("review_sweep", "--fix", "--runner", "scripted", "--json")
WARN = "### Findings\n- WARN: it says too little\n  > The text of note\n\n## Result: WARN"


@pytest.fixture
def base(tmp_path):
    """Two notes with an open finding each, and one without."""
    made = make_scripted(tmp_path, notes=3, script={"*": "mend"})
    review(made, note(0), note(1))
    return made


def review(base, *notes):
    """Have the notes reviewed with a warning, as any agent would."""
    selection = command(
        base, "review_target_selector", "--all-gates", "--model", "m-1", "--json", "--note", *notes
    )
    created = command(
        base, "create_review_jobs", "--input", "-", "--grouping", "note", "--json",
        stdin=selection.out,
    )  # fmt: skip
    for job in created.json["jobs"]:
        write_worker_output(base.root, job, WARN)
        command(base, "ingest_bundle_output", "--review-job-id", job["review_job_id"])


def text_of(base, number):
    return (base.root / note(number)).read_text()


def open_findings(base):
    return len(command(base, "warn_selector", "--json").json["entries"])


class TestFix:
    def test_shows_what_would_change_and_changes_nothing(self, base):
        done = command(base, *FIX)

        assert done.exit == 0
        fixes = done.json["fixes"]
        assert [(fix["note_path"], fix["outcome"]) for fix in fixes] == [
            (note(0), "changed"), (note(1), "changed"),
        ]  # fmt: skip
        assert "+The text, mended, of note 0." in fixes[0]["diff"]
        assert "mended" not in text_of(base, 0)

    def test_applies_what_changed_when_that_is_asked_for(self, base):
        place = base.root / note(0)
        place.chmod(0o640)

        done = command(base, *FIX, "--apply", "--note", note(0))

        assert [fix["outcome"] for fix in done.json["fixes"]] == ["applied"]
        assert text_of(base, 0) == "# Note 0\n\nThe text, mended, of note 0.\n"
        assert place.stat().st_mode & 0o777 == 0o640
        assert "mended" not in text_of(base, 1)

    def test_edits_that_one_note_and_nothing_beside_it(self, base):
        command(base, *FIX, "--apply")

        assert sorted(path.name for path in (base.root / "kb/notes").iterdir()) == [
            "n000.md", "n001.md", "n002.md",
        ]  # fmt: skip

    def test_what_it_claims_to_have_fixed_stays_open_until_a_new_review(self, base):
        before = open_findings(base)

        done = command(base, *FIX, "--apply")

        fix = done.json["fixes"][0]
        assert f"{fix['fingerprints'][0]}: fixed" in fix["said"]
        assert open_findings(base) == before == 2
        status = command(base, "review_status", "--json").json
        (partition,) = status["partitions"]
        assert partition["fresh"] == 0

    def test_has_nothing_to_do_where_nothing_is_open(self, base):
        done = command(base, *FIX, "--note", note(2))

        assert (done.exit, done.json["fixes"]) == (0, [])
        assert not base.calls()

    def test_says_what_it_would_do_in_a_dry_run(self, base):
        done = command(base, *FIX, "--dry-run")

        assert [fix["outcome"] for fix in done.json["fixes"]] == ["planned"] * 2
        assert not base.calls()

    def test_shows_people_the_diff(self, base):
        done = command(base, "review_sweep", "--fix", "--runner", "scripted", "--note", note(0))

        assert f"{note(0)}: changed" in done.out
        assert "+The text, mended, of note 0." in done.out
        assert "nothing was applied" in done.out

    def test_begins_no_more_than_are_allowed(self, base):
        done = command(base, *FIX, "--max-jobs", "1")

        assert len(done.json["fixes"]) == 1
        assert done.json["stopped"] == "max-jobs"


class TestRecord:
    """A run that mends notes has no rows: a file says afterwards what it did."""

    def lines(self, base):
        (file,) = (base.root / "kb/reports/fixes").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        return [json.loads(line) for line in file.read_text().splitlines()]

    def test_says_who_did_what_to_which_notes(self, base):
        base.store["COMMONPLACE_ACTOR"] = "human:ana"

        done = command(base, *FIX, "--apply", "--runner-model", "m-2")

        begin, *steps, end = self.lines(base)
        assert (begin["what"], begin["actor"], begin["runner"], begin["runner_model"]) == (
            "begin", "human:ana", "scripted", "m-2",
        )  # fmt: skip
        assert (begin["apply"], begin["notes"]) == (True, [note(0), note(1)])
        handed = [step for step in steps if step["what"] == "handed-out"]
        assert {step["note_path"] for step in handed} == {note(0), note(1)}
        told = {step["note_path"]: step for step in steps if step["what"] == "note"}
        assert told[note(0)]["outcome"] == "applied"
        assert "+The text, mended, of note 0." in told[note(0)]["diff"]
        assert told[note(0)]["fingerprints"] == done.json["fixes"][0]["fingerprints"]
        assert (end["what"], end["stopped"]) == ("end", None)

    def test_is_named_in_the_answer(self, base):
        done = command(base, *FIX)
        shown = command(base, "review_sweep", "--fix", "--runner", "scripted")

        assert (base.root / done.json["fix_record"]).is_file()
        assert "recorded in kb/reports/fixes/" in shown.out

    @pytest.mark.parametrize("arguments", [("--dry-run",), ("--note", note(2))])
    def test_of_nothing_is_none(self, base, arguments):
        done = command(base, *FIX, *arguments)

        assert done.json["fix_record"] is None
        assert not (base.root / "kb/reports/fixes").exists()

    def test_of_a_run_that_was_killed_has_what_was_handed_out(self, base):
        base.script["*"] = "hang"
        process = start(base, *FIX, "--apply")
        wait_for(lambda: base.calls().total() == 2)

        process.kill()
        process.communicate(timeout=20)

        assert [line["what"] for line in self.lines(base)] == ["begin", "handed-out", "handed-out"]

    def test_that_cannot_be_begun_keeps_the_run_from_beginning(self, base):
        (base.root / "kb/reports/fixes").write_text("a file in its place")

        done = command(base, *FIX, "--apply")

        assert (done.exit, done.error["code"]) == (1, "artifact-not-written")
        assert not base.calls()


class TestWhatGoesWrong:
    def with_script(self, base, what):
        base.script["*"] = what
        return base

    @pytest.mark.parametrize(
        ("what", "outcome", "exit_code"),
        [
            pytest.param("leave", "unchanged", 0, id="nothing-changed"),
            pytest.param("spoil", "refused", 4, id="no-text-any-more"),
            pytest.param("broken", "failed", 1, id="the-runner-failed"),
        ],
    )
    def test_is_told_and_leaves_the_note_alone(self, base, what, outcome, exit_code):
        before = text_of(base, 0)

        done = command(self.with_script(base, what), *FIX, "--apply", "--note", note(0))

        assert [fix["outcome"] for fix in done.json["fixes"]] == [outcome]
        assert done.exit == exit_code
        assert text_of(base, 0) == before

    def test_a_note_that_was_edited_meanwhile_is_not_overwritten(self, base):
        self.with_script(base, "slow-mend")
        process = start(base, *FIX, "--apply", "--note", note(0))
        wait_for(lambda: base.calls())
        (base.root / note(0)).write_text("# Mine\n")
        base.let_go()
        out, _err = process.communicate(timeout=30)

        assert process.returncode == 4
        (fix,) = json.loads(out)["fixes"]
        assert fix["outcome"] == "refused"
        assert "+The text, mended, of note 0." in fix["diff"]
        assert text_of(base, 0) == "# Mine\n"

    def test_ctrl_c_ends_the_editor(self, base):
        process = start(self.with_script(base, "hang"), *FIX)
        wait_for(lambda: base.calls().total() == 2)

        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=20)

        assert process.returncode == 130
        assert not any(is_running(pid) for pid in base.pids())

    @pytest.mark.parametrize(
        "arguments",
        [
            pytest.param(("--runner", "reader"), id="a-runner-that-only-reads"),
            pytest.param(("--runner", "rules"), id="rules"),
        ],
    )
    def test_who_cannot_edit_is_refused(self, base, arguments):
        assert command(base, "review_sweep", "--fix", *arguments).exit == 2

    def test_apply_is_only_for_fixes(self, base):
        done = command(
            base, "review_sweep", "--all-gates", "--apply", "--runner", "scripted", "--model", "m"
        )

        assert done.exit == 2
