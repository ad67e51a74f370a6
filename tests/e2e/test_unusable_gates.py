"""What a gate judged that is there and cannot be used now: the queue cannot show it, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import NOTE, PARTITION, make_gate, make_root, note_path
from tests.helpers.commands import run
from tests.helpers.queueing import queue
from tests.helpers.reviewed import FAIL, WARN, review_pairs

pytestmark = pytest.mark.django_db
X = "kb/instructions/review-gates/prose/x.md"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fail by `prose/x`, a warning by `prose/y`."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    gates = {gate: make_gate(gate) for gate in ("prose/x", "prose/y")}
    root = make_root(tmp_path, notes={"a.md": NOTE}, gates=gates)
    review_pairs(root, ("a.md", "prose/x"), review=FAIL)
    review_pairs(root, ("a.md", "prose/y"), review=WARN)
    return root


@pytest.fixture(
    params=[b"---\nnot: [closed\n---\n# X\n", b"a\n\xff\n", b""], ids=["yaml", "latin", "empty"]
)
def spoilt(request: pytest.FixtureRequest, root: Path) -> Path:
    (root / X).write_bytes(request.param)
    return root


def told(document: dict[str, object]) -> list[str]:
    return [problem["path"] for problem in document["problems"]]


def test_the_queue_names_the_gate_and_shows_the_others(spoilt):
    document = queue()

    assert [entry["gate_id"] for entry in document["entries"]] == ["prose/y"]
    assert told(document) == [X]
    assert X in run("warn_selector").err


def test_gates_that_nobody_asked_for_are_not_named(spoilt):
    assert told(queue("--gate", "prose/y")) == []
    assert told(queue("--gate", "prose/x")) == [X]


def test_the_page_names_it_as_the_command_does(spoilt, admin_client):
    for asked, args in (("", ()), ("&gate=prose/y", ("--gate", "prose/y")), ("&lens=prose", ())):
        assert admin_client.get(f"/queue/?format=json{asked}").json()["problems"] == queue(*args)["problems"]  # fmt: skip


def test_a_fail_that_cannot_be_shown_fails_a_build(spoilt):
    done = run("review_status", "--fail-on", "fail", "--json")

    assert done.exit == 6
    assert done.json["queue"] == {"warn": 1, "fail": 0}
    assert done.json["tripped"] == "fail: by gates that cannot be used: 1 fail"


def test_a_gate_that_is_gone_hides_nothing_that_counts(root):
    (root / X).unlink()

    assert told(queue()) == []
    assert run("review_status", "--fail-on", "fail").exit == 0


def test_a_note_that_was_overridden_since_counts_no_more(spoilt):
    override = ("--model", PARTITION, note_path("a.md"), "prose/x", "--reason", "read it", "--actor", "human:ana")  # fmt: skip
    (spoilt / X).write_text(make_gate("prose/x"))
    done = run("override_acceptance", *override)
    assert done.exit == 0, done.err
    (spoilt / X).write_bytes(b"")

    assert run("review_status", "--fail-on", "fail").exit == 0
