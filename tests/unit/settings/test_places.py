"""Where files of jobs may lie."""

from __future__ import annotations

import pytest

from review import settings
from tests.builders import make_root
from tests.helpers.refusals import refuses


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "kb/reports").mkdir(parents=True)
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path)


@pytest.mark.parametrize(
    "place",
    [
        ".",
        "kb",
        "kb/notes",
        "kb/notes/jobs",
        "kb/instructions/review-gates",
        "kb/instructions",
        "link",
    ],
)
def test_no_folder_that_holds_or_hides_notes_or_gates(root, monkeypatch, place):
    (root / "link").symlink_to(root / "kb" / "notes")
    monkeypatch.setenv("COMMONPLACE_REVIEW_ARTIFACTS", place)

    with refuses("environment-refused", match="no note or gate there would be seen"):
        settings.current()


@pytest.mark.parametrize("place", ["jobs", "kb/jobs", "kb/reports/second", "../elsewhere"])
def test_any_other(root, monkeypatch, place):
    monkeypatch.setenv("COMMONPLACE_REVIEW_ARTIFACTS", place)

    assert settings.current().artifacts == root / place
