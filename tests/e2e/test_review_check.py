"""`review_check` and the review lock: a maintainer's store and a clone without one say the same."""

from __future__ import annotations

import json

import pytest

from review.models import ReviewPair
from tests.builders import (
    NOTE,
    PARTITION,
    make_gate,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.checking import (
    MARKED,
    MODEL_GATES,
    TODO,
    check_clone,
    commit_all,
    git,
    judge_rules,
    lock,
    two_notes,
)
from tests.helpers.commands import run, run_process
from tests.helpers.reviewed import FAIL, WARN, review_pairs
from tests.helpers.triage import decide, review_of

pytestmark = pytest.mark.django_db
NOTE_A, NOTE_B = note_path("a.md"), note_path("b.md")
EVERY_PAIR = [(note, gate) for note in ("a.md", "b.md") for gate in MODEL_GATES]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return two_notes(tmp_path)


def check(*args):
    return run("review_check", *args, "--json")


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

    def test_warn_of_what_they_remark_on_where_their_gate_says_so(self, root):
        gate = make_gate("fm/described", rule="missing-description", severity="warn")
        write_gate(root, "fm/described", gate)
        found = check("fm/described", "--note", NOTE_B, "--fail-on", "warn")
        run("review_sweep", "fm/described", "--runner", "rules")

        assert ([item["severity"] for item in found.json["findings"]], found.exit) == (["warn"], 6)
        (entry,) = run("warn_selector", "--gate", "fm", "--note", NOTE_B, "--json").json["entries"]
        assert [item["severity"] for item in entry["findings"]] == ["warn"]

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

    def test_a_finding_of_an_acked_text_stands_where_its_quote_is(self, root):
        review_pairs(root, ("b.md", "prose/x"), review=WARN)
        write_note(root, "b.md", "Opening.\n\n" + NOTE)
        run("ack_gate_review", "--model", PARTITION, NOTE_B, "prose/x")
        (found,) = check("prose/x", "--note", NOTE_B).json["findings"]
        assert found["line"] == 5

        write_note(root, "b.md", "# Another\n\nAll is new.\n")
        run("dispose_finding", found["fingerprint"], "--as", "fixed")
        run("ack_gate_review", "--model", PARTITION, NOTE_B, "prose/x")
        run("dispose_finding", found["fingerprint"], "--as", "open")
        (found,) = check("prose/x", "--note", NOTE_B).json["findings"]
        assert found["line"] is None

    def test_a_muted_gate_is_left_out_until_it_is_named(self, root):
        review_pairs(root, ("b.md", "prose/x"), review=WARN)
        lock(root)
        (root / "kb/review.toml").write_text(f'[muted]\n"prose/x" = "y"\n"{TODO}" = "z"\n')

        done = check().json

        assert (done["findings"], done["notices"]) == ([], ["findings of muted gates, left out: 2"])
        assert [len(check(gate).json["findings"]) for gate in ("prose/x", TODO)] == [1, 1]

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
        done = run("export_reviews", "--format", "lock", "--json").json

        assert (done["written"], done["reviews"]) == (1, 4)
        assert lock(root) == first
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


def test_a_fork_is_checked_without_a_store(root, tmp_path_factory):
    """A pull request from a fork: its clone has the lock and nothing else."""
    review_pairs(root, *EVERY_PAIR, review=WARN)
    judge_rules()
    lock(root)
    commit_all(root)
    fork = tmp_path_factory.mktemp("fork") / "clone"
    git(root, "clone", "-q", str(root), str(fork))
    write_note(fork, "b.md", f"{NOTE}\nTODO: say more.\n")
    commit_all(fork)
    options = ("--since", "origin/main", "--new-only", "--fail-on", "warn")

    whole = run_process("review_check", "--json", root=fork)
    done = run_process("review_check", *options, "--format", "github", root=fork)

    assert [pair["note_path"] for pair in whole.json["stale"]] == [NOTE_B, NOTE_B]
    assert (done.exit, done.err) == (6, "")
    summary, warning, stale = done.out.splitlines()
    assert summary == (
        "::notice title=review_check::1 note by 3 gates: 0 fail, 1 warn, 0 info, 1 new,"
        " 2 known findings hidden, 2 stale pairs; tripped: warn: 1 warn, 0 fail"
    )
    assert warning.startswith(f"::warning file={NOTE_B},line=5,title={TODO} (new)::")
    assert stale == f"::notice file={NOTE_B},title=stale::stale pairs: 2 note-changed"
    assert not (fork / "kb/reports").exists()
