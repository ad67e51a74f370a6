"""A target that cannot be requested is skipped with a reason, and the others go on."""

from __future__ import annotations

import pytest

from review.models import ReviewJob
from review.selection.freshness import in_flight
from review.vocabulary import JobStatus
from tests.builders import (
    NOTE,
    NOW,
    TYPED_NOTE,
    make_config,
    make_gate,
    make_jobs,
    make_selection,
    write_gate,
    write_note,
)
from tests.helpers.planning import AX, create, fail, packed, planning_root, reasons

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path):
    return planning_root(tmp_path)


def sees_nothing_at_first(monkeypatch):
    """Let the first look at the open jobs find none."""
    looks = iter([True])
    monkeypatch.setattr(
        "review.jobs.create.in_flight",
        lambda *args, **named: {} if next(looks, False) else in_flight(*args, **named),
    )


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
        (job,) = make_jobs(root, AX)
        sees_nothing_at_first(monkeypatch)

        result = create(root, make_selection(AX, ("a.md", "prose/y"), ("b.md", "prose/x")))

        assert packed(result) == [["a.md prose/y"], ["b.md prose/x"]]
        (skipped,) = result.skipped
        assert (skipped.reason, skipped.review_job_id) == ("already-queued", job.review_job_id)

    def test_makes_no_job_of_a_draft_whose_pairs_all_went_to_another(self, root, monkeypatch):
        make_jobs(root, AX)
        sees_nothing_at_first(monkeypatch)

        result = create(root, make_selection(AX))

        assert result.jobs == []
        assert ReviewJob.objects.count() == 1
