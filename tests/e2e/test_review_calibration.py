"""`review_calibration`, against what one counts by hand from the files and one's own notes."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from itertools import product

import pytest

from tests.builders import NOW, make_gate, make_root, write_gate, write_note
from tests.helpers.commands import run
from tests.helpers.reviewed import PASS, review_pairs

pytestmark = pytest.mark.django_db
GATES = ("prose/x", "prose/y", "semantic/z")
PARTITIONS = ("strong", "cheap")
NOTES = 14
# One finding of each partition, so unlike the other's that nobody takes them for the same.
CLAIMS = {"strong": "no source is named for it", "cheap": "much too long, split the sentence up"}
LATER = timedelta(hours=1)
SENTENCE = "Sentence {} of the note claims a thing."


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    notes = {
        f"n{i:02}.md": f"# Note {i}\n\n"
        + "".join(f"{SENTENCE.format(gate)}\n" for gate in (*GATES, *CLAIMS))
        for i in range(NOTES)
    }
    return make_root(tmp_path, notes=notes, gates={gate: make_gate(gate) for gate in GATES})


def warn(gate: str, *, model: str = "") -> str:
    """A review with one finding."""
    said = CLAIMS.get(model, f"{gate} is not sourced")
    return f"### Findings\n- WARN: {said}\n  > {SENTENCE.format(model or gate)}\n\n## Result: WARN"


def flags(model: str, gate: str, note: int) -> bool:
    """Both flag every second note; the cheap model flags some others too."""
    return note % 2 == 0 or (model == "cheap" and (note + len(gate)) % 3 == 0)


def review_all(root) -> None:
    for model in PARTITIONS:
        for gate in GATES:
            for note in range(NOTES):
                review = warn(gate, model=model) if flags(model, gate, note) else PASS
                review_pairs(root, (f"n{note:02}.md", gate), review=review, model_partition=model)


def dispose(mark: str, state: str, actor: str) -> None:
    result = run(
        "dispose_finding", mark, "--as", state, "--reason", "r", "--actor", actor, now=NOW + LATER
    )
    assert result.exit == 0, result.err


def findings(model: str) -> list[dict]:
    """What the queue lists of a partition, with the gate of each."""
    entries = run("warn_selector", "--model", model, "--json").json["entries"]
    return [
        {"gate": entry["gate_id"], "mark": finding["fingerprint"]}
        for entry in entries
        for finding in entry["findings"]
    ]


def record(document, gate: str, model: str) -> dict:
    (found,) = [
        row
        for row in document["gates"]
        if (row["gate_id"], row["model_partition"]) == (gate, model) and row["is_now"]
    ]
    return found


def label_all() -> dict[str, Counter[tuple[str, str, str]]]:
    """Decide about every finding, and note by hand what people and agents said last."""
    said: dict[str, Counter[tuple[str, str, str]]] = {"people": Counter(), "agents": Counter()}
    for model in PARTITIONS:
        for number, finding in enumerate(findings(model)):
            gate, mark = finding["gate"], finding["mark"]
            state = ("fixed", "rejected", "rejected", "deferred")[number % 4]
            if number % 5 == 0:  # a person changes their mind
                dispose(mark, "fixed" if state == "rejected" else "rejected", "human:bo")
            dispose(mark, state, "human:ana")
            said["people"][gate, model, state] += 1
            if number % 3 == 0:
                dispose(mark, "fixed", "agent:x" if number % 2 else "unnamed:root")
                said["agents"][gate, model, "fixed"] += 1
    return said


def count_files(root) -> Counter[tuple[str, str, str]]:
    """Count the result lines of all reviews, by gate, partition and decision."""
    decided: Counter[tuple[str, str, str]] = Counter()
    for job in (root / "kb/reports/bundle-reviews").iterdir():
        manifest = (job / "MANIFEST.json").read_text()
        model = re.search(r'"model_partition": "(\w+)"', manifest)[1]
        gate = re.search(r'"gate_id": "([\w/]+)"', manifest)[1]
        for result in job.glob("pair-*.md"):
            decided[gate, model, re.search(r"## Result: (\w+)", result.read_text())[1]] += 1
    return decided


class TestFigures:
    def test_are_those_counted_by_hand(self, root):
        review_all(root)
        said = label_all()
        decided = count_files(root)

        document = run("review_calibration", "--agreement", "--json").json

        assert said["people"].total() >= 48
        tables = {(table["of"], table["name"]): table for table in document["agreement"]}
        for gate, model in product(GATES, PARTITIONS):
            row, warned = record(document, gate, model), decided[gate, model, "WARN"]
            for name, counted in said.items():
                fixed = counted[gate, model, "fixed"]
                assert row[name]["k"] == fixed
                assert row[name]["n"] == fixed + counted[gate, model, "rejected"]
            assert row["findings"] == warned
            assert row["decisions"] == {
                "pass": decided[gate, model, "PASS"], "warn": warned, "fail": 0,
            }  # fmt: skip
            table = tables["gate", gate]
            assert table["partitions"] == ["cheap", "strong"]
            assert table["both_flag"] == NOTES // 2
            assert table["only_first"] == decided[gate, "cheap", "WARN"] - NOTES // 2
            assert table["only_second"] == 0
        (strong,) = [row for row in document["partitions"] if row["name"] == "strong"]
        assert strong["people"]["k"] == sum(
            said["people"][gate, "strong", "fixed"] for gate in GATES
        )
        assert tables["partition", None]["both_flag"] == 3 * NOTES // 2
        assert tables["partition", None]["stricter"] == "cheap"

    def test_a_new_text_starts_anew_and_borrows_from_the_old_one(self, root):
        for note in range(NOTES):
            review_pairs(root, (f"n{note:02}.md", "prose/x"), review=warn("a"))
        marks = findings("claude-opus-4-6")
        for number, finding in enumerate(marks):
            dispose(finding["mark"], "rejected" if number < 12 else "fixed", "human:ana")
        write_gate(root, "prose/x", make_gate("prose/x", body="Ask for less.\n"))
        review_pairs(root, ("n00.md", "prose/x"), review=PASS, now=NOW + 2 * LATER)

        document = run("review_calibration", "prose/x", "--agreement", "--json").json
        new, old = sorted(document["gates"], key=lambda row: not row["is_now"])

        assert (old["people"]["k"], old["people"]["n"]) == (2, 14)
        assert old["people"]["share"] == 0.1429
        assert (old["people"]["low"], old["people"]["high"]) == (0.0401, 0.3994)
        assert old["word"] == "noisy"
        assert (new["people"]["k"], new["word"]) == (0, "few")
        assert new["estimate"]["borrowed_from"] == "earlier-texts"
        assert new["estimate"]["weight"] == 10.0
        assert old["estimate"]["borrowed_from"] == "lens"
        # (4 × 2.5/15 + 2) / 18, by which the old text itself is drawn to its lens.
        assert new["estimate"]["precision"] == old["estimate"]["precision"] == 0.1481

    def test_a_finding_is_addressed_where_its_line_changed_and_nobody_repeats_it(self, root):
        for name in ("n00.md", "n01.md", "n02.md", "n03.md"):
            review_pairs(root, (name, "prose/x"), review=warn("prose/x"))
        told = SENTENCE.format("prose/x")
        text = f"# Note\n\n{told}\n"
        write_note(root, "n00.md", text.replace("claims", "shows"))  # addressed
        write_note(root, "n01.md", text.replace("claims", "shows"))  # changed, and repeated
        write_note(root, "n02.md", f"{text}\nMore.\n")  # its line is as it was
        for name, review in (("n00.md", PASS), ("n01.md", warn("prose/x")), ("n02.md", PASS)):
            review_pairs(root, (name, "prose/x"), review=review, now=NOW + LATER)

        row = record(run("review_calibration", "--json").json, "prose/x", "claude-opus-4-6")

        assert (row["addressed"]["k"], row["addressed"]["n"]) == (1, 3)
        assert row["decisions"] is None
        assert row["flips"] is None

    def test_a_repeat_that_decides_otherwise_is_a_flip(self, root):
        for name, reviews in (("n00.md", (PASS, warn("x"))), ("n01.md", (PASS, PASS))):
            for hour, review in enumerate(reviews):
                now = NOW + hour * LATER
                review_pairs(root, (name, "prose/x"), review=review, now=now)

        document = run("review_calibration", "--agreement", "--json").json
        row = record(document, "prose/x", "claude-opus-4-6")

        assert (row["flips"]["k"], row["flips"]["n"]) == (1, 2)
        assert document["agreement"] == []

    def test_three_partitions_have_an_alpha_beside_their_pairs(self, root):
        judged = {"cheap": "wp", "other": "wwp", "strong": "wpp"}
        for partition, words in judged.items():
            for note, word in enumerate(words):
                review = warn("x") if word == "w" else PASS
                name = (f"n{note:02}.md", "prose/x")
                review_pairs(root, name, review=review, model_partition=partition)

        rows = run("review_calibration", "--agreement", "--json").json["agreement"]

        # Flags and passes of the notes: 3 and 0, 1 and 2, 0 and 2.
        assert {(row["of"], row["alpha"]) for row in rows} == {
            ("gate", 0.5625), ("lens", None), ("partition", None),
        }  # fmt: skip


class TestPasses:
    def test_are_picked_for_a_person_whose_word_tells_what_the_gate_misses(self, root):
        for note in range(NOTES):
            review_pairs(
                root, (f"n{note:02}.md", "prose/x"), review=warn("x") if note < 2 else PASS
            )
        ask = ("review_calibration", "prose", "--passes", 4, "--json")

        first = run(*ask).json["passes_to_read"]
        assert run(*ask).json["passes_to_read"] == first
        for number, pair in enumerate(first):
            argv = ("--review-pair-id", pair, "--reason", "read", "--actor", "human:ana")
            run("set_decision", *argv, "--as", "pass" if number else "warn")
        document = run(*ask).json

        assert len(set(first) | set(document["passes_to_read"])) == 8
        row = record(document, "prose/x", "claude-opus-4-6")
        assert (row["missed"]["k"], row["missed"]["n"], row["missed"]["bound"]) == (1, 4, None)
        # What the person found is no finding of the gate.
        (own,) = [
            finding
            for entry in run("warn_selector", "--json").json["entries"]
            for finding in entry["findings"]
            if finding["of_whole_review"]
        ]
        dispose(own["fingerprint"], "fixed", "human:ana")
        row = record(run(*ask).json, "prose/x", "claude-opus-4-6")
        assert row["people"]["n"] == 0

    def test_without_a_miss_have_an_upper_bound(self, root):
        pairs = review_pairs(root, *((f"n{note:02}.md", "prose/x") for note in range(8)))
        for pair in pairs:
            argv = ("--review-pair-id", pair, "--reason", "read", "--actor", "human:ana")
            run("set_decision", *argv, "--as", "pass")

        done = run("review_calibration", "--passes", 1)

        assert "missed 0 of 8, at most 31 %" in done.out


def test_says_what_to_do_about_a_noisy_gate(root):
    for note in range(NOTES):
        review_pairs(root, (f"n{note:02}.md", "prose/x"), review=warn("a"))
    for finding in findings("claude-opus-4-6"):
        dispose(finding["mark"], "rejected", "human:ana")

    shown = run("review_calibration").out

    assert "precision 0 of 14 (noisy, 0 % to 22 %, at most 19 %)" in shown
    assert 'under [muted] in kb/review.toml: "prose/x" = "the reason"' in shown
    (root / "kb/review.toml").write_text('[muted]\n"prose/x" = "nobody wants it"\n')
    assert "muted: nobody wants it" in run("review_calibration").out
