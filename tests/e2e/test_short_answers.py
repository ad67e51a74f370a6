"""Listings in parts and in counts, and what is to be done next."""

from __future__ import annotations

import shlex
from importlib import import_module

import pytest

from commonplace_site.catalogue import PROGRAM
from tests.builders import (
    NOTE,
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
from tests.helpers.queueing import queue
from tests.helpers.reviewed import UNDECIDED, WARN, review_pairs

pytestmark = pytest.mark.django_db
# Sorted as paths, `prose/x-y.md` stands before `prose/x.md`.
GATES = ("prose/x", "prose/x-y", "links/z")
PAIRS = [(note, gate) for note in ("a.md", "b.md") for gate in GATES]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes=dict.fromkeys(("a.md", "b.md"), NOTE),
        gates={gate: make_gate(gate) for gate in GATES},
    )


def fingerprints():
    return [found["fingerprint"] for entry in queue()["entries"] for found in entry["findings"]]


LISTINGS = [
    pytest.param(("resolve_gates",), "gates", id="gates"),
    pytest.param(
        ("review_target_selector", "--all-gates", "--model", "new"), "targets", id="pairs"
    ),
    pytest.param(("review_job_list",), "jobs", id="jobs"),
    pytest.param(("warn_selector",), "entries", id="queue"),
    pytest.param(("warn_selector", "--needs-a-look"), "needs_a_look", id="looks"),
    pytest.param(("recover_review_jobs", "--action", "list"), "failed", id="recovery"),
]


@pytest.fixture
def filled(root):
    review_pairs(root, *PAIRS, review=WARN)
    review_pairs(root, *PAIRS, review=UNDECIDED, model_partition="other")
    for job in make_jobs(root, *PAIRS, force=True)[:3]:
        run("recover_review_jobs", job.review_job_id, "--action", "fail")
    return root


@pytest.mark.parametrize(("command", "name"), LISTINGS)
def test_parts_put_together_are_the_whole_and_a_summary_counts(command, name, filled):
    whole = run(*command, "--json").json
    parts, after = [], ()
    for _ in whole[name]:
        answer = run(*command, "--json", "--limit", "2", *after).json
        parts += answer[name]
        after = ("--after", answer["next"])
        if answer["next"] is None:
            break
    counted = run(*command, "--summary", "--json").json
    lines = run(*command, "--summary", "-q").out.splitlines()

    assert len(whole[name]) >= 3
    assert parts == whole[name]
    assert counted[name] == []
    assert all(sum(counts.values()) for counts in counted["summary"].values())
    assert len(lines) == len(counted["summary"]) <= 4


def test_a_cursor_can_be_typed_as_it_is_printed(root):
    for name in ("it's $HOME.md", "z.md"):
        write_note(root, name)
    review_pairs(root, ("it's $HOME.md", "prose/x"), ("z.md", "prose/x"), review=WARN)

    more = run("warn_selector", "--limit", "1").out.splitlines()[-1].removeprefix("more: ")

    (left,) = run("warn_selector", *shlex.split(more), "--json").json["entries"]
    assert left["note_path"] == note_path("z.md")


