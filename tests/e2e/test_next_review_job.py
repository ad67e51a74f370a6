"""`next_review_job`: the work of a scope, one call to take and one to give back."""

from __future__ import annotations

import pytest

from review.models import CurrentAcceptance, ReviewJob
from review.protocol.prompt import LAST_LINE, estimate_tokens
from tests.builders import NOTE, PARTITION, make_gate, make_jobs, make_output, make_root, note_path
from tests.helpers.commands import run
from tests.helpers.reviewed import review_pairs

pytestmark = pytest.mark.django_db
GATES = ("prose/x", "prose/y", "links/z")
SCOPE = ("--all-gates", "--model", PARTITION)
BY = ("--runner", "agent", "--actor", "agent:bo")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes=dict.fromkeys(("a.md", "b.md", "c.md"), NOTE),
        gates={gate: make_gate(gate) for gate in GATES},
    )


def take(*options):
    return run("next_review_job", *options, *BY)


def answer(ids):
    """The blocks of several jobs in one output, as an agent writes them."""
    blocks = b"".join(map(make_output, ids))
    return run("ingest_bundle_output", "--review-job-id", *ids, "--input-file", "-", stdin=blocks)


class TestTaking:
    def test_two_calls_a_round_review_a_whole_scope(self, root):
        rounds, pairs = 0, 0
        while (taken := take(*SCOPE, "--jobs", "3", "--json")).exit == 0:
            jobs = taken.json["jobs"]
            ids = [job["review_job_id"] for job in jobs]
            done = answer(ids)
            assert done.exit == 0
            lines = [line for line in done.out.splitlines() if line.startswith("  ")]
            assert len(lines) == sum(job["pair_count"] for job in jobs)
            rounds, pairs = rounds + 1, pairs + len(lines)

        assert taken.exit == 3
        assert (rounds, pairs) == (2, 9)
        assert CurrentAcceptance.objects.count() == 9

    def test_prints_the_prompt_whole_behind_the_command_that_takes_the_answer(self, root):
        head, *prompt = take(
            "prose", "--note", note_path("a.md"), "--model", PARTITION
        ).out.splitlines()
        job = ReviewJob.objects.get()

        assert (
            f"ingest_bundle_output --review-job-id {job.pk} --input-file - --actor agent:bo" in head
        )
        assert prompt[-1] == LAST_LINE
        assert "\n".join(prompt).strip() == (root / job.prompt_path).read_text().strip()
        assert (job.status, job.runner, job.claimed_by) == ("running", "agent", "agent:bo")

    def test_counts_as_left_what_nobody_works_on(self, root):
        counts = [take(*SCOPE, "--json").json for _ in range(2)]

        assert [taken["left"] for taken in counts] == [8, 6]
        assert [taken["jobs"][0]["pair_count"] for taken in counts] == [1, 2]

    def test_makes_no_more_jobs_than_it_takes(self, root):
        take(*SCOPE)

        assert ReviewJob.objects.count() == 1

    def test_takes_what_is_queued_of_the_scope_first_and_nothing_else(self, root):
        (other,) = make_jobs(root, ("a.md", "links/z"))
        (ours,) = make_jobs(root, ("b.md", "prose/x"))

        taken = take("prose", "--model", PARTITION, "--json").json

        assert [job["review_job_id"] for job in taken["jobs"]] == [ours.review_job_id]
        assert taken["created"] == 0
        assert ReviewJob.objects.get(pk=other.review_job_id).status == "queued"

    def test_without_a_scope_takes_the_oldest_that_is_queued(self, root):
        first, _second = make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"))

        assert take("--json").json["jobs"][0]["review_job_id"] == first.review_job_id


class TestSize:
    def test_all_prompts_together_keep_to_the_limit(self, root):
        scope = ("links/z", "--model", PARTITION, "--jobs", "5", "--json")
        tokens = take(*scope).json["jobs"][0]["estimated_prompt_tokens"]
        ReviewJob.objects.update(status="queued", started_at=None, claimed_by="", runner=None)

        taken = take(*scope, "--max-tokens", tokens + 200).json["jobs"]

        assert [job["shares_with"] for job in taken] == [None, taken[0]["review_job_id"]]
        assert sum(estimate_tokens(job["prompt"]) for job in taken) <= tokens + 200
        whole = (root / taken[1]["prompt_path"]).read_text()
        assert whole.endswith(taken[1]["prompt"])
        assert taken[0]["prompt"].startswith(whole.removesuffix(taken[1]["prompt"]))

    def test_a_job_that_is_larger_stays_queued_and_its_size_is_told(self, root):
        make_jobs(root, ("a.md", "prose/x"))

        refused = take("--max-tokens", "100")

        assert refused.exit == 3
        assert "--max-tokens" in refused.err
        assert ReviewJob.objects.get().status == "queued"


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            pytest.param(("prose",), 2, id="a scope without a model"),
            pytest.param(("--note", "kb/notes/a.md"), 2, id="a note without gates"),
            pytest.param(("proze", "--model", PARTITION), 5, id="an unknown gate"),
            pytest.param((*SCOPE, "--runner-model", "gpt-5"), 4, id="another model"),
            pytest.param((), 3, id="nothing queued"),
        ],
    )
    def test_says_what_to_do(self, root, options, code):
        refused = take(*options)

        assert refused.exit == code
        assert "hint:" in refused.err or code == 2

    def test_a_fresh_scope_has_nothing_to_take(self, root):
        review_pairs(root, *((note, gate) for note in ("a.md", "b.md", "c.md") for gate in GATES))

        done = take(*SCOPE)

        assert (done.exit, done.err) == (3, "done: every pair of this scope is fresh\n")

    def test_pairs_of_open_jobs_and_pairs_that_fit_no_prompt_are_named(self, root):
        narrow = take(*SCOPE, "--max-tokens", "100")
        assert (narrow.exit, ReviewJob.objects.count()) == (3, 0)
        assert "9 pairs skipped, kb/notes/a.md links/z: prompt-too-large" in narrow.err

        assert take(*SCOPE, "--jobs", "9").exit == 0
        others = take(*SCOPE)

        assert (others.exit, ReviewJob.objects.count()) == (3, 6)
        assert f"the first is job {ReviewJob.objects.earliest('pk').pk}" in others.err
