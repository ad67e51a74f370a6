"""Findings that quote the same words, from the worker's output to the queue and the next review."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance.accept import rebuild_finding_states
from review.models import Finding
from tests.builders import NOW, make_gate, make_root, note_path, write_gate, write_note
from tests.helpers.commands import run
from tests.helpers.reviewed import review_pairs

pytestmark = pytest.mark.django_db
TBD = "- WARN: this was never filled in\n  > TBD\n"
HEADINGS = ("Costs", "Risks", "Owners")


def note_of(*headings: str) -> str:
    return "# Plan\n\nA plan.\n\n" + "".join(f"## {name}\n\nTBD\n\n" for name in headings)


def review_of(findings: str) -> str:
    return f"### Findings\n{findings}\n## Result: WARN"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    root = make_root(tmp_path, notes={"a.md": note_of(*HEADINGS)})
    review_pairs(root, ("a.md", "prose/x"), review=review_of(TBD * 3))
    return root


def queue() -> dict[str, int]:
    """Fingerprints of the open findings, with their line today."""
    entries = run("warn_selector", "--json").json["entries"]
    return {
        finding["fingerprint"]: finding["line_now"]
        for entry in entries
        for finding in entry["findings"]
    }


def test_are_three_and_rejecting_one_leaves_the_others(root):
    first, second, third = queue()

    assert run("dispose_finding", second, "--as", "rejected", "--reason", "meant so").exit == 0

    assert queue() == {first: 7, third: 15}


def test_keep_what_was_decided_when_another_is_inserted_above(root):
    first, second, third = queue()
    run("dispose_finding", second, "--as", "rejected", "--reason", "meant so")
    write_note(root, "a.md", note_of("Aims", *HEADINGS))
    assert queue() == {first: 11, third: 19}

    review_pairs(root, ("a.md", "prose/x"), review=review_of(TBD * 4), now=NOW + timedelta(hours=1))

    open_now = queue()
    assert list(open_now.values()) == [7, 11, 19]
    assert {first, third} < set(open_now)
    assert second not in open_now


def test_of_an_older_store_are_told_apart_by_the_next_review(root):
    shared = Finding.objects.order_by("pk").first().fingerprint
    Finding.objects.update(fingerprint=shared)
    rebuild_finding_states()
    run("dispose_finding", shared, "--as", "rejected", "--reason", "meant so")
    assert queue() == {}
    write_gate(root, "prose/x", make_gate("prose/x", body="Another question.\n"))

    review_pairs(root, ("a.md", "prose/x"), review=review_of(TBD * 3), now=NOW + timedelta(hours=1))

    assert sorted(queue().values()) == [11, 15]


def test_carried_over_keep_their_decisions(root):
    _first, second, _third = queue()
    run("dispose_finding", second, "--as", "rejected", "--reason", "meant so")
    (root / note_path("a.md")).rename(root / note_path("b.md"))

    carried = run("carry_over_acceptances", note_path("a.md"), note_path("b.md"), "--json")

    assert carried.json["carried"][0]["dispositions"] == 1
    assert list(queue().values()) == [7, 15]

    review_pairs(root, ("b.md", "prose/x"), review=review_of(TBD * 3), now=NOW + timedelta(hours=1))
    assert list(queue().values()) == [7, 15]


def test_graver_ones_are_new(root):
    for mark in queue():
        run("dispose_finding", mark, "--as", "rejected", "--reason", "meant so")

    review_pairs(
        root,
        ("a.md", "prose/x"),
        review=f"### Findings\n{TBD.replace('WARN', 'FAIL') * 3}\n## Result: FAIL",
        now=NOW + timedelta(hours=1),
    )

    assert list(queue().values()) == [7, 11, 15]
