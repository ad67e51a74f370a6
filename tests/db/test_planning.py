"""A selection becomes jobs that hold today's texts, or is rejected as a whole."""

from __future__ import annotations

import hashlib
import json

import pytest

from review.artifacts import ArtifactNotWritten, ForeignJobFolder
from review.contracts.base import NotThisDocument
from review.corpus import Corpus
from review.errors import UsageRefused
from review.models import FileSnapshot, JobEvent, ReviewJob, ReviewPair, ReviewStore
from review.orchestration.job_replacing import NothingToReplace, create_replacement
from review.orchestration.planning import CreateRequest, create_jobs
from review.orchestration.selection_input import BadTargets, PartitionNotConcrete
from review.settings_file import Partition
from review.vocabulary import FailureCode, Grouping, JobStatus
from tests.builders import (
    GATES_FOLDER,
    NOTE,
    NOW,
    PARTITION,
    TYPED_NOTE,
    make_config,
    make_gate,
    make_jobs,
    make_output,
    make_root,
    make_selection,
    make_target,
    write_gate,
    write_note,
)

pytestmark = pytest.mark.django_db
AX = ("a.md", "prose/x")


@pytest.fixture
def root(tmp_path):
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE, "c.md": NOTE},
        gates={name: make_gate(name) for name in ("prose/x", "prose/y", "links/z")},
    )


def create(root, selection, **overrides):
    fields = {
        "selection": selection,
        "source": "the test",
        "grouping": Grouping.NOTE,
        "actor": "human:test",
    }
    config = overrides.pop("config", None) or make_config(root)
    return create_jobs(CreateRequest(**fields | overrides), config=config, now=NOW)


def reasons(result) -> list[tuple[str, str, str]]:
    return [(item.note_path, item.gate_id, item.reason) for item in result.skipped]


def packed(result) -> list[list[str]]:
    """Per job, its pairs as `note gate`, without what all notes have in common."""
    return [
        [f"{pair.note_path.removeprefix('kb/notes/')} {pair.gate_id}" for pair in job.pairs]
        for job in result.jobs
    ]


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

        assert (result.jobs, result.skipped, result.problems) == ([], [], [])
        assert not ReviewJob.objects.exists()

    def test_makes_more_jobs_than_fit_into_one_transaction(self, root, monkeypatch):
        monkeypatch.setattr("review.orchestration.planning.JOBS_PER_TRANSACTION", 2)
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
        assert result.problems == []

    def test_leaves_a_prompt_at_the_limit_whole(self, root):
        pairs = [AX, ("a.md", "prose/y")]

        result = create(
            root, make_selection(*pairs), max_prompt_tokens=self.limit_for(root, *pairs)
        )

        assert len(result.jobs) == 1

    def test_makes_a_job_of_a_pair_that_is_too_large_alone_and_says_so(self, root):
        write_note(root, "a.md", "# Long\n\n" + "word " * 20_000)

        result = create(root, make_selection(AX, ("b.md", "prose/x")), max_prompt_tokens=3_000)

        assert packed(result) == [["a.md prose/x"], ["b.md prose/x"]]
        assert [(item.path, item.code, item.skipped) for item in result.problems] == [
            ("kb/notes/a.md", "prompt-too-large", False)
        ]

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
        drawn = iter(["aaaaaaaa", "bbbbbbbb", "cccccccc"])
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


