"""Naming notes: files, folders, and what is said when a name stands for nothing."""

from __future__ import annotations

import functools
import os
import unicodedata

import pytest

from review.domain.paths import BadPath
from review.knowledge_base import NoSuchNote
from review.knowledge_base.index import FileIndex
from review.knowledge_base.notes import load_notes
from review.knowledge_base.reader import DiskPaths, read_file
from review.knowledge_base.walker import Scanner
from tests.unit.knowledge_base.builders import (
    LIMIT,
    RULES,
    later,
    link,
    make_corpus,
    problem_codes,
    write,
)
from tests.unit.knowledge_base.test_notes import A, root

__all__ = ["root"]


class TestSelection:
    def test_takes_files_and_folders_and_sorts_them(self, root):
        found = make_corpus(root).notes([A, "kb/notes/1", "./kb/notes/0/", A])

        assert [note.path for note in found.notes] == [
            "kb/notes/0/n.md",
            "kb/notes/1/n.md",
            A,
        ]

    def test_takes_a_file_outside_the_note_roots(self, root):
        write(root, "docs/guide.md")

        assert [note.path for note in make_corpus(root).notes(["docs/guide.md"]).notes] == [
            "docs/guide.md"
        ]

    def test_takes_a_vault_whose_notes_lie_in_the_root(self, root):
        for path in ("top.md", "sub/\u00fc.md", "kb/AGENTS.md", ".obsidian/x.md"):
            write(root, path)
        vault = functools.partial(make_corpus, root, note_roots=(".",))

        assert [note.path for note in vault().notes().notes] == ["sub/\u00fc.md", "top.md"]
        assert [note.path for note in vault().notes_at(["top.md", A]).notes] == ["top.md"]
        assert [note.path for note in vault().notes(["top.md"]).notes] == ["top.md"]
        with pytest.raises(NoSuchNote, match="belongs to kb/"):
            vault().notes(["kb/AGENTS.md"])
        both = make_corpus(root, note_roots=(".", "kb/notes")).notes().notes
        assert {note.path for note in both} > {A, "top.md"}

    def test_takes_an_absolute_path_below_the_root(self, root):
        assert [note.path for note in make_corpus(root).notes([str(root / A)]).notes] == [A]

    def test_takes_by_name_what_a_pattern_leaves_out_of_folders(self, root):
        corpus = make_corpus(root, excludes=("a.md",))

        assert A not in {note.path for note in corpus.notes().notes}
        assert [note.path for note in corpus.notes([A]).notes] == [A]

    def test_takes_by_name_what_a_machine_left_there(self, root):
        pointer, copy = "kb/notes/p.md", "kb/notes/a (conflicted copy).md"
        write(root, pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n")
        write(root, copy)
        corpus = make_corpus(root)

        everywhere, by_name = corpus.notes(), corpus.notes([pointer, copy])

        assert {pointer, copy}.isdisjoint(note.path for note in everywhere.notes)
        assert problem_codes(everywhere.problems) == {
            pointer: "git-lfs-pointer",
            copy: "conflicted-copy",
        }
        assert [note.path for note in by_name.notes] == [copy, pointer]
        assert [(problem.path, problem.skipped) for problem in by_name.problems] == [
            (pointer, False)
        ]

    @pytest.mark.parametrize("form", ["NFC", "NFD"])
    @pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
    def test_takes_a_name_in_any_normalisation(self, tmp_path, form, on_disk):
        spelled = unicodedata.normalize(on_disk, "kb/notes/caf\u00e9/\u00fc.md")
        write(tmp_path, spelled)

        (note,) = make_corpus(tmp_path).notes([unicodedata.normalize(form, spelled)]).notes

        assert note.path == unicodedata.normalize("NFC", spelled)
        assert note.disk_path == spelled

    @pytest.mark.parametrize("name", ["-x.md", "::.md", "===.md", "diff.md", "x" * 252 + ".md"])
    def test_takes_names_that_only_look_odd(self, tmp_path, name):
        write(tmp_path, f"kb/notes/{name}")

        assert len(make_corpus(tmp_path).notes([f"kb/notes/{name}"]).notes) == 1

    def test_names_what_is_near_to_a_name_that_does_not_exist(self, root):
        with pytest.raises(NoSuchNote) as caught:
            make_corpus(root).notes(["kb/notes/b.md"])

        assert "'kb/notes/b.md' does not exist" in caught.value.message
        assert A in caught.value.hint
        assert caught.value.exit_code == 5

    @pytest.mark.parametrize(
        ("name", "refusal"),
        [
            pytest.param("kb/notes/A.md", NoSuchNote, id="other-case"),
            pytest.param("kb/notes/a.md/x.md", NoSuchNote, id="file-as-folder"),
            pytest.param("README.txt", NoSuchNote, id="not-markdown"),
            pytest.param(".hidden.md", NoSuchNote, id="hidden"),
            pytest.param("kb/notes/.git/a.md", NoSuchNote, id="in-a-hidden-folder"),
            pytest.param("kb/reports/r.md", NoSuchNote, id="in-the-reports-folder"),
            pytest.param("kb/reports", NoSuchNote, id="the-reports-folder"),
            pytest.param("../a.md", BadPath, id="climbs-out"),
            pytest.param("/etc/passwd", BadPath, id="absolute"),
            pytest.param("", BadPath, id="empty"),
            pytest.param("kb/notes/a\n.md", BadPath, id="control-character"),
        ],
    )
    def test_refuses_names_that_can_be_no_note(self, root, name, refusal):
        for path in ("README.txt", ".hidden.md", "kb/reports/r.md"):
            write(root, path)

        with pytest.raises(refusal):
            make_corpus(root).notes([name])

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            pytest.param(b"", "empty-note", id="empty"),
            pytest.param(b"\n \n", "empty-note", id="blank"),
            pytest.param(b"\xff\xfe", "not-utf8", id="not-utf8"),
            pytest.param(b"\x00", "contains-nul", id="nul"),
            pytest.param(b"x" * 100_001, "too-large", id="too-large"),
            pytest.param(None, "not-a-file", id="fifo"),
        ],
    )
    def test_reports_a_bad_note_alike_by_name_and_in_its_folder(self, root, content, code):
        bad = "kb/notes/bad.md"
        if content is None:
            os.mkfifo(root / bad)
        else:
            write(root, bad, content)

        in_folder = make_corpus(root).notes()
        by_name = make_corpus(root).notes([bad, A])

        assert in_folder.problems == by_name.problems
        assert problem_codes(by_name.problems) == {bad: code}
        assert [note.path for note in by_name.notes] == [A]
        assert len(in_folder.notes) == 4

    def test_reports_links_out_of_the_root_alike_by_name_and_in_their_folder(self, tmp_path):
        root = tmp_path / "root"
        write(tmp_path, "outside/x.md")
        link(root, "kb/notes/out.md", "../../../outside/x.md")
        link(root, "kb/notes/folder", "../../../outside")

        by_name = make_corpus(root).notes(["kb/notes/out.md", "kb/notes/folder"])

        assert by_name.problems == make_corpus(root).notes().problems
        assert set(problem_codes(by_name.problems).values()) == {"outside-root"}

    @pytest.mark.parametrize("name", ["x.md", "none.md"])
    def test_does_not_tell_what_exists_outside_the_root(self, tmp_path, name):
        root = tmp_path / "root"
        write(tmp_path, "outside/x.md")
        link(root, "kb/notes/folder", "../../../outside")

        found = make_corpus(root).notes([f"kb/notes/folder/{name}"])

        assert problem_codes(found.problems) == {f"kb/notes/folder/{name}": "outside-root"}

    def test_skips_both_of_two_files_with_one_identity_by_name_too(self, tmp_path):
        for form in ("NFC", "NFD"):
            write(tmp_path, unicodedata.normalize(form, "kb/notes/\u00e9.md"), form)

        found = make_corpus(tmp_path).notes(["kb/notes/\u00e9.md"])

        assert found.notes == ()
        assert found.problems == make_corpus(tmp_path).notes().problems
        assert problem_codes(found.problems) == {"kb/notes/\u00e9.md": "name-collision"}

    def test_finds_nothing_in_a_folder_without_notes(self, root):
        (root / "kb/empty").mkdir()

        assert make_corpus(root).notes(["kb/empty"]).notes == ()

    def test_lets_one_of_the_note_roots_be_missing(self, root):
        assert make_corpus(root).notes().problems == ()

    def test_reports_that_all_note_roots_are_missing(self, tmp_path):
        (tmp_path / "kb").mkdir()

        found = make_corpus(tmp_path, note_roots=("kb/nots",)).notes()

        assert problem_codes(found.problems) == {"kb/nots": "vanished"}

    @pytest.mark.parametrize("kind", ["dead", "out", "file"])
    def test_reports_a_note_root_that_cannot_be_walked(self, tmp_path, kind):
        root = tmp_path / "root"
        write(root, "kb/reference/a.md")
        if kind == "file":
            write(root, "kb/notes", "no folder")
        else:
            link(root, "kb/notes", "nowhere" if kind == "dead" else "../..")

        found = make_corpus(root).notes()

        assert [note.path for note in found.notes] == ["kb/reference/a.md"]
        code = "outside-root" if kind == "out" else "vanished"
        assert problem_codes(found.problems) == {"kb/notes": code}

    def test_reports_a_folder_on_the_way_that_may_not_be_listed(self, root, monkeypatch):
        listdir = os.listdir

        def listdir_as_a_stranger(folder):
            if folder.endswith("kb/notes"):
                raise PermissionError(13, "Permission denied")
            return listdir(folder)

        monkeypatch.setattr(os, "listdir", listdir_as_a_stranger)

        found = make_corpus(root).notes([A])

        assert problem_codes(found.problems) == {A: "unreadable"}

    def test_reports_a_note_that_vanishes_between_scan_and_read(self, tmp_path):
        write(tmp_path, A)
        write(tmp_path, "kb/notes/b.md")
        scanner = Scanner(str(tmp_path), RULES, DiskPaths(str(tmp_path)))
        scanner.add_roots()
        found = scanner.result()
        (tmp_path / A).unlink()
        read = functools.partial(read_file, str(tmp_path), max_bytes=LIMIT)
        index = FileIndex(None, root="/", clock_ns=later)

        notes = load_notes(found, index=index, read=read, now_ns=later())

        assert [note.path for note in notes.notes] == ["kb/notes/b.md"]
        assert problem_codes(notes.problems) == {A: "vanished"}

    def test_lets_note_roots_lie_within_one_another_or_be_hidden(self, root):
        write(root, ".agents/skills/s.md")
        corpus = make_corpus(root, note_roots=("kb", "kb/notes", ".agents/skills"))

        assert len(corpus.notes().notes) == 5
        assert len(corpus.notes([".agents/skills/s.md"]).notes) == 1

    def test_never_takes_an_artifacts_folder_below_a_note_root_for_notes(self, root):
        write(root, "kb/notes/jobs/prompt.md")

        found = make_corpus(root, artifacts=root / "kb/notes/jobs").notes()

        assert len(found.notes) == 4
