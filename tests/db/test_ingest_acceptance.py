"""Ingest and acceptance: whose review counts, and of which text."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.jobs.claim import ClaimRequest, claim
from review.jobs.provenance import PartitionMismatch, ProvenanceDisagrees
from review.models import (
    Acceptance,
    CurrentAcceptance,
    FileSnapshot,
    Provenance,
    ReviewJob,
    ReviewText,
)
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    PASS,
    make_config,
    make_jobs,
    make_output,
    make_root,
    write_note,
)
from tests.db.test_finalization import LATER, WARN, ingest, job, root

__all__ = ["job", "root"]

pytestmark = pytest.mark.django_db


class TestProvenance:
    def test_flags_on_a_never_claimed_job_claim_it_in_the_same_step(self, root, job):
        ingest(root, job, provenance=Provenance("codex", PARTITION))

        row = ReviewJob.objects.get()
        assert (row.runner, row.runner_model, row.runner_effort) == ("codex", PARTITION, None)
        assert (row.started_at, row.claimed_by) == (LATER, "agent:test")

    def test_without_flags_provenance_stays_unknown(self, root, job):
        ingest(root, job)

        row = ReviewJob.objects.get()
        assert (row.runner, row.runner_model, row.started_at) == (None, None, None)

    def test_flags_of_another_model_are_refused(self, root, job):
        with pytest.raises(PartitionMismatch):
            ingest(root, job, provenance=Provenance("codex", "gpt-5"))

        assert ReviewJob.objects.get().status == "queued"

    def test_flags_that_contradict_the_claim_are_refused(self, root, job):
        request = ClaimRequest(
            actor="agent:test", provenance=Provenance("claude-code"), job_id=job.review_job_id
        )
        claim(request, config=make_config(root), now=NOW)

        with pytest.raises(ProvenanceDisagrees, match="claude-code"):
            ingest(root, job, provenance=Provenance("codex"))

    def test_a_flag_that_the_claim_left_out_is_refused_in_words(self, root, job):
        request = ClaimRequest(
            actor="agent:test", provenance=Provenance("claude-code"), job_id=job.review_job_id
        )
        claim(request, config=make_config(root), now=NOW)

        with pytest.raises(ProvenanceDisagrees, match="claimed without --runner-model, not with"):
            ingest(root, job, provenance=Provenance("claude-code", PARTITION))

    def test_telemetry_of_another_model_keeps_the_pairs_as_evidence(self, root, job):
        result = ingest(root, job, telemetry={"modelUsage": {"claude-haiku-4-5": {}}})

        assert (result.status, result.failure_code) == ("failed", "partition-mismatch")
        assert {pair.not_accepted_because for pair in result.pairs} == {"partition-mismatch"}
        assert ReviewText.objects.count() == 3
        assert not CurrentAcceptance.objects.exists()

    def test_a_helper_model_beside_the_right_one_is_allowed(self, root, job):
        usage = {"claude-haiku-4-5": {}, "claude-opus-4-6-20260115": {}}

        assert ingest(root, job, telemetry={"modelUsage": usage}).status == "completed"

    def test_a_self_report_of_another_model_is_a_problem_not_a_refusal(self, root, job):
        raw = b"self-reported-model: gpt-5\n" + make_output(job.review_job_id)

        result = ingest(root, job, raw=raw)

        assert result.status == "completed"
        assert result.self_reported_model == "gpt-5"
        assert any("gpt-5" in problem for problem in result.problems)
        folder = (root / ReviewJob.objects.get().prompt_path).parent
        files = [path.read_text() for path in folder.glob("*.md") if "prose" in path.name]
        assert files
        assert all('\nself_reported_model: "gpt-5"\n' in text for text in files)


class TestSuperseded:
    def test_a_review_of_older_text_does_not_move_a_later_acceptance(self, root, job):
        write_note(root, "a.md", NOTE + "\nMore.\n")
        newer = make_jobs(root, ("a.md", "prose/x"), now=LATER, force=True)[0]
        ingest(root, newer, WARN, now=LATER)

        result = ingest(root, job, PASS, now=LATER + timedelta(minutes=1))

        assert result.pairs[0].not_accepted_because == "superseded"
        assert result.pairs[1].accepted
        current = CurrentAcceptance.objects.get(gate__path__endswith="prose/x.md")
        assert current.decision == "warn"

    def test_two_reviews_of_the_same_text_are_both_accepted(self, root, job):
        newer = make_jobs(root, ("a.md", "prose/x"), now=LATER, force=True)[0]
        ingest(root, newer, WARN, now=LATER)

        result = ingest(root, job, PASS, now=LATER + timedelta(minutes=1))

        assert result.pairs[0].accepted
        assert Acceptance.objects.filter(gate__path__endswith="prose/x.md").count() == 2


class TestFilesInTheWay:
    def test_a_folder_at_the_result_path_costs_the_file_not_the_review(self, root, job):
        first = ingest(root, job, only=(1,)).pairs[0]
        (root / first.result_path).unlink()
        folder = root / job.prompt_path.replace("prompt.md", "")
        for ordinal in (2, 3):
            name = first.result_path.rpartition("/")[2].replace("pair-1", f"pair-{ordinal}")
            (folder / name.replace("prose-x", "prose-y")).mkdir(exist_ok=True)

        result = ingest(root, job)

        assert result.status == "completed"

    def test_a_note_name_of_250_bytes_can_be_finalized(self, tmp_path):
        root = make_root(tmp_path, notes={"n" * 247 + ".md": NOTE})
        job = make_jobs(root, ("n" * 247 + ".md", "prose/x"))[0]

        result = ingest(root, job)

        assert result.status == "completed"
        assert (root / result.pairs[0].result_path).exists()
        assert not result.problems


class TestSnapshots:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"# A\r\n\r\nText\r\n", id="crlf"),
            pytest.param(b"\xef\xbb\xbf# A\n", id="bom"),
            pytest.param(b"# A\nno newline", id="no-final-newline"),
            pytest.param("# Ä 日本 🎉\u2028\n".encode(), id="unicode"),
            pytest.param(b"# A\rlone\rreturns", id="lone-carriage-returns"),
        ],
    )
    def test_text_survives_a_round_trip_byte_for_byte(self, tmp_path, data):
        root = make_root(tmp_path, notes={"a.md": data})
        make_jobs(root, ("a.md", "prose/x"))

        kept = FileSnapshot.objects.get(path__path="kb/notes/a.md")

        assert kept.text.encode() == data
        assert kept.byte_size == len(data)
