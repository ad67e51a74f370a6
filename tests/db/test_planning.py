"""A selection becomes jobs that hold today's texts, packed as it was asked."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from itertools import chain, repeat

import pytest

from review.errors import UsageRefused
from review.models import FileSnapshot, JobEvent, ReviewJob, ReviewPair, ReviewStore
from review.vocabulary import Grouping
from tests.builders import (
    GATES_FOLDER,
    NOTE,
    NOW,
    PARTITION,
    make_config,
    make_gate,
    make_selection,
    write_gate,
    write_note,
)
from tests.helpers.planning import AX, create, packed, planning_root

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path):
    return planning_root(tmp_path)


class TestCreate:
    def test_writes_a_queued_job_with_its_pairs(self, root):
        (job,) = create(root, make_selection(AX, ("a.md", "prose/y"))).jobs

        row = ReviewJob.objects.get(pk=job.review_job_id)
        assert (row.status, row.grouping, row.lens) == ("queued", "note", "prose")
        assert (row.model_partition.name, row.created_at) == (PARTITION, NOW)
        assert row.pair_count == 2
        assert [(pair.ordinal, pair.gate_id) for pair in job.pairs] == [
            (1, "prose/x"),
            (2, "prose/y"),
        ]

    def test_keeps_the_exact_texts(self, root):
        data = b"\xef\xbb\xbf# Title\r\n\r\nNo newline at the end"
        write_note(root, "a.md", data)

        create(root, make_selection(AX))

        pair = ReviewPair.objects.select_related("note_snapshot", "gate_snapshot").get()
        assert pair.note_snapshot.text.encode() == data
        assert pair.note_snapshot.content_sha256 == hashlib.sha256(data).hexdigest()
        assert pair.note_snapshot.byte_size == len(data)
        assert pair.gate_snapshot.text == (root / GATES_FOLDER / "prose/x.md").read_text()

    def test_puts_both_texts_and_the_pairs_into_the_prompt(self, root):
        (job,) = create(root, make_selection(AX)).jobs

        row = ReviewJob.objects.get(pk=job.review_job_id)
        prompt = (root / job.prompt_path).read_text()
        assert f"{row.sentinel_token}/1: kb/notes/a.md :: prose/x" in prompt
        assert NOTE in prompt
        assert make_gate("prose/x") in prompt
        assert job.bundle_output_path in prompt
        assert row.prompt_sha256 == hashlib.sha256(prompt.encode()).hexdigest()

    def test_resolves_the_note_s_links_in_the_prompt(self, root):
        write_note(root, "a.md", "# A\n\n[there](b.md) and [nowhere](gone.md)\n")

        (job,) = create(root, make_selection(AX)).jobs

        prompt = (root / job.prompt_path).read_text()
        assert "- b.md -> kb/notes/b.md" in prompt
        assert "- gone.md -> (unresolved)" in prompt

    def test_writes_a_manifest_that_says_whose_job_it_is(self, root):
        (job,) = create(root, make_selection(AX)).jobs

        manifest = json.loads((root / job.manifest_path).read_text())
        assert manifest["store_id"] == ReviewStore.objects.get().store_id
        assert manifest["review_job_id"] == job.review_job_id
        assert manifest["status"] == "queued"
        assert manifest["pairs"][0]["review_pair_id"] == job.pairs[0].review_pair_id
        assert manifest["pairs"][0]["decision"] is None

    def test_logs_who_made_it(self, root):
        create(root, make_selection(AX), actor="agent:planner")

        event = JobEvent.objects.get()
        assert (event.from_status, event.to_status) == ("", "queued")
        assert (event.actor, event.at) == ("agent:planner", NOW)

    def test_reviews_today_s_text_when_the_note_changed_since_the_selection(self, root):
        selection = make_selection(AX, root=root)
        write_note(root, "a.md", "# Changed\n\nSince then.\n")

        create(root, selection)

        assert FileSnapshot.objects.filter(text__contains="Since then").exists()

    def test_keeps_one_text_once_however_many_pairs_have_it(self, root):
        create(root, make_selection(AX, ("a.md", "prose/y"), ("b.md", "prose/x")))

        assert FileSnapshot.objects.count() == 4

    def test_makes_all_jobs_when_a_note_looks_like_a_sentinel(self, root):
        write_note(root, "a.md", "=== 5 passed in 1s ===\n=== PAIR REVIEW START 0/1: a :: b ===\n")

        result = create(root, make_selection(AX, ("b.md", "prose/x")))

        assert len(result.jobs) == 2

    def test_makes_no_job_of_an_empty_selection(self, root):
        result = create(root, make_selection())

        assert (result.jobs, result.skipped, result.problems) == ([], [], ())
        assert not ReviewJob.objects.exists()

    def test_makes_more_jobs_than_fit_into_one_transaction(self, root, monkeypatch):
        monkeypatch.setattr("review.jobs.create.JOBS_PER_TRANSACTION", 2)
        pairs = [(note, gate) for note in ("a.md", "b.md") for gate in ("prose/x", "links/z")]

        result = create(root, make_selection(*pairs, ("c.md", "prose/x")))

        assert [job.review_job_id for job in result.jobs] == [1, 2, 3, 4, 5]

    def test_gives_the_same_jobs_for_the_targets_in_any_order(self, root):
        pairs = [(note, gate) for note in ("b.md", "a.md") for gate in ("prose/y", "prose/x")]

        first = create(root, make_selection(*pairs), dry_run=True)
        second = create(root, make_selection(*reversed(pairs)), dry_run=True)

        assert first == second

    def test_takes_a_note_outside_the_note_roots(self, root):
        write_note(root, "docs/guide.md", NOTE)

        result = create(root, make_selection(("docs/guide.md", "prose/x")))

        assert len(result.jobs) == 1

    def test_takes_a_note_whose_name_is_spelled_decomposed_on_disk(self, root):
        write_note(root, unicodedata.normalize("NFD", "kb/notes/é.md"), NOTE)

        (job,) = create(
            root, make_selection((unicodedata.normalize("NFC", "é.md"), "prose/x"))
        ).jobs

        assert job.pairs[0].note_path == unicodedata.normalize("NFC", "kb/notes/é.md")

    def test_takes_a_note_with_a_name_as_long_as_names_can_be(self, root):
        name = "n" * 252 + ".md"
        write_note(root, name, NOTE)

        (job,) = create(root, make_selection((name, "prose/x"))).jobs

        assert (root / job.prompt_path).is_file()

    def test_takes_what_was_requested_though_it_is_fresh(self, root):
        assert len(create(root, make_selection(AX, mode="requested")).jobs) == 1


class TestGrouping:
    PAIRS = [
        (note, gate) for note in ("a.md", "b.md") for gate in ("prose/x", "prose/y", "links/z")
    ]

    def test_by_note_makes_one_job_per_note_and_lens(self, root):
        result = create(root, make_selection(*self.PAIRS))

        assert packed(result) == [
            ["a.md links/z"],
            ["a.md prose/x", "a.md prose/y"],
            ["b.md links/z"],
            ["b.md prose/x", "b.md prose/y"],
        ]

    def test_by_gate_makes_one_job_per_gate_and_batch(self, root):
        pairs = [
            (note, gate) for gate in ("prose/x", "links/z") for note in ("a.md", "b.md", "c.md")
        ]

        result = create(root, make_selection(*pairs), grouping=Grouping.GATE, batch_size=2)

        assert packed(result) == [
            ["a.md links/z", "b.md links/z"],
            ["c.md links/z"],
            ["a.md prose/x", "b.md prose/x"],
            ["c.md prose/x"],
        ]
        assert {job.grouping for job in result.jobs} == {"gate"}

    def test_refuses_a_batch_size_for_notes(self, root):
        with pytest.raises(UsageRefused, match="--batch-size"):
            create(root, make_selection(AX), batch_size=8)


class TestTokenLimit:
    def limit_for(self, root, *pairs) -> int:
        (job,) = create(root, make_selection(*pairs), dry_run=True).jobs
        return job.estimated_prompt_tokens

    def test_splits_by_pairs(self, root):
        pairs = [AX, ("a.md", "prose/y")]
        limit = self.limit_for(root, *pairs) - 1

        result = create(root, make_selection(*pairs), max_prompt_tokens=limit)

        assert packed(result) == [["a.md prose/x"], ["a.md prose/y"]]
        assert all(job.estimated_prompt_tokens <= limit for job in result.jobs)
        assert result.problems == ()

    def test_leaves_a_prompt_at_the_limit_whole(self, root):
        pairs = [AX, ("a.md", "prose/y")]

        result = create(
            root, make_selection(*pairs), max_prompt_tokens=self.limit_for(root, *pairs)
        )

        assert len(result.jobs) == 1

    @pytest.mark.parametrize("grouping", list(Grouping))
    @pytest.mark.parametrize("dry_run", [False, True])
    def test_skips_a_pair_that_is_too_large_alone_and_says_so(self, root, grouping, dry_run):
        write_note(root, "b.md", "# Long\n\n" + "word " * 20_000)
        pairs = [AX, ("b.md", "prose/x"), ("c.md", "prose/x")]

        result = create(
            root,
            make_selection(*pairs),
            grouping=grouping,
            max_prompt_tokens=3_000,
            dry_run=dry_run,
        )

        asked = [pair for job in packed(result) for pair in job]
        assert asked == ["a.md prose/x", "c.md prose/x"]
        assert [(item.note_path, item.gate_id, item.reason) for item in result.skipped] == [
            ("kb/notes/b.md", "prose/x", "prompt-too-large")
        ]
        assert [(item.path, item.code, item.skipped) for item in result.problems] == [
            ("kb/notes/b.md", "prompt-too-large", True)
        ]

    def test_keeps_together_what_stands_around_a_pair_that_is_too_large(self, root):
        write_note(root, "b.md", "# Long\n\n" + "word " * 20_000)
        pairs = [AX, ("b.md", "prose/x"), ("c.md", "prose/x")]

        result = create(
            root, make_selection(*pairs), grouping=Grouping.GATE, max_prompt_tokens=5_000
        )

        assert packed(result) == [["a.md prose/x", "c.md prose/x"]]

    def test_is_no_limit_for_a_pair_that_no_model_reads(self, root):
        write_note(root, "a.md", "# Long\n\n" + "word " * 20_000)
        selection = make_selection(AX, model_partition="rules")

        result = create(root, selection, max_prompt_tokens=3_000)

        assert packed(result) == [["a.md prose/x"]]
        assert (result.skipped, result.problems) == ([], ())

    def test_is_lifted_for_one_call(self, root):
        write_note(root, "a.md", "# Long\n\n" + "word " * 20_000)
        few = make_config(root, max_prompt_tokens=3_000)

        assert create(root, make_selection(AX), config=few).jobs == []
        assert (
            len(create(root, make_selection(AX), config=few, max_prompt_tokens=100_000).jobs) == 1
        )

    def test_comes_from_the_settings_unless_it_is_given(self, root):
        pairs = [AX, ("a.md", "prose/y")]
        limit = self.limit_for(root, *pairs) - 1

        result = create(
            root, make_selection(*pairs), config=make_config(root, max_prompt_tokens=limit)
        )

        assert len(result.jobs) == 2


class TestToken:
    def test_is_drawn_again_while_a_text_holds_it(self, root, monkeypatch):
        write_note(root, "a.md", "# A\n\nSeen in a log: AAAAAAAA/1\n")
        write_gate(root, "prose/x", make_gate("prose/x", body="bbbbbbbb"))
        drawn = chain(["aaaaaaaa", "bbbbbbbb", "cccccccc"], repeat("dddddddd"))
        monkeypatch.setattr("secrets.token_hex", lambda size: next(drawn))

        (job,) = create(root, make_selection(AX)).jobs

        assert ReviewJob.objects.get(pk=job.review_job_id).sentinel_token == "cccccccc"

    def test_is_another_one_for_each_job(self, root):
        create(root, make_selection(AX, ("b.md", "prose/x"), ("c.md", "prose/x")))

        assert len(set(ReviewJob.objects.values_list("sentinel_token", flat=True))) == 3


class TestDryRun:
    def test_shows_jobs_and_writes_nothing(self, root):
        result = create(root, make_selection(AX, ("a.md", "prose/y")), dry_run=True)

        (job,) = result.jobs
        assert result.dry_run
        assert [pair.ordinal for pair in job.pairs] == [1, 2]
        assert not ReviewJob.objects.exists()
        assert ReviewStore.objects.get().next_job_id == 1
        assert not (root / "kb" / "reports").exists()

    def test_estimates_what_the_real_prompt_has(self, root):
        (planned,) = create(root, make_selection(AX), dry_run=True).jobs
        (made,) = create(root, make_selection(AX)).jobs

        assert abs(planned.estimated_prompt_tokens - made.estimated_prompt_tokens) <= 2
