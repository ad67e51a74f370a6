"""Names that are typed wrong are said, where an empty answer would look like a good one."""

from __future__ import annotations

import pytest

from tests.builders import PARTITION, make_gate, make_root, note_path, write_note
from tests.helpers.checking import commit_all, two_notes
from tests.helpers.commands import run
from tests.helpers.reviewed import WARN, review_pairs

pytestmark = pytest.mark.django_db
TYPO = "claude-opus-46"
RULES = ("review_sweep", "--all-gates", "--rules-only", "--runner", "rules", "--model", "rules")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("warn_selector", "--model", TYPO),
        ("warn_selector", "--confirmed-by", TYPO),
        ("review_status", "--model", TYPO, "--fail-on", "fail"),
        ("review_calibration", "--model", TYPO),
        ("review_check", "--model", TYPO),
    ],
    ids=" ".join,
)
def test_an_unknown_model_partition_is_named_with_a_near_one(root, command):
    make_root(root, notes={"a.md": "# A\n\nText.\n"}, gates={"prose/x": make_gate()})
    review_pairs(root, ("a.md", "prose/x"), review=WARN)

    told = run(*command).err

    assert f"no job or review is of model partition '{TYPO}'; did you mean {PARTITION}?" in told


@pytest.mark.parametrize("gates", ["prose", "prose/x"])
def test_gates_behind_the_notes_of_the_queue_are_called_gates(root, gates):
    two_notes(root)

    refused = run("warn_selector", "--note", note_path("a.md"), gates, "--json")

    assert (refused.exit, refused.error["code"]) == (5, "no-such-note")
    assert refused.error["hint"] == "it is the name of gates, which --note does not take"


def test_a_note_that_does_not_exist_is_refused_beside_since(root):
    two_notes(root)
    commit_all(root)

    refused = run("review_check", "--since", "HEAD", "--note", note_path("typo.md"))

    assert refused.exit == 5
    assert "typo.md" in refused.err


@pytest.mark.parametrize(
    "command", [("review_status",), ("review_check",), ("review_doctor",), (*RULES, "--dry-run")]
)
def test_gates_and_types_in_the_settings_that_do_not_exist_are_named(root, command):
    gates = {"prose/x": make_gate(), "prose/y": make_gate("prose/y", requires_type="idea")}
    make_root(root, notes={"a.md": "# A\n", "kb/types/adr.md": "# ADR\n"}, gates=gates)
    for folder in ("docs/adr", "docs/i", "docs/q"):
        (root / folder).mkdir(parents=True)
    types = '"docs/gone" = "kb/types/adr.md"\n"docs/[0-9]*" = "kb/types/adr.md"\n"docs/adr" = "kb/types/adr.md"\n"docs/i" = "kb/types/idea.md"\n"docs/q" = "kb/types/q"\n'
    muted = '"prose/x" = "noisy"\n"prose/nope" = "x"\n'
    (root / "kb/review.toml").write_text(f"[types]\n{types}[muted]\n{muted}")

    done = run(*command)

    told = [line for line in (done.out + done.err).splitlines() if "kb/review.toml" in line]
    assert len(told) == 3, told
    assert "names 'prose/nope', and no gate is called so" in told[0]
    assert "gives 'docs/q' the type 'kb/types/q', and there is no such type" in told[1]
    assert "names 'docs/gone', and there is no such folder" in told[2]


def test_a_text_that_a_rule_cannot_judge_is_tried_once_and_ends_no_build(root):
    gates = {
        "frontmatter/description-length": make_gate(rule="description-length"),
        "frontmatter/readable": make_gate(rule="readable-frontmatter"),
    }
    make_root(root, notes={"a.md": "# A\n"}, gates=gates)
    write_note(root, "broken.md", "---\ntitle: [\n---\n\n# Broken\n")

    exits = {run(*RULES).exit for _ in range(5)}
    status = run("review_status", "--next", "--json").json

    assert exits == {0}
    assert "pairs that rules judge for free" not in {step["what"] for step in status["next_steps"]}
    assert status["needs_a_look"] == 0
    (entry,) = run("warn_selector", "--json").json["entries"]
    assert "cannot be read: did not find expected" in entry["findings"][0]["text"]
