"""Selecting for the embedded reviewer, or for a model."""

from __future__ import annotations

import pytest

from tests.builders import make_gate, make_root, write_gate
from tests.helpers.commands import run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    gates = {
        "prose/placeholder-text": make_gate("prose/placeholder-text", rule="placeholder-text"),
        "prose/x": make_gate("prose/x"),
    }
    return make_root(tmp_path, gates=gates)


def gates(*options):
    done = run("review_target_selector", "--all-gates", "--model", "m", "--json", *options)
    return [target["gate_id"] for target in done.json["targets"]]


class TestRules:
    def test_are_selected_alone_or_left_out(self):
        assert gates() == ["prose/placeholder-text", "prose/x"]
        assert gates("--rules-only") == ["prose/placeholder-text"]
        assert gates("--skip-rules") == ["prose/x"]

    def test_cannot_be_both(self):
        options = ("--all-gates", "--rules-only", "--skip-rules")

        assert run("review_target_selector", *options).exit == 2


class TestRuleThatThereIsNot:
    """It is no work for the embedded reviewer, and nobody asked to pay a model for it."""

    @pytest.fixture(autouse=True)
    def _misspelt(self, root):
        write_gate(root, "prose/typo", make_gate("prose/typo", rule="placeholder-txt"))

    @pytest.mark.parametrize("option", ["--rules-only", "--skip-rules"])
    def test_is_left_out_and_named(self, option):
        done = run("review_target_selector", "--all-gates", "--model", "m", option, "--json")

        assert "prose/typo" not in [target["gate_id"] for target in done.json["targets"]]
        (problem,) = done.json["problems"]
        assert problem["path"] == "kb/instructions/review-gates/prose/typo.md"
        assert (problem["code"], problem["skipped"]) == ("unknown-rule", True)
        assert "placeholder-text" in problem["message"]

    def test_is_a_model_s_like_any_gate_when_all_are_asked_for(self):
        done = run("review_target_selector", "--all-gates", "--model", "m", "--json")

        assert "prose/typo" in [target["gate_id"] for target in done.json["targets"]]
        assert [problem["skipped"] for problem in done.json["problems"]] == [False]

    def test_gets_no_job_from_a_sweep_by_rules(self):
        done = run("review_sweep", "--all-gates", "--runner", "rules", "--model", "rules", "--json")

        assert done.exit == 0
        assert done.json["jobs"]["left-queued"] == 0
        assert (done.json["targets"], done.json["jobs"]["completed"]) == (1, 1)
        assert [(item["code"], item["skipped"]) for item in done.json["problems"]] == [
            ("unknown-rule", True)
        ]

    def test_is_named_by_a_sweep_for_people_and_by_the_doctor(self):
        swept = run("review_sweep", "--all-gates", "--runner", "rules", "--model", "rules")
        looked = run("review_doctor")
        glanced = run("review_doctor", "--quick")

        for said in (swept.err, looked.out, glanced.out):
            assert "names 'placeholder-txt', which is no rule" in said

    def test_is_not_listed_as_what_a_rule_judges(self):
        listed = {
            gate["gate_id"]: gate["rule"] for gate in run("resolve_gates", "--json").json["gates"]
        }

        assert listed["prose/typo"] is None
        assert listed["prose/placeholder-text"] == "placeholder-text"


class TestSummary:
    def test_stands_on_stderr_for_people(self):
        done = run("review_target_selector", "--all-gates", "--model", "m")

        assert done.err == "2 stale, 0 fresh, 0 in open jobs\n"

    def test_is_silent_when_asked(self):
        assert run("review_target_selector", "--all-gates", "--model", "m", "-q").err == ""

    def test_the_document_ends_in_one_newline(self):
        done = run("review_target_selector", "--all-gates", "--json")

        assert done.out.endswith("}\n")
        assert not done.out.endswith("\n\n")


class TestPartition:
    @pytest.mark.parametrize("name", ["Claude-Opus-4.6", "anthropic/claude-opus-4-6-20260115"])
    def test_a_model_s_name_stands_for_its_partition(self, name):
        done = run("review_target_selector", "--all-gates", "--model", name, "--json")

        assert done.json["model_partition"] == "claude-opus-4-6"

    def test_a_name_that_makes_none_is_refused(self):
        done = run("review_target_selector", "--all-gates", "--model", "日本", "--json")

        assert (done.exit, done.error["code"]) == (5, "model-name-refused")


class TestReason:
    def test_a_gate_may_follow_the_reasons(self):
        done = run(
            "review_target_selector",
            "--reason",
            "gate-changed",
            "missing-review",
            "prose/x",
            "--model",
            "m",
            "--json",
        )

        assert [target["gate_id"] for target in done.json["targets"]] == ["prose/x"]

    def test_a_reason_that_there_is_not_is_refused(self):
        done = run("review_target_selector", "--all-gates", "--model", "m", "--reason", "moved")

        assert done.exit == 2
        assert "invalid choice" in done.err
