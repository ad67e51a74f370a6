"""Contracts: files whose section `Review` is a gate for the notes of a type, or of a folder."""

from __future__ import annotations

import json

import pytest

from tests.builders import NOTE, PARTITION, make_gate, make_root, note_path, write_note
from tests.helpers.commands import run

pytestmark = pytest.mark.django_db
TYPE = "# Concept\n\n{more}\n\n## Review\n\nA finding is a claim without a source.\n\n## See\n\nOther.\n"
FOLDER = "# Guides\n\n## Review\n\nA finding is a step that cannot be carried out.\n"
GUIDE = "kb/notes/guides/c.md"
IDS = ["collection/notes/guides", "type/concept"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    root = make_root(
        tmp_path,
        notes={
            "a.md": f"---\ntype: kb/types/concept.md\n---\n{NOTE}",
            "b.md": NOTE,
            GUIDE: NOTE,
        },
        gates={"prose/x": make_gate("prose/x")},
        settings='[notes]\nexcludes = ["COLLECTION.md"]\n\n'
        '[gates]\ncontracts = ["kb/types/*.md", "kb/**/COLLECTION.md"]\n',
    )
    write_note(root, "kb/types/concept.md", TYPE.format(more="A concept is a thought."))
    write_note(root, "kb/types/plain.md", "# Plain\n\nNo section.\n")
    write_note(root, "kb/notes/guides/COLLECTION.md", FOLDER)
    return root


def stale():
    selected = run("review_target_selector", "type", "collection", "--model", PARTITION, "--json")
    return {
        (item["note_path"], item["gate_id"]): item["reasons"] for item in selected.json["targets"]
    }


def take(gates):
    taken = run("next_review_job", gates, "--model", PARTITION, "--runner", "x", "--json")
    return taken.json["jobs"][0]


def test_each_is_a_gate_for_its_notes_alone(root):
    assert stale() == {
        (note_path("a.md"), "type/concept"): ["missing-review"],
        (GUIDE, "collection/notes/guides"): ["missing-review"],
    }


def test_the_section_is_what_is_read_and_what_makes_reviews_stale(root):
    prompt = take("type/concept")["prompt"]
    assert "A finding is a claim without a source." in prompt
    assert "A concept is a thought." not in prompt
    job = take("collection")["review_job_id"]
    block = {"ordinal": 1, "decision": "warn", "summary": "A step is missing."}
    run(
        "ingest_bundle_output",
        "--review-job-id",
        job,
        "--typed-json",
        "-",
        stdin=json.dumps([block]),
    )
    (entry,) = run("warn_selector", "--json").json["entries"]
    assert (entry["note_path"], entry["gate_id"]) == (GUIDE, IDS[0])

    contract = root / "kb/notes/guides/COLLECTION.md"
    contract.write_text(FOLDER.replace("# Guides", "# All guides"))
    assert (GUIDE, IDS[0]) not in stale()
    contract.write_text(FOLDER.replace("cannot", "can not"))
    assert stale()[GUIDE, IDS[0]] == ["gate-changed"]


def test_one_that_cannot_be_read_is_named_and_the_others_are_used(root):
    (root / "kb/types/broken.md").write_bytes(b"# \xff\n\n## Review\n\nx\n")

    answer = run("resolve_gates", "--json").json

    assert {gate["gate_id"] for gate in answer["gates"]} == {"prose/x", *IDS}
    assert [(item["path"], item["code"]) for item in answer["problems"]] == [
        ("kb/types/broken.md", "invalid-gate")
    ]


@pytest.mark.parametrize("pattern", ["/etc/*.md", "../*.md", "kb/types"])
def test_a_pattern_that_leads_out_of_the_root_is_refused(root, pattern):
    (root / "kb/review.toml").write_text(f'[gates]\ncontracts = ["{pattern}"]\n')

    refused = run("resolve_gates")

    assert refused.exit == 5
    assert "contracts" in refused.err
