"""`review_gate_seed`: prompts, drafts, and edits that need no model."""

from __future__ import annotations

import pytest

from review.knowledge_base import Corpus
from review.knowledge_base.gate_definition import RULE_NAMES
from review.trials.results import _FAULTS
from review.vocabulary import CaseOrigin, Expectation
from tests.builders import make_config, make_gate, make_root
from tests.helpers.commands import run

TEXT = (
    "---\ntitle: Of the cache\ndescription: Says which entries the cache keeps and why\n---\n\n"
    "# Of the cache\n\nThe cache keeps the entries that were read last. It has a limit of ten"
    " megabytes, which we measured to be enough for a day of work by one person.\n"
)
NOTE = "kb/notes/a.md"


@pytest.fixture
def root(tmp_path, monkeypatch):
    gates = {f"rules/{name}": make_gate(f"rules/{name}", rule=name) for name in _FAULTS}
    make_root(tmp_path, notes={"a.md": TEXT}, gates={"prose/x": make_gate("prose/x"), **gates})
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return tmp_path


def seed(*args, gate="prose/x", **kwargs):
    return run("review_gate_seed", gate, "--note", NOTE, *args, "--json", **kwargs)


def kept(root, gate, text):
    """The case as the gate reads it, once its text stands in the folder."""
    folder = root / f"kb/instructions/review-gates/{gate}.cases"
    folder.mkdir()
    (folder / "new.md").write_text(text)
    corpus = Corpus(make_config(root))
    (case,) = corpus.cases(corpus.gates.resolve([gate])[0]).cases
    return case


def test_a_prompt_holds_gate_and_note_and_asks_for_one_small_edit(root):
    prompt = seed().json["prompt"]

    assert "A finding is a line that fails prose/x." in prompt
    assert TEXT in prompt
    assert "smallest edit" in prompt
    assert "begins with `=== NOTE END`" in prompt
    assert prompt.splitlines()[-1].startswith("=== NOTE END")


def test_an_answer_becomes_a_draft_that_a_person_has_yet_to_keep(root):
    edited = TEXT.replace("It has a limit", "It always has a limit")

    case = kept(root, "prose/x", seed("--answer", "-", stdin=edited).json["case"])

    assert case.text == edited
    assert (case.expect, case.origin, case.donor) == (Expectation.FLAG, CaseOrigin.SEED, NOTE)
    assert case.is_draft


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param("NONE: it has no claims", "it has no claims", id="none"),
        pytest.param(TEXT, "changes 0% of the words", id="same"),
        pytest.param("# Something else\n\nAltogether.\n", "a seed is a small edit", id="rewritten"),
    ],
)
def test_what_is_no_small_edit_makes_no_case(root, answer, said):
    done = seed("--answer", "-", stdin=answer)

    assert (done.exit, done.error["code"]) == (5, "no-seed")
    assert said in done.error["message"]


@pytest.mark.parametrize("rule", _FAULTS)
def test_the_fault_of_a_rule_needs_no_model(root, rule):
    case = seed(gate=f"rules/{rule}").json["case"]

    assert rule in RULE_NAMES
    assert kept(root, f"rules/{rule}", case).text.startswith(TEXT)
    tested = run("review_gate_test", f"rules/{rule}", "--rules", "--json").json
    assert tested["gates"][0]["cases"][0]["decisions"] != ["pass"]


def test_a_folder_of_gates_is_refused(root):
    assert seed(gate="rules").exit == 2