class TestNext:
    def steps(self, *options):
        return run("review_status", "--next", *options, "-q").out.splitlines()

    def test_says_each_thing_with_a_command_that_is_understood(self, filled):
        lines = self.steps()

        assert 3 <= len(lines) <= 15
        for line in lines:
            _program, name, *arguments = shlex.split(line[line.index(f"{PROGRAM} ") :])
            command = import_module(f"review.management.commands.{name}").Command()
            command.create_parser(PROGRAM, name).parse_args(arguments)

    def test_names_only_what_is_left_to_do(self, root):
        assert self.steps() == [
            "pairs that no model has reviewed, 6: commonplace next_review_job --all-gates"
            " --skip-rules --model MODEL --runner RUNNER"
        ]
        review_pairs(root, *PAIRS)
        assert self.steps() == [
            "nothing to do: every pair is fresh, the queue is empty, no job is open"
        ]

    def test_counts_what_the_command_beside_it_would_take(self, root):
        (root / gate_path("prose/x")).write_text(make_gate("prose/x", watches="[title]"))
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))
        (root / note_path("a.md")).write_text(NOTE.replace("basics", "limits"))
        (root / note_path("b.md")).write_text(f"{NOTE}Another claim.\n")
        take = f"next_review_job prose/x --model {PARTITION} --runner RUNNER"
        acks = f"ack_trivial_changes --model {PARTITION} --all-gates"
        watched = f"changed for {PARTITION}, in nothing that the gates watch"

        before = self.steps()
        acked = run(*acks.split(), "--json").json["acked"]
        after = self.steps()

        assert before == [
            f"{watched}, 1: commonplace {acks}",
            f"stale for {PARTITION}, 2: commonplace {take}",
        ]
        assert len(acked) == 1
        assert after == [f"stale for {PARTITION}, 1: commonplace {take}"]

    def test_names_no_gate_that_the_partition_is_not_meant_to_judge(self, root):
        write_gate(root, "prose/rule", make_gate("prose/rule", rule="bare-urls"))
        review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/x-y"))

        (step,) = [line for line in self.steps() if line.startswith("stale for")]

        names = f"prose/x-y prose/x --model {PARTITION}"
        assert (
            step == f"stale for {PARTITION}, 2: commonplace next_review_job {names} --runner RUNNER"
        )

    def test_a_pair_in_a_job_of_a_gate_that_is_not_named_is_not_taken_off(self, root):
        review_pairs(root, ("a.md", "prose/x"))
        make_jobs(root, ("a.md", "links/z"))

        (step,) = [line for line in self.steps() if line.startswith("stale for")]

        command = step.partition("commonplace next_review_job ")[2].partition(" --model")[0]
        selected = run("review_target_selector", *command.split(), "--model", PARTITION, "--json")
        assert f"stale for {PARTITION}, {len(selected.json['targets'])}:" in step

    def test_status_in_short_leaves_the_gates_out(self, filled):
        answer = run("review_status", "--summary", "--json").json

        assert answer["partitions"]
        assert all(part["gates"] == [] and part["applicable"] for part in answer["partitions"])


class TestDisposing:
    def test_takes_all_lines_of_an_answer_in_one_call(self, root):
        review_pairs(root, *PAIRS[:2], review=WARN)
        first, second = fingerprints()
        answer = f"{first}: fixed: done\n{second}: rejected: a setting needs no source\n"

        done = run("dispose_finding", "-", "--json", stdin=answer).json["findings"]

        assert [(item["disposition"], item["reason"]) for item in done] == [
            ("fixed", "done"),
            ("rejected", "a setting needs no source"),
        ]
        assert fingerprints() == []

    def test_records_nothing_where_one_of_them_is_unknown(self, root):
        review_pairs(root, *PAIRS[:2], review=WARN)
        first, _second = fingerprints()

        refused = run("dispose_finding", "-", stdin=f"{first}: fixed: a\n{'0' * 16}: fixed: b\n")

        assert refused.exit == 5
        assert len(fingerprints()) == 2

    @pytest.mark.parametrize("words", [("-", "--as", "fixed"), ("3f2a9c1b7d5e8046",)])
    def test_refuses_a_state_beside_lines_and_a_fingerprint_without_one(self, root, words):
        assert run("dispose_finding", *words).exit == 2


class TestAcrossLenses:
    def test_a_note_has_one_job_of_as_many_gates_as_the_setting_says(self, root):
        (root / "kb/review.toml").write_text("[prompt]\nmax_gates = 2\n")
        selection = run("review_target_selector", "--all-gates", "--model", PARTITION, "--json").out

        made = run("create_review_jobs", "--input", "-", "--grouping", "note", "--across-lenses",
                   "--json", stdin=selection).json  # fmt: skip

        assert [
            (job["lens"], job["pairs"][0]["note_path"], job["pair_count"]) for job in made["jobs"]
        ] == [
            ("links+prose", note_path("a.md"), 2),
            ("prose", note_path("a.md"), 1),
            ("links+prose", note_path("b.md"), 2),
            ("prose", note_path("b.md"), 1),
        ]
