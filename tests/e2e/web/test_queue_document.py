"""The queue's page gives programs what `warn_selector --json` prints."""

from __future__ import annotations

import pytest

from review.web.pages import queue as queue_page
from tests.builders import NOTE, PARTITION, make_root
from tests.helpers.eventful import OTHER, eventful_root, history
from tests.helpers.triage import command_document, page_document, report

FILTERS = {
    "": (),
    "state=rejected": ("--status", "rejected"),
    "state=open&state=deferred&state=fixed": ("--status", "open", "deferred", "fixed"),
    "severity=warn": ("--severity", "warn"),
    "severity=fail&state=open&state=rejected": (
        *("--severity", "fail"),
        *("--status", "open", "rejected"),
    ),
    "decision=fail": ("--decision", "fail"),
    "gate=prose/y&gate=links/z": ("--gate", "prose/y", "links/z"),
    "lens=prose": ("--gate", "prose"),
    "note=kb/notes/a.md": ("--note", "kb/notes/a.md"),
    "folder=kb/notes/deep": ("--note", "kb/notes/deep"),
    f"partition={OTHER}": ("--model", OTHER),
    f"partition={PARTITION}": ("--model", PARTITION),
}


@pytest.fixture
def eventful(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return eventful_root(tmp_path)


class TestDocument:
    def test_is_the_commands_whatever_happened_and_whatever_is_asked_for(self, web, eventful):
        shown = 0
        for step in history(eventful):
            for query, options in FILTERS.items():
                document = page_document(web, query)
                assert document == command_document(*options), (step, query)
                shown += len(document["entries"]) + len(document["deleted_notes"])

        assert shown > 100

    def test_is_the_commands_in_parts_put_together(self, web, eventful, monkeypatch):
        monkeypatch.setattr(queue_page, "LINES_A_DOCUMENT", 1)
        for step in history(eventful):
            assert page_document(web) == command_document(), step

    def test_holds_each_entry_whole(self, web, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        monkeypatch.setattr(queue_page, "LINES_A_DOCUMENT", 3)
        root = make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})
        for name in ("a.md", "b.md"):
            report(root, name, "prose/x", *(f"point {number}" for number in range(5)))

        first = web.get("/queue/?format=json").json()

        assert [len(entry["findings"]) for entry in first["entries"]] == [5]
        assert page_document(web) == command_document()

    def test_says_what_cannot_be_read(self, web, root):
        report(root, "a.md", "prose/x", "a point")
        (root / "kb/notes/a.md").write_bytes(b"\xff\xfe")

        problems = web.get("/queue/?format=json").json()["problems"]

        assert [problem["path"] for problem in problems] == ["kb/notes/a.md"]
        assert problems == command_document()["problems"]
