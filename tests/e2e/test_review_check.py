"""`review_check` and the review lock: a maintainer's store and a clone without one say the same."""

from __future__ import annotations

import json

import pytest

from review.errors import ReviewError
from review.models import ReviewPair
from tests.builders import (
    NOTE,
    PARTITION,
    make_gate,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.checking import check_clone, commit_all, git
from tests.helpers.commands import run
from tests.helpers.reviewed import FAIL, WARN, review_pairs
from tests.helpers.triage import decide, review_of

pytestmark = pytest.mark.django_db
MODEL_GATES = ("prose/x", "prose/y")
TODO = "prose/placeholder-text"
NOTE_A, NOTE_B = note_path("a.md"), note_path("b.md")
MARKED = f"{NOTE}\nTODO: say more.\n"
EVERY_PAIR = [(note, gate) for note in ("a.md", "b.md") for gate in MODEL_GATES]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Two notes, two gates for models and one with a rule, which the first note does not meet."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    gates = {gate: make_gate(gate) for gate in MODEL_GATES}
    gates[TODO] = make_gate(TODO, rule="placeholder-text")
    return make_root(tmp_path, notes={"a.md": MARKED, "b.md": NOTE}, gates=gates)


def check(*args):
    return run("review_check", *args, "--json")


def lock(root):
    """Export the lock; gives its lines."""
    assert run("export_reviews", "--format", "lock").exit == 0
    return (root / "kb/review.lock").read_text().splitlines()


def judge_rules():
    run("review_sweep", TODO, "--runner", "rules", "--model", "rules")


def told(findings):
    """Findings as they can be compared, from JSON or from a document."""
    rows = [item if isinstance(item, dict) else vars_of(item) for item in findings]
    return [(row["note_path"], row["gate_id"], row["fingerprint"], row["line"]) for row in rows]


def vars_of(document):
    return {name: getattr(document, name) for name in document.__struct_fields__}


class TestRules:
    def test_are_judged_here_and_stored_nowhere(self, root):
        done = check("--rules-only")

        (found,) = done.json["findings"]
        assert (found["note_path"], found["gate_id"], found["line"]) == (NOTE_A, TODO, 5)
        assert (done.json["stale"], done.exit) == ([], 0)
        assert not ReviewPair.objects.exists()

    def test_find_under_the_fingerprint_that_a_sweep_stores(self, root):
        found = check(TODO).json["findings"]
        judge_rules()

        (entry,) = run("warn_selector", "--json").json["entries"]
        assert [item["fingerprint"] for item in found] == [
            item["fingerprint"] for item in entry["findings"]
        ]

    def test_do_not_find_again_what_a_person_rejected(self, root):
        judge_rules()
        (mark,) = (item["fingerprint"] for item in check(TODO).json["findings"])
        decide(mark, "rejected", reason="a template")
        lock(root)
        # A text around it that changes does not bring it back.
        write_note(root, "a.md", f"{MARKED}\nMore.\n".replace("# Ret", "# A ret"))

        assert check(TODO).json["findings"] == []
        assert check_clone(root, gates=(TODO,)).findings == []


class TestStoreAndLock:
    def test_a_clone_without_a_store_says_the_same(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        review_pairs(root, ("b.md", "prose/x"))
        write_note(root, "a.md", "A line before.\n\n" + MARKED)
        judge_rules()
        lock(root)

        done, clone = check().json, check_clone(root)

        assert told(done["findings"]) == told(clone.findings)
        assert [(item[1], item[3]) for item in told(clone.findings)] == [(TODO, 7), ("prose/x", 5)]
        assert done["stale"] == [vars_of(pair) for pair in clone.stale]
        assert [(pair.note_path, pair.gate_id, pair.reason) for pair in clone.stale] == [
            (NOTE_A, "prose/x", "note-changed"),
            (NOTE_A, "prose/y", "missing-review"),
            (NOTE_B, "prose/y", "missing-review"),
        ]

    def test_either_makes_a_pair_fresh(self, root):
        review_pairs(root, *EVERY_PAIR)
        lock(root)
        write_note(root, "b.md", f"{NOTE}\nMore.\n")
        review_pairs(root, ("b.md", "prose/x"), ("b.md", "prose/y"))
        assert check().json["stale"] == []

        write_note(root, "b.md", NOTE)  # only the lock knows that text as the current one
        assert check().json["stale"] == []

    def test_the_last_model_that_objects_is_heard_unless_another_is_asked_for(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=FAIL)
        review_pairs(root, ("a.md", "prose/x"), review=WARN, model_partition="other")
        lock(root)

        def severities(**fields):
            found = check_clone(root, gates=("prose/x",), notes=(NOTE_A,), **fields).findings
            return [item.severity for item in found]

        assert severities() == ["warn"]
        assert severities(models=(PARTITION,)) == ["fail"]
        assert check_clone(root, gates=("prose/x",), models=("third",)).stale[0].reason == (
            "missing-review"
        )

    def test_a_finding_whose_quote_is_gone_waits_for_the_next_review(self, root):
        review_pairs(root, ("b.md", "prose/x"), review=WARN)
        write_note(root, "b.md", "# Another\n\nAll is new.\n")

        done = check("prose/x", "--note", NOTE_B).json

        assert (done["findings"], done["stale"][0]["reason"]) == ([], "note-changed")

    def test_no_store_is_made(self, root, monkeypatch):
        monkeypatch.setattr("review.store.is_there", lambda: False)
        opened = []
        monkeypatch.setattr("review.management.kit.command.open_store", opened.append)
        monkeypatch.setattr("review.check.check.stored_lock", opened.append)

        assert len(check().json["findings"]) == 1
        assert not opened
        assert not (root / "kb/reports").exists()


class TestLock:
    def test_is_the_same_for_the_same_reviews(self, root):
        review_pairs(root, *EVERY_PAIR, review=WARN)
        first = lock(root)
        before = (root / "kb/review.lock").stat().st_mtime_ns

        done = run("export_reviews", "--format", "lock", "--json").json

        assert (done["unchanged"], done["reviews"]) == (1, 4)
        assert (root / "kb/review.lock").stat().st_mtime_ns == before
        assert [next(iter(json.loads(line))) for line in first] == [
            "schema", "gate", "gate", "note", "note"
        ]  # fmt: skip

    def test_a_review_changes_the_line_of_its_note_and_a_gate_that_of_the_gate(self, root):
        review_pairs(root, *EVERY_PAIR)
        before = lock(root)
        review_pairs(root, ("b.md", "prose/y"), review=WARN)
        reviewed = lock(root)
        write_gate(root, "prose/x", make_gate("prose/x", body="Another test.\n"))
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))

        def differing(one, other):
            return [number for number, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]  # fmt: skip

        assert differing(before, reviewed) == [4]
        assert differing(reviewed, lock(root)) == [1]

    def test_a_damaged_line_is_named_and_the_others_count(self, root):
        review_pairs(root, *EVERY_PAIR)
        lines = lock(root)
        (root / "kb/review.lock").write_text("\n".join([*lines[:4], "<<<<<<< HEAD", lines[4]]))

        clone = check_clone(root, gates=MODEL_GATES, fail_on=("problem",))

        (problem,) = clone.problems
        assert (problem.code, problem.path) == ("damaged-lock", "kb/review.lock")
        assert problem.message.startswith("line 5: ")
        assert clone.stale == []
        assert run("review_check", "--fail-on", "problem").exit == 6

    def test_is_written_to_its_own_place_only(self, root):
        assert run("export_reviews", "--format", "lock", "--output", "-").exit == 2


