"""What is gone from a repository, and what its Makefile makes."""

from __future__ import annotations

import pytest

from review.knowledge_base import Corpus
from tests.builders import make_config, make_root


@pytest.fixture
def root(tmp_path):
    make_root(tmp_path)
    (tmp_path / "src/app").mkdir(parents=True)
    (tmp_path / "src/app/main.py").write_text("")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "src/app/.gitignore").write_text("api\n")
    return tmp_path


def repository(root):
    return Corpus(make_config(root), use_cache=False).linker.repository


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        pytest.param("src/app/main.py", False, id="there"),
        pytest.param("src/app/gone.py", True, id="gone"),
        pytest.param("src/app/deep/gone.py", True, id="with-a-folder-that-is-gone"),
        pytest.param("src/gone.py", True, id="one-folder"),
        pytest.param("src/other/gone.py", False, id="second-folder-unknown"),
        pytest.param("lib/gone.py", False, id="first-folder-unknown"),
        pytest.param("src/app/run.log", False, id="ignored-by-git"),
        pytest.param("src/app/api/a.md", False, id="ignored-in-a-folder"),
        pytest.param("src/.env/x.py", False, id="hidden"),
        pytest.param("kb/reports/x.md", False, id="reports"),
        pytest.param("kb/review.toml", False, id="optional"),
        pytest.param("gone.py", False, id="no-folder"),
    ],
)
def test_is_gone(root, path, gone):
    assert repository(root).is_gone(path, note_path="kb/notes/a.md") is gone


@pytest.mark.parametrize("folder", ["kb/notes", "kb"])
def test_what_is_there_from_a_folder_of_the_note_is_not_gone(root, folder):
    (root / folder / "src/app").mkdir(parents=True)
    (root / folder / "src/app/beside.py").write_text("")

    assert not repository(root).is_gone("src/app/beside.py", note_path="kb/notes/a.md")


@pytest.mark.parametrize(
    ("makefile", "targets"),
    [
        pytest.param("all: x\nx:\n\techo a: b\nV := 1\n", {"all", "x"}, id="targets"),
        pytest.param(".PHONY: a b\na b:\n", {".PHONY", "a", "b"}, id="phony"),
        pytest.param("$(DIR)/x: y\ny:\n", {"$(DIR)/x", "y"}, id="variable-in-a-path"),
        pytest.param("$(NAME): y\n", None, id="variable-name"),
        pytest.param("%: y\n", None, id="any-name"),
        pytest.param("include more.mk\na:\n", None, id="include"),
    ],
)
def test_make_targets(root, makefile, targets):
    (root / "Makefile").write_text(makefile)

    assert repository(root).make_targets == targets


def test_without_a_makefile_no_target_is_known(root):
    assert repository(root).make_targets is None