class TestSkipped:
    def test_a_note_that_is_gone(self, root):
        selection = make_selection(AX, ("b.md", "prose/x"), root=root)
        (root / "kb/notes/a.md").unlink()

        result = create(root, selection)

        assert packed(result) == [["b.md prose/x"]]
        assert reasons(result) == [("kb/notes/a.md", "prose/x", "vanished")]
        assert [(item.path, item.code) for item in result.problems] == [
            ("kb/notes/a.md", "vanished")
        ]

    def test_a_gate_that_is_gone(self, root):
        selection = make_selection(AX, ("a.md", "prose/y"), root=root)
        write_gate(root, "prose/x", "").unlink()

        result = create(root, selection)

        assert packed(result) == [["a.md prose/y"]]
        assert reasons(result) == [("kb/notes/a.md", "prose/x", "vanished")]

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            pytest.param(b"caf\xe9\n", "not-utf8", id="not-utf8"),
            pytest.param(b"a\0b\n", "contains-nul", id="nul"),
            pytest.param(b"", "empty-note", id="empty"),
            pytest.param(b" \n\t\n", "empty-note", id="blank"),
        ],
    )
    def test_a_note_that_cannot_be_reviewed_is_one_problem_for_all_its_pairs(
        self, root, data, code
    ):
        write_note(root, "a.md", data)

        result = create(root, make_selection(AX, ("a.md", "prose/y"), ("b.md", "prose/x")))

        assert packed(result) == [["b.md prose/x"]]
        assert [reason for _note, _gate, reason in reasons(result)] == [code, code]
        assert [(item.path, item.code, item.skipped) for item in result.problems] == [
            ("kb/notes/a.md", code, True)
        ]

    def test_a_note_that_is_too_large(self, root):
        config = make_config(root, max_note_bytes=len(NOTE) - 1)
        write_note(root, "b.md", "# B\n\nShort.\n")
        write_gate(root, "prose/x", "---\ndescription: d\n---\n# X\n")

        result = create(root, make_selection(AX, ("b.md", "prose/x")), config=config)

        assert ("kb/notes/a.md", "prose/x", "too-large") in reasons(result)

    def test_a_link_that_leads_out_of_the_root(self, root, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside") / "secret.md"
        outside.write_text("secret")
        (root / "kb/notes/a.md").unlink()
        (root / "kb/notes/a.md").symlink_to(outside)

        result = create(root, make_selection(AX))

        assert reasons(result) == [("kb/notes/a.md", "prose/x", "outside-root")]

    def test_an_empty_gate(self, root):
        write_gate(root, "prose/x", "")

        result = create(root, make_selection(AX))

        assert reasons(result) == [("kb/notes/a.md", "prose/x", "empty-gate")]
        assert [item.code for item in result.problems] == ["empty-gate"]

    def test_a_gate_that_does_not_apply(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", requires_type="kb/types/concept.md"))
        write_note(root, "b.md", TYPED_NOTE)

        result = create(root, make_selection(AX, ("b.md", "prose/x")))

        assert packed(result) == [["b.md prose/x"]]
        assert reasons(result) == [("kb/notes/a.md", "prose/x", "not-applicable")]

    def test_a_gate_with_requirements_on_a_note_whose_frontmatter_cannot_be_read(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", requires_type="kb/types/concept.md"))
        write_note(root, "a.md", "---\ntype: [kb/types/concept.md\n---\n# A\n")

        result = create(root, make_selection(AX, ("a.md", "prose/y")))

        assert packed(result) == [["a.md prose/y"]]
        assert reasons(result) == [("kb/notes/a.md", "prose/x", "not-applicable")]
        assert [item.code for item in result.problems] == ["invalid-frontmatter"]

    def test_a_target_that_stands_twice(self, root):
        selection = make_selection(AX, ("./kb/notes/a.md", "prose/x"))

        result = create(root, selection)

        assert packed(result) == [["a.md prose/x"]]
        assert reasons(result) == [("kb/notes/a.md", "prose/x", "duplicate")]

    def test_a_note_that_goes_away_while_jobs_are_made(self, root, monkeypatch):
        real = Corpus.read_note
        reads = []

        def vanish_at_the_second_read(self, path):
            reads.append(path)
            if reads.count(path) == 2:
                (root / path).unlink()
            return real(self, path)

        monkeypatch.setattr(Corpus, "read_note", vanish_at_the_second_read)
        monkeypatch.setattr("review.orchestration.note_shelf._MAX_BYTES", 0)
        monkeypatch.setattr(
            "review.orchestration.note_shelf.NoteShelf.readable", lambda self, pairs: []
        )

        result = create(root, make_selection(AX, ("b.md", "prose/x")))

        assert "vanished" in {reason for _note, _gate, reason in reasons(result)}
        assert all(job.pair_count == len(job.pairs) > 0 for job in result.jobs)


class TestAlreadyQueued:
    def test_is_skipped_and_names_the_job(self, root):
        (job,) = make_jobs(root, AX)

        result = create(root, make_selection(AX, ("a.md", "prose/y")))

        assert packed(result) == [["a.md prose/y"]]
        (skipped,) = result.skipped
        assert (skipped.reason, skipped.review_job_id) == ("already-queued", job.review_job_id)

    def test_counts_running_jobs_too(self, root):
        (job,) = make_jobs(root, AX)
        ReviewJob.objects.filter(pk=job.review_job_id).update(
            status=JobStatus.RUNNING, started_at=NOW
        )

        assert create(root, make_selection(AX)).jobs == []

    def test_is_requested_again_with_force(self, root):
        make_jobs(root, AX)

        result = create(root, make_selection(AX), force=True)

        assert len(result.jobs) == 1
        assert result.skipped == []

    def test_does_not_count_other_partitions(self, root):
        make_jobs(root, AX, model_partition="gpt-5")

        assert len(create(root, make_selection(AX)).jobs) == 1

    def test_does_not_count_closed_jobs(self, root):
        (job,) = make_jobs(root, AX)
        fail(job.review_job_id)

        assert len(create(root, make_selection(AX)).jobs) == 1

    def test_is_seen_when_another_creator_was_quicker(self, root, monkeypatch):
        monkeypatch.setattr("review.orchestration.planning.in_flight", lambda partition: {})
        (job,) = make_jobs(root, AX)

        result = create(root, make_selection(AX, ("a.md", "prose/y"), ("b.md", "prose/x")))

        assert packed(result) == [["a.md prose/y"], ["b.md prose/x"]]
        (skipped,) = result.skipped
        assert (skipped.reason, skipped.review_job_id) == ("already-queued", job.review_job_id)

    def test_makes_no_job_of_a_draft_whose_pairs_all_went_to_another(self, root, monkeypatch):
        monkeypatch.setattr("review.orchestration.planning.in_flight", lambda partition: {})
        make_jobs(root, AX)

        result = create(root, make_selection(AX))

        assert result.jobs == []
        assert ReviewJob.objects.count() == 1


def fail(job_id: int) -> None:
    ReviewJob.objects.fail(job_id, code=FailureCode.OPERATOR, reason="stopped", now=NOW)


class TestRejected:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            pytest.param({"note_path": "/etc/passwd"}, "absolute", id="absolute"),
            pytest.param({"note_path": "kb/../../x.md"}, r"\.\.", id="outside"),
            pytest.param({"note_path": ""}, "names no file", id="empty-path"),
            pytest.param({"note_path": "kb/notes/a\u202e.md"}, "U\\+202E", id="bidi"),
            pytest.param({"note_path": "kb/notes"}, "expected a .md file", id="folder"),
            pytest.param({"note_path": "kb/notes/.env.md"}, "hidden", id="hidden"),
            pytest.param({"note_path": "kb/reports/x.md"}, "reports", id="report"),
            pytest.param({"gate_id": "prose/y"}, "which is 'prose/x'", id="id-of-another-gate"),
            pytest.param({"gate_id": "x"}, "which is 'prose/x'", id="id-without-lens"),
            pytest.param({"gate_path": "kb/notes/a.md"}, "below", id="gate-outside-its-folder"),
            pytest.param(
                {"gate_path": f"{GATES_FOLDER}/../../notes/a.md"}, r"\.\.", id="gate-climbs-out"
            ),
            pytest.param(
                {"gate_path": f"{GATES_FOLDER}/prose/xx.md", "gate_id": "prose/xx"},
                "did you mean prose/x",
                id="unknown-gate",
            ),
            pytest.param({"note_path": 7}, "note_path", id="no-text"),
        ],
    )
    def test_names_the_index_and_the_reason(self, root, change, reason):
        good, bad = make_target(*AX), make_target(*AX) | change

        with pytest.raises(BadTargets, match=reason) as refused:
            create(root, make_selection(targets=[good, bad]))

        assert "targets[1]" in refused.value.message
        assert not ReviewJob.objects.exists()
        assert not (root / "kb" / "reports").exists()

    @pytest.mark.parametrize("key", ["note_path", "gate_path", "gate_id"])
    def test_needs_each_name(self, root, key):
        target = make_target(*AX)
        del target[key]

        with pytest.raises(BadTargets, match=key):
            create(root, make_selection(targets=[target]))

    def test_a_target_that_is_no_object(self, root):
        with pytest.raises(BadTargets, match=r"targets\[0\]"):
            create(root, make_selection(targets=["kb/notes/a.md"]))

    def test_a_gate_that_was_renamed_since_names_the_new_one(self, root):
        selection = make_selection(AX, root=root)
        old = root / GATES_FOLDER / "prose/x.md"
        old.rename(old.with_name("renamed.md"))

        with pytest.raises(BadTargets, match="did you mean prose/renamed"):
            create(root, selection)

    def test_names_several_bad_targets_but_not_all_of_many(self, root):
        targets = [make_target("/x.md", "prose/x") for _ in range(40)]

        with pytest.raises(BadTargets) as refused:
            create(root, make_selection(targets=targets))

        assert "targets[0]" in refused.value.message
        assert "and 35 more" in refused.value.message

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"no json", id="no-json"),
            pytest.param(b"[]", id="list"),
            pytest.param(b"null", id="null"),
            pytest.param(b"{}", id="empty-object"),
            pytest.param(b"\xff\xfe{}", id="not-utf8"),
            pytest.param(b'{"schema":"review-target-selector/1"', id="cut"),
            pytest.param(make_selection(schema="claim-review-job/1"), id="other-schema"),
            pytest.param(make_selection(targets={}), id="targets-no-list"),
            pytest.param(
                make_selection().replace(b'"claude-opus-4-6"', b"5"), id="partition-no-text"
            ),
            pytest.param(b"[" * 100_000, id="deep"),
        ],
    )
    def test_what_is_no_selector_json(self, root, data):
        with pytest.raises(NotThisDocument, match="the test"):
            create(root, data)

    def test_a_selection_for_no_model(self, root):
        with pytest.raises(PartitionNotConcrete) as refused:
            create(root, make_selection(AX, model_partition=None))

        assert "--model" in refused.value.hint

    def test_a_model_name_that_is_no_partition_s_name(self, root):
        with pytest.raises(PartitionNotConcrete) as refused:
            create(root, make_selection(AX, model_partition="anthropic/Claude-Opus-4.6"))

        assert "'claude-opus-4-6'" in refused.value.hint

    @pytest.mark.parametrize("name", ["", "日本", "[1m]", "a@b@c", "x" * 300])
    def test_what_no_partition_can_be_made_of(self, root, name):
        with pytest.raises(PartitionNotConcrete):
            create(root, make_selection(AX, model_partition=name))

    def test_an_alias_of_a_declared_partition(self, root):
        family = {"family": Partition("family", ("claude-opus-4-6",))}

        with pytest.raises(PartitionNotConcrete, match="claude-opus-4-6") as refused:
            create(root, make_selection(AX), config=make_config(root, partitions=family))

        assert "'family'" in refused.value.hint

    def test_takes_a_selection_with_a_byte_order_mark(self, root):
        assert len(create(root, b"\xef\xbb\xbf" + make_selection(AX)).jobs) == 1


