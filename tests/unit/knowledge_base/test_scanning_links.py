"""Links met on a walk: inside, outside, dead, and in circles."""

from __future__ import annotations

import pytest

from tests.unit.knowledge_base.builders import link, make_corpus, problem_codes, write
from tests.unit.knowledge_base.test_scanning import paths, scan


class TestLinks:
    def test_inside_the_root_are_notes_under_their_own_path(self, tmp_path):
        write(tmp_path, "docs/real.md", "text")
        write(tmp_path, "docs/folder/x.md")
        link(tmp_path, "kb/notes/linked.md", "../../docs/real.md")
        link(tmp_path, "kb/notes/folder", "../../docs/folder")

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/folder/x.md", "kb/notes/linked.md"]
        assert found.entries[1].signature.size == len("text")
        assert found.problems == []

    def test_may_be_the_folder_that_is_walked(self, tmp_path):
        write(tmp_path, "docs/a.md")
        link(tmp_path, "kb/notes", "../docs")

        assert paths(scan(tmp_path)) == ["kb/notes/a.md"]

    @pytest.mark.parametrize("name", ["out.md", "folder", "folder.md"])
    def test_out_of_the_root_are_problems(self, tmp_path, name):
        root = tmp_path / "root"
        write(tmp_path, "outside/secret.md")
        write(root, "kb/notes/a.md")
        target = "../../../outside" + ("/secret.md" if name == "out.md" else "")
        link(root, f"kb/notes/{name}", target)

        found = scan(root)

        assert paths(found) == ["kb/notes/a.md"]
        assert problem_codes(found.problems) == {f"kb/notes/{name}": "outside-root"}

    def test_out_of_the_root_are_a_problem_where_the_walk_starts(self, tmp_path):
        write(tmp_path, "outside/secret.md")
        link(tmp_path / "root", "kb/notes", "../../outside")

        assert problem_codes(scan(tmp_path / "root").problems) == {"kb/notes": "outside-root"}

    def test_to_files_that_would_be_no_notes_are_none_of_our_business(self, tmp_path):
        root = tmp_path / "root"
        write(tmp_path, "outside/logo.png")
        link(root, "kb/notes/logo.png", "../../../outside/logo.png")
        link(root, "kb/notes/dead.png", "nowhere.png")

        found = scan(root)

        assert (found.entries, found.problems) == ([], [])

    def test_that_are_dead_are_problems_where_a_note_could_be(self, tmp_path):
        link(tmp_path, "kb/notes/dead.md", "nowhere.md")

        assert problem_codes(scan(tmp_path).problems) == {"kb/notes/dead.md": "vanished"}

    @pytest.mark.parametrize(
        "links",
        [
            pytest.param({"self.md": "self.md"}, id="to-itself"),
            pytest.param({"a1.md": "a2.md", "a2.md": "a1.md"}, id="files"),
            pytest.param({"here": "."}, id="to-its-folder"),
            pytest.param({"deep/up": "../../.."}, id="to-the-root"),
            pytest.param({"deep/up": "../.."}, id="to-the-folder-of-a-root"),
        ],
    )
    def test_that_loop_are_problems(self, tmp_path, links):
        for name, target in links.items():
            link(tmp_path, f"kb/notes/{name}", target)

        assert problem_codes(scan(tmp_path).problems) == {
            f"kb/notes/{name}": "link-loop" for name in links
        }

    @pytest.mark.parametrize(
        "links",
        [
            pytest.param({"x/to-y": "../y", "y/to-x": "../x"}, id="to-one-another"),
            pytest.param({"sibling": "x"}, id="to-a-sibling"),
        ],
    )
    def test_to_folders_that_are_walked_give_no_note_twice(self, tmp_path, links):
        for folder in ("", "x/", "y/"):
            write(tmp_path, f"kb/notes/{folder}a.md")
        for name, target in links.items():
            link(tmp_path, f"kb/notes/{name}", target)

        found = scan(tmp_path)

        assert paths(found) == ["kb/notes/a.md", "kb/notes/x/a.md", "kb/notes/y/a.md"]
        assert found.problems == []

    def test_that_multiply_are_followed_once(self, tmp_path):
        for level in range(8):
            write(tmp_path, f"kb/store/{level}/a.md")
            for number in range(10):
                link(tmp_path, f"kb/store/{level}/{number}", f"../{level + 1}")
        link(tmp_path, "kb/notes/start", "../store/0")
        link(tmp_path, "kb/notes/later", "../store/0")

        found = scan(tmp_path)

        assert len(found.entries) == 8
        assert found.entries[0].path.startswith("kb/notes/later/")
        assert found.problems == [] or set(problem_codes(found.problems).values()) == {"vanished"}

    def test_to_a_folder_of_notes_name_the_notes_there(self, tmp_path):
        write(tmp_path, "kb/notes/real/a.md")
        link(tmp_path, "kb/notes/alias", "real")

        for name in ("kb/notes/alias", "kb/notes/alias/a.md"):
            (note,) = make_corpus(tmp_path).notes([name]).notes
            assert note.path == "kb/notes/real/a.md"

    def test_to_the_reports_folder_lead_to_no_notes(self, tmp_path):
        write(tmp_path, "kb/reports/reviews/a.md")
        link(tmp_path, "kb/notes/reviews", "../reports/reviews")

        found = scan(tmp_path)

        assert (found.entries, found.problems) == ([], [])

    def test_to_hidden_files_are_problems(self, tmp_path):
        write(tmp_path, ".env", "SECRET=1")
        write(tmp_path, ".git/notes/a.md")
        link(tmp_path, "kb/notes/env.md", "../../.env")
        link(tmp_path, "kb/notes/git", "../../.git/notes")

        found = scan(tmp_path)

        assert found.entries == []
        assert problem_codes(found.problems) == {
            "kb/notes/env.md": "outside-root",
            "kb/notes/git": "outside-root",
        }
