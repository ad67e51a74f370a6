"""`render_review`: what a review said, on which text, and what became of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    gate_path,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN, ingest, review_pairs

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
NOTE_A = note_path("a.md")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "prose/y")},
    )


def render(*args):
    return run("render_review", *args, "--json").json


def one(*args):
    (review,) = render(*args)["reviews"]
    return review


def text_of(*args):
    done = run("render_review", *args)
    assert done.exit == 0, done.err
    return done.out


class TestOneReview:
    def test_has_decision_texts_findings_and_text(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)

        review = one("--review-pair-id", pair_id)

        assert (review["decision"], review["decision_source"]) == ("warn", "result-line")
        assert (review["note"]["now"], review["gate"]["now"]) == ("same", "same")
        assert review["is_current"] is True
        assert review["acceptance"]["kind"] == "full-review"
        assert review["findings"][0]["line"] == 3
        assert review["text"] == WARN

    def test_as_markdown_the_text_stands_in_a_fence_it_cannot_close(self, root):
        text = f"````\nx\n````\n\n# Review 99: forged\n\n{WARN}"
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=text)

        lines = text_of("--review-pair-id", pair_id).splitlines()

        assert lines[0] == f"# Review {pair_id}: {NOTE_A} by prose/x"
        start = lines.index("`````markdown")
        assert lines[start + 1 : -1] == text.split("\n")
        assert lines[-1] == "`````"

    def test_of_a_gate_that_reads_links_tells_what_was_opened(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", reads="links"))
        write_note(root, "a.md", "# A\n\nAs [b](b.md) shows, it holds.\n")
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        (root / job.prompt_path).rename(root / "prompt.md")
        assert run("review_doctor", "--repair").exit == 0
        said = "### Summary\nThe source says it.\n\nopened: kb/notes/b.md\n\n## Result: PASS"

        ingest(root, job.review_job_id, review=said)

        prompt = (root / "prompt.md").read_text()
        assert (root / job.prompt_path).read_text() == prompt
        assert "The gate prose/x needs linked notes." in prompt
        assert "- b.md -> kb/notes/b.md (1 kB)" in prompt
        review = one("--review-pair-id", job.pairs[0].review_pair_id)
        assert (review["decision"], review["findings"], review["text"]) == ("pass", [], said)

    def test_says_how_the_decision_was_read(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review="**Fail.** Six of ten.\n")

        assert "decision: FAIL (declared in the text" in text_of("--review-pair-id", pair_id)

    def test_says_what_the_parent_knew_and_labels_it(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        run(
            "claim_review_job", "--review-job-id", job.review_job_id, "--runner", "claude-code",
            "--runner-model", PARTITION, "--actor", "agent:harness", now=NOW,
        )  # fmt: skip
        run(
            "ingest_bundle_output", "--review-job-id", job.review_job_id, "--input-file", "-",
            stdin=make_output(job.review_job_id), now=NOW,
        )  # fmt: skip

        shown = text_of("--note", NOTE_A)

        assert (
            f"- provenance at dispatch, as the parent said: runner claude-code, model {PARTITION},"
            " by agent:harness" in shown
        )

    def test_a_model_that_the_output_names_is_a_claim_and_another_one_a_problem(self, root):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        run(
            "ingest_bundle_output", "--review-job-id", job.review_job_id, "--input-file", "-",
            stdin=b"self-reported-model: gpt-9\n" + make_output(job.review_job_id), now=NOW,
        )  # fmt: skip

        review = one("--note", NOTE_A)

        assert review["provenance"]["self_reported_model"] == "gpt-9"
        assert "another model" in review["provenance"]["claim_problem"]
        assert "**problem**" in text_of("--note", NOTE_A)

    @pytest.mark.parametrize(
        ("change", "note", "gate"),
        [
            pytest.param(lambda root: write_note(root, "a.md", "# New\n"), "changed", "same", id="n"),
            pytest.param(lambda root: (root / NOTE_A).unlink(), "gone", "same", id="note-gone"),
            pytest.param(
                lambda root: write_gate(root, "prose/x", make_gate(body="New.\n")),
                "same", "changed", id="gate",
            ),
            pytest.param(
                lambda root: (root / gate_path("prose/x")).unlink(), "same", "gone", id="gate-gone"
            ),
            pytest.param(
                lambda root: write_gate(root, "prose/x", b"\xff"), "same", "changed", id="gate-spoilt"
            ),
        ],
    )  # fmt: skip
    def test_says_what_became_of_the_files(self, root, change, note, gate):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)

        change(root)

        review = one("--note", NOTE_A, "--gate", "prose/x")
        assert (review["note"]["now"], review["gate"]["now"]) == (note, gate)
        assert review["text"] == WARN

    def test_a_persons_decision_comes_first_and_the_parsed_one_stays(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        run(
            "set_decision", "--review-pair-id", pair_id, "--as", "fail",
            "--reason", "it\nsays so", "--actor", "human:ana", now=NOW + HOUR,
        )  # fmt: skip

        review = one("--review-pair-id", pair_id)

        assert (review["decision"], review["parsed_decision"]) == ("fail", "unknown")
        assert [item["actor"] for item in review["person_decisions"]] == ["human:ana"]
        assert "FAIL, decided by human:ana" in text_of("--review-pair-id", pair_id)

    def test_one_that_was_not_accepted_says_why(self, root):
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        review = one("--review-pair-id", pair_id)

        assert review["not_accepted_because"] == "decision-unknown"
        assert review["acceptance"] is None
        assert "> **Not accepted**" in text_of("--review-pair-id", pair_id)

    def test_one_that_came_too_late_is_superseded(self, root):
        (late,) = make_jobs(root, ("a.md", "prose/x"), now=NOW)
        write_note(root, "a.md", NOTE + "\nMore.\n")
        (newer,) = make_jobs(root, ("a.md", "prose/x"), now=NOW + HOUR, force=True)
        ingest(root, newer.review_job_id, now=NOW + HOUR)
        run(
            "ingest_bundle_output", "--review-job-id", late.review_job_id, "--input-file", "-",
            stdin=make_output(late.review_job_id, WARN), now=NOW + 2 * HOUR,
        )  # fmt: skip
        late_pair = late.pairs[0].review_pair_id

        assert "> **Superseded**" in text_of("--review-pair-id", late_pair)
        assert one("--note", NOTE_A)["review_pair_id"] == newer.pairs[0].review_pair_id

    def test_an_earlier_one_names_the_later(self, root):
        (first,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        (second,) = review_pairs(root, ("a.md", "prose/x"), now=NOW + HOUR)

        review = one("--review-pair-id", first)

        assert review["later_review_pair_id"] == second
        assert review["is_current"] is False

    @pytest.mark.parametrize("state", ["pending", "unknown-id"])
    def test_a_pair_without_a_review_is_refused(self, root, state):
        (job,) = make_jobs(root, ("a.md", "prose/x"))
        pair_id = job.pairs[0].review_pair_id if state == "pending" else 4711

        done = run("render_review", "--review-pair-id", pair_id, "--json")

        assert done.exit == 5
        assert str(pair_id) in done.error["message"]


class TestOfANote:
    def test_gives_the_review_of_each_gate_and_partition(self, root):
        review_pairs(root, ("a.md", "prose/y"), review=WARN)
        review_pairs(root, ("a.md", "prose/x"))
        review_pairs(root, ("a.md", "prose/x"), review=FAIL, model_partition="a-model")

        found = [
            (review["gate_id"], review["model_partition"], review["decision"])
            for review in render("--note", NOTE_A)["reviews"]
        ]

        assert found == [
            ("prose/x", "a-model", "fail"),
            ("prose/x", PARTITION, "pass"),
            ("prose/y", PARTITION, "warn"),
        ]

    @pytest.mark.parametrize("gate", ["prose/x", gate_path("prose/x")], ids=["by-id", "by-path"])
    def test_can_be_narrowed(self, root, gate):
        review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        review_pairs(root, ("a.md", "prose/x"), model_partition="other")

        review = one("--note", NOTE_A, "--gate", gate, "--model", "other")

        assert (review["gate_id"], review["model_partition"]) == ("prose/x", "other")

    def test_the_one_that_counts_stands_even_if_a_later_one_has_no_decision(self, root):
        (first,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        (second,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED, now=NOW + HOUR)

        review = one("--note", NOTE_A)

        assert review["review_pair_id"] == first
        assert review["later_review_pair_id"] == second

    def test_an_override_without_any_review_is_told(self, root):
        run(
            "override_acceptance", "--model", PARTITION, NOTE_A, "prose/x",
            "--reason", "a quotation", "--actor", "human:ana", now=NOW,
        )  # fmt: skip

        found = render("--note", NOTE_A)

        assert found["reviews"] == []
        assert found["unreviewed"][0]["kind"] == "override"
        assert "human:ana" in text_of("--note", NOTE_A)

    def test_a_moved_note_shows_what_was_carried_over(self, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        (root / NOTE_A).rename(root / note_path("c.md"))
        run("carry_over_acceptances", NOTE_A, note_path("c.md"), now=NOW + HOUR)

        review = one("--note", note_path("c.md"))

        assert (review["note_path"], review["note"]["now"]) == (note_path("c.md"), "same")
        assert review["acceptance"]["kind"] == "carry-over"
        queued = run("warn_selector", "--json").json["entries"][0]["findings"][0]
        assert review["findings"][0]["fingerprint"] == queued["fingerprint"]

    @pytest.mark.parametrize(
        ("args", "near"),
        [
            pytest.param(["--note", "kb/notes/aa.md"], NOTE_A, id="note"),
            pytest.param(["--note", NOTE_A, "--gate", "prose/xx"], "prose/x", id="gate"),
            pytest.param(["--note", NOTE_A, "--model", "other"], PARTITION, id="partition"),
            pytest.param(["--note", note_path("b.md")], "review_target_selector", id="unreviewed"),
        ],
    )
    def test_what_there_is_no_review_of_is_refused_with_what_is_near(self, root, args, near):
        review_pairs(root, ("a.md", "prose/x"))

        done = run("render_review", *args, "--json")

        assert done.exit == 5
        assert done.error["code"] == "no-review"
        assert near in done.error["hint"] or args == ["--note", note_path("b.md")]

    @pytest.mark.parametrize(
        "args",
        [
            pytest.param([], id="nothing"),
            pytest.param(["--note", NOTE_A, "--review-pair-id", "1"], id="both"),
            pytest.param(["--review-pair-id", "1", "--gate", "prose/x"], id="gate-of-a-pair"),
        ],
    )
    def test_what_makes_no_sense_is_a_usage_error(self, root, args):
        assert run("render_review", *args).exit == 2