class TestFolders:
    def test_what_a_rolled_back_id_left_is_moved_aside(self, root):
        store_id = ReviewStore.objects.get().store_id
        left = root / "kb/reports/bundle-reviews/review-job-1"
        left.mkdir(parents=True)
        (left / "MANIFEST.json").write_text(json.dumps({"store_id": store_id}))
        (left / "bundle-output.md").write_text("from another life")

        (job,) = create(root, make_selection(AX)).jobs

        assert not (root / job.bundle_output_path).exists()
        aside = left.with_name("review-job-1.aside-1")
        assert (aside / "bundle-output.md").read_text() == "from another life"

    def test_another_store_s_folder_is_refused_and_nothing_is_written(self, root):
        other = root / "kb/reports/bundle-reviews/review-job-1"
        other.mkdir(parents=True)
        (other / "MANIFEST.json").write_text(json.dumps({"store_id": "f" * 32}))
        (other / "prompt.md").write_text("theirs")

        with pytest.raises(ForeignJobFolder):
            create(root, make_selection(AX))

        assert (other / "prompt.md").read_text() == "theirs"
        assert not ReviewJob.objects.exists()

    def test_of_a_transaction_that_fails_are_removed(self, root, monkeypatch):
        artifacts = root / "kb/reports/bundle-reviews"
        artifacts.mkdir(parents=True)
        refuse_at(monkeypatch, job_id=2)

        with pytest.raises(ArtifactNotWritten):
            create(root, make_selection(AX, ("b.md", "prose/x")))

        assert list(artifacts.iterdir()) == []
        assert not ReviewJob.objects.exists()

    def test_jobs_of_earlier_transactions_stay_and_are_counted(self, root, monkeypatch):
        monkeypatch.setattr("review.orchestration.planning.JOBS_PER_TRANSACTION", 1)
        refuse_at(monkeypatch, job_id=2)
        selection = make_selection(AX, ("b.md", "prose/x"), ("c.md", "prose/x"))

        with pytest.raises(ArtifactNotWritten, match="1 jobs were made before"):
            create(root, selection)
        monkeypatch.undo()

        result = create(root, selection)
        assert packed(result) == [["b.md prose/x"], ["c.md prose/x"]]
        assert [job.review_job_id for job in result.jobs] == [2, 3]

    def test_ids_are_not_used_again_when_the_newest_job_is_gone(self, root):
        make_jobs(root, AX)
        JobEvent.objects.all().delete()
        ReviewPair.objects.all().delete()
        ReviewJob.objects.all().delete()

        (job,) = create(root, make_selection(AX)).jobs

        assert job.review_job_id == 2


