"""Scanning: which files of a folder are notes, under which names, and what is said of the others."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from review.knowledge_base.reader import DiskPaths
from review.knowledge_base.walker import Scanner, ScanResult
from tests.unit.knowledge_base.builders import RULES, problem_codes, write

NFC = unicodedata.normalize("NFC", "kb/notes/caf\u00e9.md")
NFD = unicodedata.normalize("NFD", NFC)


def scan(root: Path, folder: str = "kb/notes", **rules: Any) -> ScanResult:
    scanner = Scanner(str(root), replace(RULES, roots=(folder,), **rules), DiskPaths(str(root)))
    return scanner.walk_roots()


def make_nested(root: Path, folder: str) -> None:
    """Make an empty `x.md` in a folder that is too deep for `Path.mkdir(parents=True)`."""
    current = os.open(root, os.O_RDONLY)
    for name in folder.split("/"):
        os.mkdir(name, dir_fd=current)
        below = os.open(name, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(os.open("x.md", os.O_CREAT | os.O_WRONLY, dir_fd=current))
    os.close(current)


def paths(found: ScanResult) -> list[str]:
    return [entry.path for entry in found.entries]


class TestWalk:
    def test_finds_nested_notes_sorted_by_path(self, tmp_path):
        for name in ("b.md", "a/deep/er/x.md", "a.md", "a/z.md", "B.md"):
            write(tmp_path, f"kb/notes/{name}")

        found = scan(tmp_path)

        assert paths(found) == [
            f"kb/notes/{name}" for name in ("B.md", "a.md", "a/deep/er/x.md", "a/z.md", "b.md")
        ]

    def test_leaves_out_what_is_hidden_not_markdown_or_in_the_reports_folder(self, tmp_path):
        for path in (
            "kb/notes/.hidden.md",
            "kb/notes/.obsidian/a.md",
            "kb/notes/picture.png",
            "kb/notes/md",
            "kb/reports/reviews/a.md",
        ):
            write(tmp_path, path)
        write(tmp_path, "kb/notes/a.md")

        found = scan(tmp_path, "kb")

        assert paths(found) == ["kb/notes/a.md"]
        assert found.problems == []

    @pytest.mark.parametrize(
        "name",
        [
            "-x.md",
            "::.md",
            "===.md",
            "diff.md",
            "new.md",
            "a :: b.md",
            "quote'\"`.md",
            "#1.md",
            "100%.md",
            "back\\slash.md",
            "two  spaces .md",
            "\U0001f600 emoji.md",
            "\u65e5\u672c.md",
            "no\u00a0break.md",
            "x" * 252 + ".md",
            "\u00e9" * 126 + ".md",
        ],
    )
    def test_takes_names_that_only_look_odd(self, tmp_path, name):
        write(tmp_path, f"kb/notes/{name}")

        found = scan(tmp_path)

        assert paths(found) == [f"kb/notes/{name}"]
        assert found.problems == []

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            pytest.param("a\nb.md", "a\\nb.md", id="newline"),
            pytest.param("a\x1b[31m.md", "a\\x1b[31m.md", id="terminal-escape"),
            pytest.param("a\x7f.md", "a\\x7f.md", id="delete"),
            pytest.param("a\u202etxt.md", "a\\u202etxt.md", id="bidi-override"),
            pytest.param("a\u2028.md", "a\\u2028.md", id="line-separator"),
            pytest.param(b"a\xff.md", "a\\udcff.md", id="not-utf8"),
        ],
    )
    def test_reports_a_name_that_cannot_be_shown_and_goes_on(self, tmp_path, name, shown):
        folder = write(tmp_path, "kb/notes/good.md").parent
        os.close(os.open(os.fsencode(folder) + b"/" + os.fsencode(name), os.O_CREAT | os.O_WRONLY))

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/good.md"]
        assert problem_codes(found.problems) == {f"kb/notes/{shown}": "bad-name"}
        assert found.problems[0].skipped
        assert found.problems[0].message.isprintable()

    @pytest.mark.parametrize("name", ["README.MD", "a.Md", "b.markdown", "d/c.MARKDOWN"])
    def test_reports_what_is_called_markdown_in_another_way(self, tmp_path, name):
        write(tmp_path, f"kb/notes/{name}")

        found = scan(tmp_path)

        assert found.entries == []
        assert [(one.path, one.code, one.skipped) for one in found.problems] == [
            (f"kb/notes/{name}", "bad-name", True)
        ]
        assert "rename it, or exclude it" in found.problems[0].message

    def test_says_nothing_of_it_where_it_is_excluded(self, tmp_path):
        write(tmp_path, "kb/notes/README.MD")
        write(tmp_path, "kb/notes/.hidden.MD")
        (tmp_path / "kb/notes/folder.MD").mkdir()

        assert scan(tmp_path, excludes=("kb/notes/README.*",)).problems == []

    @pytest.mark.parametrize(
        "name",
        [
            "a (conflicted copy).md",
            "a (conflicted copy 2024-01-31 120000).md",
            "a (Ann's conflicted copy 2024-01-31).md",
            "a (Conflicted Copy 2024-01-31).md",
            "a.sync-conflict-20240131-120000-ABCDEFG.md",
            "a_conflict-20240131-120000.md",
            "a (SFConflict ann@x.org 2024-01-31-12-00-00).md",
            "a (Case Conflict).md",
            "a (Kopie mit Konflikt von Ann 2024-01-31).md",
            "a (copie en conflit de Ann 2024-01-31).md",
            "a (kopia w konflikcie użytkownika Ann 2024-01-31).md",
            "a (Конфликтующая копия Ann 2024-01-31).md",
            "a (Ann 的冲突副本 2024-01-31).md",
            "a [conflicted].md",
            "a_NAS_Jan-31-120000-2024_UserConflict.md",
            "a-DESKTOP-4J2K1AB.md",
        ],
    )
    def test_reports_copies_that_file_synchronisers_make_of_conflicts(self, tmp_path, name):
        write(tmp_path, f"kb/notes/{name}")
        fine = ["a-desktop-install.md", "b (conflict).md", "on conflicted copy (and more).md"]
        for other in fine:
            write(tmp_path, f"kb/notes/{other}")

        found = scan(tmp_path)

        assert paths(found) == [f"kb/notes/{other}" for other in fine]
        assert problem_codes(found.problems) == {f"kb/notes/{name}": "conflicted-copy"}

    def test_reports_a_folder_with_a_bad_name_once(self, tmp_path):
        write(tmp_path, "kb/notes/a\tb/x.md")
        write(tmp_path, "kb/notes/a\tb/y.md")

        found = scan(tmp_path)

        assert problem_codes(found.problems) == {"kb/notes/a\\tb": "bad-name"}

    def test_reports_a_path_that_no_index_of_a_database_takes(self, tmp_path):
        write(tmp_path, "kb/notes/good.md")
        deep = tmp_path / "kb" / "notes"
        for _ in range(10):
            deep = deep / ("d" * 230)
        write(tmp_path, f"{deep.relative_to(tmp_path)}/{'n' * 240}.md")
        write(tmp_path, f"{deep.relative_to(tmp_path)}/{'n' * 200}.md")

        found = scan(tmp_path)

        assert len(paths(found)) == 2
        assert [problem.code for problem in found.problems] == ["bad-name"]
        assert "at most 2560" in found.problems[0].message

    def test_takes_a_folder_whose_name_ends_like_a_note(self, tmp_path):
        write(tmp_path, "kb/notes/folder.md/x.md")

        assert paths(scan(tmp_path)) == ["kb/notes/folder.md/x.md"]

    def test_reports_pipes_only_where_a_note_could_be(self, tmp_path):
        write(tmp_path, "kb/notes/a.md")
        os.mkfifo(tmp_path / "kb/notes/pipe.md")
        os.mkfifo(tmp_path / "kb/notes/pipe")

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/a.md"]
        assert problem_codes(found.problems) == {"kb/notes/pipe.md": "not-a-file"}

    def test_reports_a_note_that_vanishes_under_the_walk(self, tmp_path, monkeypatch):
        write(tmp_path, "kb/notes/a.md")
        write(tmp_path, "kb/notes/gone.md")
        scandir = os.scandir

        @contextmanager
        def scandir_while_another_deletes(folder):
            with scandir(folder) as listing:
                entries = list(listing)
            (tmp_path / "kb/notes/gone.md").unlink(missing_ok=True)
            yield entries

        monkeypatch.setattr(os, "scandir", scandir_while_another_deletes)

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/a.md"]
        assert problem_codes(found.problems) == {"kb/notes/gone.md": "vanished"}

    def test_reports_a_folder_that_cannot_be_listed_and_goes_on(self, tmp_path, monkeypatch):
        write(tmp_path, "kb/notes/a.md")
        write(tmp_path, "kb/notes/locked/b.md")
        scandir = os.scandir

        def scandir_as_a_stranger(folder: str) -> object:
            if folder.endswith("locked"):
                raise PermissionError(13, "Permission denied")
            return scandir(folder)

        monkeypatch.setattr(os, "scandir", scandir_as_a_stranger)

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/a.md"]
        assert problem_codes(found.problems) == {"kb/notes/locked": "unreadable"}

    def test_walks_folders_nested_deeper_than_python_recurses(self, tmp_path):
        nested = "kb/notes" + "/d" * (sys.getrecursionlimit() + 50)
        make_nested(tmp_path, nested)
        try:
            found = scan(tmp_path)
        finally:
            # Here, because pytest's own clean-up recurses.
            subprocess.run(["rm", "-rf", str(tmp_path / "kb")], check=True)

        assert paths(found) == [f"{nested}/x.md"]


class TestIdentity:
    def test_is_normalised_while_the_spelling_on_disk_is_kept(self, tmp_path):
        write(tmp_path, NFD)

        (entry,) = scan(tmp_path).entries

        assert (entry.path, entry.disk_path) == (NFC, NFD)

    def test_is_normalised_in_folders_too(self, tmp_path):
        write(tmp_path, "kb/notes/e\u0301/x.md")

        (entry,) = scan(tmp_path).entries

        assert entry.path == "kb/notes/\u00e9/x.md"
        assert entry.disk_path == "kb/notes/e\u0301/x.md"

    def test_that_two_files_share_skips_both(self, tmp_path):
        write(tmp_path, NFC, "one")
        write(tmp_path, NFD, "two")
        write(tmp_path, "kb/notes/a.md")

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/a.md"]
        assert problem_codes(found.problems) == {NFC: "name-collision"}
        assert found.problems[0].skipped

    def test_of_folders_may_be_shared_where_their_files_differ(self, tmp_path):
        write(tmp_path, "kb/notes/e\u0301/x.md")
        write(tmp_path, "kb/notes/\u00e9/y.md")

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/\u00e9/x.md", "kb/notes/\u00e9/y.md"]
        assert found.problems == []

    def test_that_differs_by_case_only_is_reported_and_kept(self, tmp_path):
        for path in ("kb/notes/Plan.md", "kb/notes/plan.md", "kb/notes/other.md"):
            write(tmp_path, path)

        found = scan(tmp_path)

        assert len(found.entries) == 3
        assert problem_codes(found.problems) == {
            "kb/notes/Plan.md": "case-collision",
            "kb/notes/plan.md": "case-collision",
        }
        assert not any(problem.skipped for problem in found.problems)
        assert "'kb/notes/plan.md'" in found.problems[0].message


class TestExcludes:
    @pytest.mark.parametrize(
        ("pattern", "left"),
        [
            pytest.param("kb/notes/drafts", ["a.md", "deep/drafts/d.md", "t.tmp.md"], id="folder"),
            pytest.param("drafts", ["a.md", "t.tmp.md"], id="name-at-any-depth"),
            pytest.param("drafts/", ["a.md", "t.tmp.md"], id="trailing-slash"),
            pytest.param("*.tmp.md", ["a.md", "deep/drafts/d.md", "drafts/d.md"], id="star"),
            pytest.param(
                "kb/*/a.md", ["deep/drafts/d.md", "drafts/d.md", "t.tmp.md"], id="segment"
            ),
            pytest.param("kb/**/d.md", ["a.md", "t.tmp.md"], id="double-star"),
            pytest.param("kb/notes/**", [], id="everything-below"),
            pytest.param("**/?.md", ["t.tmp.md"], id="question-mark"),
            pytest.param("[!a].md", ["a.md", "t.tmp.md"], id="class"),
            pytest.param("kb/*.md", None, id="star-stays-in-its-folder"),
            pytest.param("a.m", None, id="whole-names-only"),
            pytest.param("(a|d).md", None, id="no-regular-expression"),
            pytest.param("./kb/notes/drafts", ["a.md", "deep/drafts/d.md", "t.tmp.md"], id="dot"),
        ],
    )
    def test_leave_out_what_fits(self, tmp_path, pattern, left):
        everything = ["a.md", "deep/drafts/d.md", "drafts/d.md", "t.tmp.md"]
        for name in everything:
            write(tmp_path, f"kb/notes/{name}")

        found = scan(tmp_path, excludes=(pattern,))

        expected = everything if left is None else left
        assert paths(found) == [f"kb/notes/{name}" for name in expected]

    def test_take_files_in_again_as_gitignore_does(self, tmp_path):
        for name in ("a.md", "b.md"):
            write(tmp_path, f"kb/notes/{name}")

        assert paths(scan(tmp_path, excludes=("*.md", "!b.md"))) == ["kb/notes/b.md"]

    def test_fit_names_in_any_normalisation(self, tmp_path):
        write(tmp_path, NFD)

        assert scan(tmp_path, excludes=(NFD.rpartition("/")[2],)).entries == []
