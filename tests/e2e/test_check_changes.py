"""`review_check --since` and `--new-only`: which notes Git chooses, and what of them is new."""

from __future__ import annotations

import pytest

from review.errors import ReviewError
from tests.builders import make_gate, make_root, note_path, write_gate, write_note
from tests.helpers.checking import (
    MARKED,
    TODO,
    check_clone,
    commit_all,
    git,
    judge_rules,
    lock,
    two_notes,
)
from tests.helpers.commands import run
from tests.helpers.reviewed import WARN, review_pairs

pytestmark = pytest.mark.django_db
NOTE_A, NOTE_B = note_path("a.md"), note_path("b.md")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return two_notes(tmp_path)


class TestSince:
    @pytest.fixture(autouse=True)
    def _base(self, root):
        commit_all(root)
        git(root, "checkout", "-q", "-b", "topic")

    def paths(self, root, **fields):
        found = check_clone(root, since="main", **fields)
        return sorted({item.note_path for item in [*found.findings, *found.stale]})

    def test_takes_commits_the_working_tree_and_untracked_notes(self, root):
        write_note(root, "committed.md", MARKED)
        commit_all(root)
        write_note(root, "b.md", MARKED)
        write_note(root, "un tracked ü.md", MARKED)
        (root / NOTE_A).unlink()

        assert self.paths(root) == [
            NOTE_B, note_path("committed.md"), note_path("un tracked ü.md")
        ]  # fmt: skip
        assert self.paths(root, notes=(NOTE_B,)) == [NOTE_B]

    def test_files_outside_the_folders_of_notes_are_no_notes(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", body="Another test.\n"))
        (root / "README.md").write_text(MARKED)
        write_note(root, "kb/instructions/review-gates/prose/x.cases/one.md", MARKED)

        found = check_clone(root, since="main")

        assert found.notes == 0
        assert found.notices[0].startswith("gates that changed: 1;")

    def test_says_what_current_leaves_out(self, root):
        write_note(root, "b.md", MARKED)

        found = check_clone(root, since="main", current_only=True)

        assert found.notices == ["1 notes left out by --current: none has a status"]

    def test_what_the_other_branch_changed_does_not_count(self, root):
        git(root, "checkout", "-q", "main")
        write_note(root, "b.md", MARKED)
        commit_all(root)
        git(root, "checkout", "-q", "topic")

        assert self.paths(root) == []

    def test_a_knowledge_base_may_lie_in_a_folder_of_the_repository(
        self, tmp_path_factory, monkeypatch
    ):
        top = tmp_path_factory.mktemp("top")
        inner = two_notes(top / "docs")
        (top / "outside.md").write_text("x")
        commit_all(top)
        write_note(inner, "b.md", MARKED)
        (top / "outside.md").write_text("y")
        monkeypatch.setenv("COMMONPLACE_ROOT", str(inner))

        done = run("review_check", "--since", "main", "--rules-only", "--format", "github")

        assert done.out.splitlines()[1].startswith("::warning file=docs/kb/notes/b.md,line=5,")
        assert len(done.out.splitlines()) == 2

    def test_says_that_a_gate_or_the_lock_changed(self, root):
        write_gate(root, "prose/x", make_gate("prose/x", body="Another test.\n"))
        review_pairs(root, ("a.md", "prose/y"))
        lock(root)

        gate, changed = check_clone(root, since="main").notices

        assert "gates that changed: 1" in gate
        assert "kb/review.lock was changed too" in changed

    @pytest.mark.parametrize(
        ("revision", "code"),
        [("nosuch", "git-refused"), ("--output=x", "git-refused"), ("a b", "git-refused")],
    )  # fmt: skip
    def test_a_revision_that_names_no_commit_is_refused(self, root, revision, code):
        done = run("review_check", f"--since={revision}", "--json")

        assert (done.exit, done.error["code"]) == (5, code)
        assert not (root / "x").exists()

    def test_a_shallow_clone_is_refused(self, root, tmp_path_factory):
        write_note(root, "b.md", MARKED)
        commit_all(root)
        shallow = tmp_path_factory.mktemp("clone") / "clone"
        git(root, "clone", "-q", "--depth", "1", f"file://{root}", str(shallow))

        with pytest.raises(ReviewError, match="is shallow") as refused:
            check_clone(shallow, since="origin/main")
        assert refused.value.code == "shallow-clone"

    def test_a_missing_git_and_a_folder_without_a_repository_are_refused(
        self, root, tmp_path_factory, monkeypatch
    ):
        with pytest.raises(ReviewError, match="lies in no Git repository"):
            check_clone(make_root(tmp_path_factory.mktemp("plain")), since="main")

        git(empty := make_root(tmp_path_factory.mktemp("empty")), "init", "-q")
        with pytest.raises(ReviewError, match="no commit") as refused:
            check_clone(empty, since="HEAD")
        assert refused.value.hint == "commit first"

        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(ReviewError) as refused:
            check_clone(root, since="main")
        assert refused.value.code == "program-not-started"


class TestNewOnly:
    @pytest.fixture(autouse=True)
    def _base(self, root):
        """A base whose lock has a finding of a rule and one of a model in the first note."""
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        judge_rules()
        lock(root)
        commit_all(root)

    def test_hides_what_the_lock_of_the_merge_base_has(self, root):
        write_note(root, "a.md", f"Before.\n\n{MARKED}\nTBD: and more.\n")

        clone = check_clone(root, since="main", new_only=True)

        (found,) = clone.findings
        assert (found.gate_id, found.line, found.new) == (TODO, 9, True)
        assert clone.known == 2

    def test_follows_a_note_that_was_renamed(self, root):
        write_note(root, "kb/notes/deep/c.md", f"{MARKED}\nTBD: and more.\n")
        (root / NOTE_A).unlink()
        git(root, "add", "-A")

        clone = check_clone(root, since="main", new_only=True, rules_only=True)

        assert [(item.note_path, item.line) for item in clone.findings] == [
            ("kb/notes/deep/c.md", 7)
        ]
        assert clone.known == 1

    def test_a_baseline_can_be_a_file_or_standard_input(self, root, tmp_path):
        old = (root / "kb/review.lock").read_bytes()
        (tmp_path / "old.lock").write_bytes(old)
        options = ("--new-only", "--json", "--baseline")

        assert run("review_check", *options, tmp_path / "old.lock").json["known"] == 2
        assert run("review_check", *options, "-", stdin=old).json["findings"] == []
        damaged = run("review_check", *options, "-", stdin="no lock\n").json
        assert len(damaged["findings"]) == 2
        assert [problem["code"] for problem in damaged["problems"]] == ["damaged-lock"]
        assert run("review_check", *options, tmp_path / "none").exit == 5

    def test_needs_something_to_compare_with(self, root):
        assert run("review_check", "--new-only").exit == 2

    def test_says_that_the_merge_base_has_no_lock(self, root):
        git(root, "rm", "-q", "--cached", "kb/review.lock")
        commit_all(root)
        git(root, "rm", "-q", "kb/review.lock")
        commit_all(root)
        write_note(root, "a.md", f"{MARKED}\nMore.\n")

        clone = check_clone(root, since="HEAD", new_only=True, rules_only=True)

        assert (len(clone.findings), len(clone.notices)) == (1, 1)
