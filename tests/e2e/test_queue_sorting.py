"""The queue sorted by what is known of gates, without muted ones, and confirmed by another model."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, make_gate, make_root, note_path
from tests.helpers.commands import run
from tests.helpers.queueing import dispose, entries, queue
from tests.helpers.reviewed import PASS, review_pairs

pytestmark = pytest.mark.django_db
GATES = ("prose/good", "prose/new", "prose/noisy")
LABELLED = 8
OPEN = "z.md"


def review(severity: str, text: str = "the claim has no source", quote: str = "A reader") -> str:
    return f"### Findings\n- {severity}: {text}\n  > {quote}\n\n## Result: {severity}"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Labels of three gates: one that is nearly always right, one without any, one that is noisy."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    notes = {name: f"# {name}\n\nA reader\n" for name in (*_labelled(), OPEN)}
    make_root(tmp_path, notes=notes, gates={gate: make_gate(gate) for gate in GATES})
    for gate, fixed in (("prose/good", LABELLED), ("prose/noisy", 0)):
        review_pairs(tmp_path, *((name, gate) for name in _labelled()), review=review("WARN"))
        for number, entry in enumerate(queue("--gate", gate)["entries"]):
            mark = entry["findings"][0]["fingerprint"]
            dispose(mark, "fixed" if number < fixed else "rejected")
    for gate, severity in zip(GATES, ("WARN", "WARN", "FAIL"), strict=True):
        review_pairs(tmp_path, (OPEN, gate), review=review(severity))
    return tmp_path


def _labelled() -> list[str]:
    return [f"n{number:02}.md" for number in range(LABELLED)]


def gates(*args: object) -> list[str]:
    return [gate for _note, gate in entries(*args)]


class TestSort:
    def test_by_priority_a_noisy_gate_sinks_and_says_why(self, root):
        listed = queue("--sort", "priority")["entries"]

        assert [entry["gate_id"] for entry in listed] == ["prose/good", "prose/new", "prose/noisy"]
        assert [entry["noisy"] for entry in listed] == [
            None, None, "noisy gate: 0 of 8 findings were right, at most 32%",
        ]  # fmt: skip
        assert "noisy gate: 0 of 8" in run("warn_selector", "--sort", "priority").out

    def test_by_priority_what_is_graver_and_older_comes_first(self, root):
        later = NOW + timedelta(days=9)
        for name, severity in (("n00.md", "FAIL"), ("n01.md", "WARN")):
            found = review(severity, "much too long, split the title up", f"# {name}")
            review_pairs(root, (name, "prose/good"), review=found, now=later)

        listed = run("warn_selector", "--sort", "priority", "--json", now=later).json["entries"]

        assert [(entry["note_path"], entry["gate_id"]) for entry in listed] == [
            (note_path("n00.md"), "prose/good"),
            (note_path(OPEN), "prose/good"),
            (note_path("n01.md"), "prose/good"),
            (note_path(OPEN), "prose/new"),
            (note_path(OPEN), "prose/noisy"),
        ]

    def test_by_labels_the_gate_known_least_comes_first_and_in_it_what_models_disagree_about(
        self, root
    ):
        review_pairs(root, ("n00.md", "prose/new"), review=review("WARN"))
        review_pairs(root, (OPEN, "prose/new"), review=PASS, model_partition="other")

        first, second, *_others = queue("--sort", "labels")["entries"]

        assert [first["gate_id"], second["gate_id"]] == ["prose/new", "prose/new"]
        assert (first["note_path"], first["later_pass_in"]) == (note_path(OPEN), ["other"])

    def test_pages_of_the_sorted_queue_go_on_where_they_ended(self, root, client, monkeypatch):
        from tests.helpers.people import make_operator

        client.force_login(make_operator())
        monkeypatch.setattr("review.web.pages.queue.LINES_A_DOCUMENT", 1)
        url, seen = "/queue/?sort=priority&format=json", []
        while url:
            document = client.get(url).json()
            seen += [entry["gate_id"] for entry in document["entries"]]
            url = document.get("next")

        assert seen == ["prose/good", "prose/new", "prose/noisy"]
        assert "noisy gate: 0 of 8" in client.get("/queue/?sort=priority").content.decode()


def test_a_muted_gate_is_in_no_queue_until_it_is_named(root):
    (root / "kb/review.toml").write_text('[muted]\n"prose/noisy" = "to be rewritten"\n')

    document = queue()

    assert "prose/noisy" not in {entry["gate_id"] for entry in document["entries"]}
    assert document["muted_findings"] == 1
    assert "findings of muted gates, left out: 1" in run("warn_selector").err
    assert gates("--gate", "prose/noisy") == ["prose/noisy"]


def test_a_mute_needs_a_reason(root):
    (root / "kb/review.toml").write_text('[muted]\n"prose/noisy" = " "\n')

    result = run("warn_selector")

    assert result.exit == 5
    assert "muted" in result.err


def test_only_what_another_partition_confirms(root):
    review_pairs(root, (OPEN, "prose/good"), review=review("WARN"), model_partition="strong")
    review_pairs(root, (OPEN, "prose/noisy"), review=PASS, model_partition="strong")
    mine = ("--model", "claude-opus-4-6")

    assert gates(*mine, "--confirmed-by", "strong") == ["prose/good"]
    assert gates(*mine, "--confirmed-by", "nobody") == []
