"""Ingest: what is stored, what is accepted, and what is refused before the first write."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.ingest import load
from review.ingest.ingest import ingest_job
from review.ingest.load import (
    IngestRequest,
    JobAlreadyCompleted,
    JobMoved,
    JobReplaced,
    NoBlocks,
    NoOutput,
    NothingMissing,
)
from review.jobs.board import UnknownJob
from review.models import (
    Acceptance,
    CurrentAcceptance,
    Finding,
    JobEvent,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewText,
)
from tests.builders import (
    NOTE,
    NOW,
    PASS,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    write_note,
)

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(minutes=5)
WARN = (
    "### Summary\nOne claim is bare.\n\n### Findings\n"
    "- WARN: the claim has no source\n  > A reader finds a note by its title\n\n## Result: WARN"
)
FAIL = "### Findings\n- FAIL: it contradicts itself\n\n## Result: FAIL"
NO_RESULT = "I looked at it and it seems fine to me overall."


@pytest.fixture
def root(tmp_path):
    gates = {name: make_gate(name) for name in ("prose/x", "prose/y", "prose/z")}
    return make_root(tmp_path, gates=gates)


@pytest.fixture
def job(root):
    return make_jobs(root, ("a.md", "prose/x"), ("a.md", "prose/y"), ("a.md", "prose/z"))[0]


def ingest(root, job, *reviews, only=(), now=LATER, raw=None, **request):
    data = make_output(job.review_job_id, *reviews, only=only) if raw is None else raw
    request = IngestRequest(actor="agent:test", output=data, **request)
    return ingest_job(job.review_job_id, request=request, config=make_config(root), now=now)


def decisions():
    return list(ReviewPair.objects.order_by("ordinal").values_list("status", "decision"))


class TestACompleteOutput:
    def test_completes_the_job_and_accepts_what_is_decided(self, root, job):
        result = ingest(root, job, PASS, WARN, FAIL)

        assert result.status == "completed"
        assert [pair.decision for pair in result.pairs] == ["pass", "warn", "fail"]
        assert [pair.accepted for pair in result.pairs] == [True, True, True]
        accepted = CurrentAcceptance.objects.order_by("gate__path").values_list(
            "decision", "event__kind", "event__text_read_at", "event__actor"
        )
        assert list(accepted) == [
            (decision, "full-review", NOW, "agent:test") for decision in ("pass", "warn", "fail")
        ]

    def test_pins_the_text_of_the_prompt_not_that_of_the_ingest(self, root, job):
        write_note(root, "a.md", "# Something else\n")

        ingest(root, job)

        pinned = CurrentAcceptance.objects.values_list("note_snapshot__text", flat=True)
        assert set(pinned) == {NOTE}

    def test_keeps_the_text_and_the_findings_with_quote_and_line(self, root, job):
        result = ingest(root, job, WARN, PASS)

        assert ReviewText.objects.get(pair__ordinal=1).text == WARN
        finding = Finding.objects.get()
        assert (finding.severity, finding.text) == ("warn", "the claim has no source")
        assert (finding.quote, finding.note_line) == ("A reader finds a note by its title", 3)
        assert result.pairs[0].findings[0].fingerprint == finding.fingerprint

    def test_keeps_two_quotes_apart_and_places_the_finding_at_the_first(self, root, job):
        quotes = "  > # Retrieval basics\n  > then by its links"

        ingest(root, job, f"### Findings\n- WARN: they differ\n{quotes}\n\n## Result: WARN", PASS)

        finding = Finding.objects.get()
        assert finding.quote == "# Retrieval basics … then by its links"
        assert finding.note_line == 1

    def test_writes_result_files_and_the_manifest(self, root, job):
        result = ingest(root, job, WARN, PASS)

        text = (root / result.pairs[0].result_path).read_text()
        assert text.startswith("---\nreview_pair_id: ")
        assert WARN in text
        manifest = (root / job.manifest_path).read_text()
        assert manifest.count('"pair_status": "completed"') == 3

    def test_keeps_the_given_input_as_the_job_s_own_byte_for_byte(self, root, job):
        raw = b"\xef\xbb\xbfnoise \xff\r\n" + make_output(job.review_job_id)

        ingest(root, job, raw=raw)

        assert (root / job.bundle_output_path).read_bytes() == raw

    def test_reads_the_job_s_own_file_by_default(self, root, job):
        (root / job.bundle_output_path).write_bytes(make_output(job.review_job_id))

        result = ingest_job(
            job.review_job_id,
            request=IngestRequest(actor="agent:test"),
            config=make_config(root),
            now=LATER,
        )

        assert result.status == "completed"

    def test_says_who_moved_the_job(self, root, job):
        ingest(root, job)

        event = JobEvent.objects.latest("pk")
        assert (event.from_status, event.to_status, event.actor, event.at) == (
            "queued",
            "completed",
            "agent:test",
            LATER,
        )

    def test_reports_the_same_finding_of_a_second_review_under_one_fingerprint(self, root, job):
        ingest(root, job, WARN, PASS)
        write_note(root, "a.md", NOTE + "\nOne sentence more.\n")
        again = make_jobs(root, ("a.md", "prose/x"), now=LATER)[0]

        ingest(root, again, WARN.replace("the claim has no source", "no source is given"))

        assert Finding.objects.values("fingerprint").distinct().count() == 1
        assert Finding.objects.count() == 2


class TestDecisionsThatDoNotAccept:
    @pytest.mark.parametrize(
        ("review", "decision", "why"),
        [
            pytest.param(NO_RESULT, "unknown", "decision-unknown", id="no-result-line"),
            pytest.param("No access.\n\n## Result: ERROR", "error", "decision-error", id="error"),
        ],
    )
    def test_complete_the_pair_and_keep_it_stale(self, root, job, review, decision, why):
        result = ingest(root, job, review, PASS)

        first = result.pairs[0]
        assert (first.pair_status, first.decision, first.accepted) == ("completed", decision, False)
        assert first.not_accepted_because == why
        assert ReviewText.objects.filter(pair__ordinal=1).exists()
        assert not CurrentAcceptance.objects.filter(gate__path__endswith="prose/x.md").exists()

    def test_findings_do_not_rewrite_a_decision(self, root, job):
        result = ingest(root, job, WARN.replace("Result: WARN", "Result: PASS"), PASS)

        assert result.pairs[0].decision == "pass"
        assert result.pairs[0].findings[0].severity == "warn"


class TestAnIncompleteOutput:
    def test_keeps_and_accepts_the_complete_pairs(self, root, job):
        result = ingest(root, job, only=(1, 3))

        assert (result.status, result.failure_code) == ("failed", "pairs-missing")
        assert "pair 2" in result.failure_reason
        problems = [None, "no block for this pair", None]
        assert [pair.problem for pair in result.pairs] == problems
        assert ReviewPair.objects.get(ordinal=2).problem == problems[1]
        assert decisions() == [("completed", "pass"), ("missing", ""), ("completed", "pass")]
        assert CurrentAcceptance.objects.count() == 2

    def test_keeps_the_raw_output_whole(self, root, job):
        raw = make_output(job.review_job_id, only=(1,)) + b"tail \xff without an end"

        ingest(root, job, raw=raw)

        assert bytes(JobOutput.objects.get().raw) == raw

    def test_a_later_ingest_takes_the_missing_pairs(self, root, job):
        ingest(root, job, only=(1, 3))

        result = ingest(root, job, WARN)

        assert result.status == "completed"
        assert result.failure_code is None
        assert [pair.problem for pair in result.pairs] == [None] * 3
        # The first and the third keep their first reading.
        assert decisions() == [("completed", "pass"), ("completed", "warn"), ("completed", "pass")]
        assert ReviewText.objects.count() == 3
        assert Acceptance.objects.count() == 3

    def test_a_later_output_that_judges_a_completed_pair_anew_is_told_not_taken(self, root, job):
        ingest(root, job, only=(1, 3))
        raw = make_output(job.review_job_id, FAIL, PASS)

        result = ingest(root, job, raw=raw)

        assert result.pairs[0].decision == "pass"
        assert any("pair 1" in problem and "fail" in problem for problem in result.problems)
        assert raw in [bytes(kept.raw) for kept in JobOutput.objects.all()]

    def test_the_same_text_again_is_no_problem(self, root, job):
        ingest(root, job, only=(1, 3))

        assert ingest(root, job).problems == []

    def test_all_or_nothing_completes_none_and_keeps_the_output(self, root, job):
        result = ingest(root, job, only=(1,), all_or_nothing=True)

        assert (result.status, result.failure_code) == ("failed", "all-or-nothing")
        assert decisions() == [("missing", "")] * 3
        assert "all or nothing" in result.pairs[0].problem
        assert result.pairs[1].problem == "no block for this pair"
        assert JobOutput.objects.count() == 1
        assert not Acceptance.objects.exists()

    def test_a_block_cut_off_in_the_middle_is_missing(self, root, job):
        raw = make_output(job.review_job_id)[:-40]

        result = ingest(root, job, raw=raw)

        assert [pair.pair_status for pair in result.pairs] == ["completed", "completed", "missing"]
        assert "unclosed: its START on line" in result.pairs[2].problem


class TestRefusals:
    @pytest.mark.parametrize(
        "raw",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b" \r\n\t\n", id="blank"),
            pytest.param(b"Sorry, I can't help with that.", id="apology"),
            pytest.param(b"## Result: PASS\n", id="a-result-without-a-block"),
        ],
    )
    def test_an_output_without_our_blocks_moves_nothing(self, root, job, raw):
        with pytest.raises((NoOutput, NoBlocks)):
            ingest(root, job, raw=raw)

        assert ReviewJob.objects.get().status == "queued"
        assert decisions() == [("pending", "")] * 3
        assert not JobOutput.objects.exists()

    def test_a_missing_file_is_named(self, root, job):
        with pytest.raises(NoOutput, match=r"bundle-output\.md"):
            ingest_job(
                job.review_job_id,
                request=IngestRequest(actor="agent:test"),
                config=make_config(root),
                now=LATER,
            )

    def test_another_job_s_output_is_named_with_its_job(self, root, job):
        write_note(root, "b.md")
        other = make_jobs(root, ("b.md", "prose/x"))[0]

        with pytest.raises(NoBlocks, match=f"of job {other.review_job_id}"):
            ingest(root, job, raw=make_output(other.review_job_id))

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            pytest.param(b"END", b"FIN", "START of pair 1 on line 1 is never closed", id="cut-off"),
            pytest.param(b"\n", b"\r", "line 1 .*a carriage return alone", id="carriage-returns"),
            pytest.param(
                b"=== PAIR REVIEW START",
                b"> === PAIR REVIEW START",
                "'>' stands ahead",
                id="quoted",
            ),
        ],
    )
    def test_an_output_that_comes_close_is_refused_with_its_line(self, root, job, old, new, why):
        raw = make_output(job.review_job_id, only=(1,)).replace(old, new)

        with pytest.raises(NoBlocks, match=why):
            ingest(root, job, raw=raw)

        assert ReviewJob.objects.get().status == "queued"

    def test_a_completed_job_takes_no_second_output(self, root, job):
        ingest(root, job)

        with pytest.raises(JobAlreadyCompleted) as refused:
            ingest(root, job, FAIL)

        assert set(decisions()) == {("completed", "pass")}
        first = ReviewPair.objects.get(ordinal=1)
        assert refused.value.hint.endswith(f"render_review --review-pair-id {first.pk}")

    def test_a_replaced_job_is_refused_with_its_replacement(self, root, job):
        write_note(root, "b.md")
        new = make_jobs(root, ("b.md", "prose/x"))[0]
        ReviewJob.objects.filter(pk=job.review_job_id).update(
            status="failed", completed_at=NOW, failure_code="replaced", failure_reason="by hand"
        )
        ReviewJob.objects.filter(pk=new.review_job_id).update(replaces=job.review_job_id)

        with pytest.raises(JobReplaced, match=f"job {new.review_job_id}"):
            ingest(root, job)

    def test_an_unknown_job_is_refused(self, root, job):
        with pytest.raises(UnknownJob):
            ingest_job(99, request=IngestRequest(actor="a"), config=make_config(root), now=LATER)

    def test_a_job_moved_in_the_meantime_loses_nothing(self, root, job, monkeypatch):
        data = make_output(job.review_job_id)
        judged = load.make_reviews

        def slow(*args, **kwargs):
            ingest_again = IngestRequest(actor="agent:first", output=data)
            monkeypatch.setattr(load, "make_reviews", judged)
            ingest_job(job.review_job_id, request=ingest_again, config=make_config(root), now=LATER)
            return judged(*args, **kwargs)

        monkeypatch.setattr(load, "make_reviews", slow)

        with pytest.raises(JobMoved):
            ingest(root, job, FAIL)

        assert set(decisions()) == {("completed", "pass")}
        assert Acceptance.objects.count() == 3

    def test_a_fully_read_failed_job_has_nothing_missing(self, root, job):
        ingest(root, job, telemetry={"model": "gpt-5"})

        with pytest.raises(NothingMissing):
            ingest(root, job)