def refuse_at(monkeypatch, *, job_id: int) -> None:
    """Let the disk be full when the folder of `job_id` is made."""
    from review.artifacts import ArtifactStore

    real = ArtifactStore.make_folder

    def make_folder(self, made_id, **fields):
        if made_id == job_id:
            raise ArtifactNotWritten("No space left on device")
        return real(self, made_id, **fields)

    monkeypatch.setattr(ArtifactStore, "make_folder", make_folder)


class TestReplacement:
    def replace(self, root, job_id):
        config = make_config(root)
        old = ReviewJob.objects.select_related("model_partition").get(pk=job_id)
        return create_replacement(
            old, corpus=Corpus(config), config=config, actor="human:test", now=NOW
        )

    def test_asks_for_the_same_pairs_from_today_s_text(self, root):
        (old,) = make_jobs(root, AX, ("a.md", "prose/y"))
        fail(old.review_job_id)
        write_note(root, "a.md", "# Changed\n\nSince then.\n")

        new = self.replace(root, old.review_job_id)

        job = ReviewJob.objects.get(pk=new.job_id)
        assert (job.status, job.replaces_id, job.lens) == ("queued", old.review_job_id, "prose")
        assert job.sentinel_token != ReviewJob.objects.get(pk=old.review_job_id).sentinel_token
        assert "Since then" in (root / job.prompt_path).read_text()
        assert [pair.gate.path for pair in job.pairs.order_by("ordinal")] == [
            f"{GATES_FOLDER}/prose/x.md",
            f"{GATES_FOLDER}/prose/y.md",
        ]

    def test_has_a_folder_of_its_own(self, root):
        (old,) = make_jobs(root, AX)
        fail(old.review_job_id)

        new = self.replace(root, old.review_job_id)

        job = ReviewJob.objects.get(pk=new.job_id)
        assert job.bundle_output_path != old.bundle_output_path
        assert (root / old.prompt_path).exists()

    def test_leaves_out_what_is_gone_and_says_so(self, root):
        (old,) = make_jobs(root, AX, ("a.md", "prose/y"))
        fail(old.review_job_id)
        write_gate(root, "prose/x", "").unlink()

        new = self.replace(root, old.review_job_id)

        assert [(item.gate_path, item.reason) for item in new.left_out] == [
            (f"{GATES_FOLDER}/prose/x.md", "vanished")
        ]

    def test_refuses_when_nothing_is_left(self, root):
        (old,) = make_jobs(root, AX)
        fail(old.review_job_id)
        (root / "kb/notes/a.md").unlink()

        with pytest.raises(NothingToReplace, match="vanished"):
            self.replace(root, old.review_job_id)

        assert ReviewJob.objects.count() == 1


class TestOutputBuilder:
    def test_writes_blocks_that_the_parser_takes(self, root):
        from review.protocol.parser import ExpectedPair, parse_output

        (job,) = make_jobs(root, AX, ("a.md", "prose/y"))
        expected = [ExpectedPair(p.ordinal, p.note_path, p.gate_id) for p in job.pairs]
        token = ReviewJob.objects.get(pk=job.review_job_id).sentinel_token

        parsed = parse_output(make_output(job.review_job_id), token=token, expected=expected)

        assert set(parsed.blocks) == {1, 2}
        assert parsed.problems == ()
