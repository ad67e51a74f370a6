"""Batches at a local server: sent, left, collected once; and every way in which one can end or be interrupted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import Acceptance, ReviewJob
from review.vocabulary import JobStatus
from tests.builders import PARTITION, make_gate, make_root
from tests.helpers.commands import run
from tests.helpers.providers import KEY, Fault, playing_providers, settings_of

pytestmark = pytest.mark.django_db

SWEEP = ("review_sweep", "--all-gates", "--runner", "api", "--model", PARTITION, "--json", "-q")
COLLECT = ("review_batches", "--collect", "--json")


@pytest.fixture
def playing():
    with playing_providers() as found:
        yield found


@pytest.fixture(params=["anthropic", "openai"])
def root(tmp_path, playing, request, monkeypatch):
    notes = {name: f"# {name}\n\nText of {name}.\n" for name in ("a.md", "b.md", "c.md")}
    settings = settings_of(playing.url, request.param)
    gates = {name: make_gate(name) for name in ("prose/x", "prose/y")}
    made = make_root(tmp_path, notes=notes, gates=gates, settings=settings)
    monkeypatch.setenv("COMMONPLACE_ROOT", str(made))
    monkeypatch.setenv("TEST_API_KEY", KEY)
    return made


def send(*arguments):
    return run(*SWEEP, "--batch", *arguments)


def custom_ids():
    return [f"job-{job.pk}-{job.sentinel_token}" for job in ReviewJob.objects.order_by("pk")]


class Killed(BaseException):
    """What a kill looks like from inside: nothing after it is run, in this process."""


def killing(*_arguments, **_options):
    raise Killed


class TestLife:
    def test_a_sweep_sends_its_jobs_and_leaves_and_a_later_command_takes_the_results_in(
        self, root, playing
    ):
        sent = send()
        listed = run("review_batches", "--json").json["batches"]
        early = run(*COLLECT).json["batches"]
        playing.end_batches()
        collected = run(*COLLECT)

        assert (sent.exit, sent.json["jobs"]["sent"], len(playing.asked)) == (0, 3, 3)
        assert (listed[0]["state"], listed[0]["jobs"], early[0]["state"]) == (
            "sent",
            3,
            "under-way",
        )
        (batch,) = collected.json["batches"]
        assert (batch["state"], batch["closed"]) == ("collected", {"completed": 3})
        assert batch["cost_usd"] == pytest.approx(3 * 880 / 2 / 1e6)
        assert collected.exit == 0
        assert Acceptance.objects.count() == 6
        assert run(*COLLECT).exit == 3
        assert send().json["targets"] == 0

    def test_a_sweep_runs_nothing_again_that_a_batch_holds(self, root, playing):
        send()

        again = send()

        assert again.json["counts"]["in-flight"] == 6
        assert len(playing.batches) == 1

    def test_jobs_wait_as_long_as_the_provider_has_time(self, root, playing):
        send()
        job = ReviewJob.objects.first()
        ReviewJob.objects.update(parent_pid=1, parent_started_at=None, parent_host="elsewhere")
        run("review_sweep", "--all-gates", "--runner", "rules", "--model", "rules", "--json")

        before = run("recover_review_jobs", "--json", now=job.batch_until - timedelta(hours=1))
        after = run("recover_review_jobs", "--json", now=job.batch_until + timedelta(hours=1))

        assert before.json["abandoned"] == []
        assert "its batch batch_1 had until" in after.json["abandoned"][0]["because"]

    @pytest.mark.parametrize(
        ("fate", "code", "words"),
        [
            ("errored", "runner-error", "the prompt is too long"),
            ("expired", "runner-timeout", "the batch expired before it ran"),
        ],
    )
    def test_a_batch_that_is_done_in_part_keeps_that_part(self, root, playing, fate, code, words):
        send()
        playing.fates[custom_ids()[1]] = fate
        playing.end_batches()

        collected = run(*COLLECT)

        assert collected.exit == 1
        assert collected.json["batches"][0]["closed"] == {"completed": 2, "failed": 1}
        job = ReviewJob.objects.get(status=JobStatus.FAILED)
        assert (job.failure_code, words in job.failure_reason) == (code, True)
        again = send()  # no model has answered: it is no attempt
        assert again.json["jobs"]["sent"] == 1

    def test_a_cancelled_batch_is_collected_like_any_other(self, root, playing):
        send()
        playing.fates[custom_ids()[0]] = "succeeded"

        cancelled = run("review_batches", "--cancel", "--json")
        collected = run(*COLLECT)

        assert cancelled.json["batches"][0]["state"] == "cancelling"
        assert collected.json["batches"][0]["closed"] == {"completed": 1, "failed": 2}
        assert "cancelled" in ReviewJob.objects.filter(status=JobStatus.FAILED)[0].failure_reason

    @pytest.mark.parametrize("root", ["openai"], indirect=True)
    def test_a_batch_that_fails_as_a_whole_says_why(self, root, playing):
        send()
        playing.batches["batch_1"]["failed"] = "Enqueued token limit reached"

        collected = run(*COLLECT)

        assert collected.json["batches"][0]["closed"] == {"failed": 3}
        assert "token limit" in ReviewJob.objects.first().failure_reason

    def test_limits_hold_before_anything_is_sent(self, root, playing):
        sent = send("--max-jobs", "2")

        assert (sent.json["jobs"]["sent"], sent.json["stopped"]) == (2, "max-jobs")
        assert ReviewJob.objects.filter(status=JobStatus.RUNNING).count() == 2

    def test_a_batch_that_is_refused_fails_its_jobs_with_the_reason(self, root, playing):
        playing.faults = [Fault(400, "the batch is too large")]

        refused = send()

        assert refused.exit == 1
        assert "the batch is too large" in refused.json["failures"][0]["reason"]
        assert send().json["jobs"]["sent"] == 3


class TestKills:
    def test_after_the_claim_the_next_sweep_sends_what_never_arrived(
        self, root, playing, monkeypatch
    ):
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr("review.batches.BatchDispatch._submit", killing)
            send()

        told = run("review_batches", "--json").json["batches"][0]
        collected = run(*COLLECT).json["batches"][0]
        sent = send()

        assert (told["state"], told["batch_id"]) == ("unrecorded", None)
        assert "never arrived" in collected["problem"]
        assert (sent.json["jobs"]["sent"], len(playing.batches)) == (3, 1)

    def test_before_the_record_the_batch_is_found_again_and_not_sent_anew(
        self, root, playing, monkeypatch
    ):
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr("review.batches.record_batch", killing)
            send()
        playing.end_batches()

        again = send()
        collected = run(*COLLECT)

        assert (again.exit, len(playing.batches)) == (0, 1)
        assert collected.json["batches"][0]["closed"] == {"completed": 3}

    def test_an_answer_that_was_lost_is_looked_for(self, root, playing):
        playing.forget_answer = True

        lost = send()
        playing.end_batches()
        collected = run(*COLLECT)

        assert (lost.exit, lost.error["code"]) == (4, "batch-not-recorded")
        assert collected.json["batches"][0]["closed"] == {"completed": 3}
        assert len(playing.batches) == 1

    def test_while_it_cannot_be_told_nothing_is_sent(self, root, playing):
        playing.forget_answer = True
        send()

        again = send()

        # OpenAI's shows its mark at once; Anthropic's tells custom ids only with its results.
        assert again.exit == 0 or again.error["code"] == "batch-undecided"
        assert len(playing.batches) == 1

    def test_in_the_middle_of_collecting_nothing_is_taken_in_twice(
        self, root, playing, monkeypatch
    ):
        send()
        playing.end_batches()
        from review.batches import BatchCollector

        real, calls = BatchCollector._close, []

        def second_one_dies(self, job, *rest):
            calls.append(job.pk)
            if len(calls) == 2:
                real(self, job, *rest)
                raise Killed
            return real(self, job, *rest)

        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(BatchCollector, "_close", second_one_dies)
            run(*COLLECT)
        collected = run(*COLLECT)

        assert collected.json["batches"][0]["closed"] == {"completed": 1}
        assert Acceptance.objects.count() == 6


class TestRefusals:
    def test_a_runner_that_is_no_api_sends_no_batch(self, root):
        refused = run("review_sweep", "--all-gates", "--runner", "rules", "--model", "rules", "--batch", "--json")  # fmt: skip

        assert (refused.exit, "is none" in refused.error["message"]) == (2, True)

    def test_a_provider_out_of_reach_and_an_unknown_batch_are_named(self, root, monkeypatch):
        send()
        unknown = run("review_batches", "batch_9", "--collect", "--json")
        monkeypatch.delenv("TEST_API_KEY")
        keyless = run(*COLLECT)

        assert (unknown.exit, unknown.error["code"]) == (5, "unknown-batch")
        assert keyless.exit == 1
        assert "TEST_API_KEY" in keyless.json["batches"][0]["problem"]