class TestSince:
    @pytest.fixture(autouse=True)
    def _base(self, root):
        commit_all(root)
        git(root, "checkout", "-q", "-b", "topic")

    def paths(self, root, **fields):
        found = check_clone(root, since="main", **fields)
        return sorted({item.note_path for item in [*found.findings, *found.stale]})

    def test_takes_commits_the_working_tree_and_untracked_notes(self, root):
        write_note(root, "committed.md", MARKED)
        commit_all(root)
        write_note(root, "b.md", MARKED)
        write_note(root, "un tracked ü.md", MARKED)
        (root / NOTE_A).unlink()

        assert self.paths(root) == [
            NOTE_B, note_path("committed.md"), note_path("un tracked ü.md")
        ]  # fmt: skip
        assert self.paths(root, notes=(NOTE_B,)) == [NOTE_B]

    def test_what_the_other_branch_changed_does_not_count(self, root):
        git(root, "checkout", "-q", "main")
        write_note(root, "b.md", MARKED)
        commit_all(root)
        git(root, "checkout", "-q", "topic")

        assert self.paths(root) == []

    def test_says_that_a_gate_or_the_lock_changed(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", body="Another test.\n"))
        review_pairs(root, ("a.md", "prose/y"))
        lock(root)

        gate, changed = check_clone(root, since="main").notices

        assert "gates that changed: 1" in gate
        assert "kb/review.lock was changed too" in changed

    @pytest.mark.parametrize(
        ("revision", "code"),
        [("nosuch", "git-refused"), ("--output=x", "git-refused"), ("a b", "git-refused")],
    )  # fmt: skip
    def test_a_revision_that_names_no_commit_is_refused(self, root, revision, code):
        done = run("review_check", f"--since={revision}", "--json")

        assert (done.exit, done.error["code"]) == (5, code)
        assert not (root / "x").exists()

    def test_a_shallow_clone_is_refused(self, root, tmp_path_factory):
        write_note(root, "b.md", MARKED)
        commit_all(root)
        shallow = tmp_path_factory.mktemp("clone") / "clone"
        git(root, "clone", "-q", "--depth", "1", f"file://{root}", str(shallow))

        with pytest.raises(ReviewError, match="is shallow") as refused:
            check_clone(shallow, since="origin/main")
        assert refused.value.code == "shallow-clone"

    def test_a_missing_git_and_a_folder_without_a_repository_are_refused(
        self, root, tmp_path_factory, monkeypatch
    ):
        with pytest.raises(ReviewError, match="not a git repository"):
            check_clone(make_root(tmp_path_factory.mktemp("plain")), since="main")

        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(ReviewError) as refused:
            check_clone(root, since="main")
        assert refused.value.code == "program-not-started"


class TestNewOnly:
    @pytest.fixture(autouse=True)
    def _base(self, root):
        """A base whose lock has a finding of a rule and one of a model in the first note."""
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        judge_rules()
        lock(root)
        commit_all(root)

    def test_hides_what_the_lock_of_the_merge_base_has(self, root):
        write_note(root, "a.md", f"Before.\n\n{MARKED}\nTBD: and more.\n")

        clone = check_clone(root, since="main", new_only=True)

        (found,) = clone.findings
        assert (found.gate_id, found.line, found.new) == (TODO, 9, True)
        assert clone.known == 2

    def test_follows_a_note_that_was_renamed(self, root):
        write_note(root, "deep/c.md", f"{MARKED}\nTBD: and more.\n")
        (root / NOTE_A).unlink()
        git(root, "add", "-A")

        clone = check_clone(root, since="main", new_only=True, rules_only=True)

        assert [(item.note_path, item.line) for item in clone.findings] == [
            (note_path("deep/c.md"), 7)
        ]
        assert clone.known == 1

    def test_a_baseline_can_be_a_file(self, root, tmp_path):
        old = tmp_path / "old.lock"
        old.write_bytes((root / "kb/review.lock").read_bytes())

        assert check_clone(root, new_only=True, baseline=old).findings == []
        old.write_text("no lock\n")
        clone = check_clone(root, new_only=True, baseline=old)
        assert len(clone.findings) == 2
        assert clone.problems[0].code == "damaged-lock"

    def test_needs_something_to_compare_with(self, root):
        assert run("review_check", "--new-only").exit == 2

    def test_says_that_the_merge_base_has_no_lock(self, root):
        git(root, "rm", "-q", "--cached", "kb/review.lock")
        commit_all(root)
        git(root, "rm", "-q", "kb/review.lock")
        commit_all(root)
        write_note(root, "a.md", f"{MARKED}\nMore.\n")

        clone = check_clone(root, since="HEAD", new_only=True, rules_only=True)

        assert (len(clone.findings), len(clone.notices)) == (1, 1)


class TestFailOn:
    @pytest.mark.parametrize(
        ("levels", "review", "tripped"),
        [
            ((), WARN, None),
            (("warn",), WARN, "warn: 1 warn, 0 fail"),
            (("warn",), FAIL, "warn: 0 warn, 1 fail"),
            (("fail",), WARN, None),
            (("fail",), FAIL, "fail: 1 fail"),
            (("problem",), FAIL, None),
        ],
    )
    def test_trips_on_what_was_asked_for(self, root, levels, review, tripped):
        review_pairs(root, ("b.md", "prose/x"), review=review)
        options = [word for level in levels for word in ("--fail-on", level)]

        done = check("prose/x", "--note", NOTE_B, *options)

        assert (done.json["tripped"], done.exit) == (tripped, 6 if tripped else 0)

    def test_a_stale_pair_and_a_file_that_cannot_be_read_are_stale(self, root):
        assert check("prose/x", "--fail-on", "stale").exit == 6
        assert check(TODO, "--fail-on", "stale").exit == 0
        write_note(root, "b.md", b"\xff\xfe")
        assert check(TODO, "--fail-on", "stale").exit == 6

    def test_a_rule_that_cannot_judge_leaves_its_pair_stale(self, root):
        write_gate(root, "fm/title", make_gate("fm/title", rule="title-matches-h1"))
        write_note(root, "b.md", "---\n: [\n---\n\n# B\n\nText.\n")

        reasons = [item["reason"] for item in check("fm/title").json["stale"]]

        assert reasons == ["decision-error"]


def test_info_findings_of_a_pass_stay_out_as_in_the_queue(root):
    review = review_of(("info", "a remark", "A reader"), result="PASS")
    review_pairs(root, ("b.md", "prose/x"), review=review)

    assert check("prose/x", "--note", NOTE_B).json["findings"] == []


class TestQueueInOtherFormats:
    @pytest.mark.parametrize("shape", ["github", "sarif", "rdjsonl", "junit", "markdown"])
    def test_is_what_a_check_says_of_the_same_findings(self, root, shape):
        review_pairs(root, ("b.md", "prose/x"), review=WARN)

        queue = run("warn_selector", "--format", shape)
        checked = run("review_check", "prose/x", "--note", NOTE_B, "--format", shape)

        assert (queue.exit, queue.out) == (0, checked.out)

    def test_reviews_that_need_a_look_have_none(self, root):
        assert run("warn_selector", "--needs-a-look", "--format", "sarif").exit == 2
