"""How the warn queue is read: rows as one value while the notes are looked at, entries in chunks while they are iterated over."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from review.knowledge_base import Corpus
from review.models import Acceptance
from review.queue import entries as queue_entries
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from tests.builders import NOTE, make_config, make_gate, make_root
from tests.helpers.reviewed import WARN, review_pairs

pytestmark = pytest.mark.django_db

GATES = ("prose/x", "prose/y")
NAMES = tuple(f"n{number}.md" for number in range(5))
GONE = "n3.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Ten warnings, two of them of a note that is gone."""
    root = make_root(
        tmp_path,
        notes=dict.fromkeys(NAMES, NOTE),
        gates={name: make_gate(name) for name in GATES},
    )
    review_pairs(root, *((name, gate) for name in NAMES for gate in GATES), review=WARN)
    (root / "kb/notes" / GONE).unlink()
    return root


def places(entries) -> list[tuple[str, str]]:
    return [(entry.note_path.rpartition("/")[2], entry.gate_id) for entry in entries]


@pytest.mark.parametrize("size", [1, 3, 8, 9, 1000])
def test_parts_of_any_size_give_every_entry_once_with_its_own_findings_and_text(
    root, monkeypatch, size
):
    monkeypatch.setattr(queue_entries, "_AT_ONCE", size)

    with Corpus(make_config(root)) as corpus:
        queue = read_warn_queue(corpus, QueueFilter())
        entries, deleted = list(queue.entries), list(queue.deleted_notes)

    there = [(name, gate) for name in NAMES if name != GONE for gate in GATES]
    assert places(entries) == there
    assert places(deleted) == [(GONE, gate) for gate in GATES]
    assert [len(entry.findings) for entry in (*entries, *deleted)] == [1] * 10
    assert len({entry.findings[0].fingerprint for entry in (*entries, *deleted)}) == 10
    assert all(entry.rationale and "WARN" in entry.rationale for entry in (*entries, *deleted))


def test_reviews_that_nobody_asked_for_are_not_read(root, monkeypatch):
    monkeypatch.setattr(queue_entries, "_AT_ONCE", 2)

    with Corpus(make_config(root)) as corpus, CaptureQueriesContext(connection) as read:
        queue = read_warn_queue(corpus, QueueFilter())
        before = texts_read(read)
        next(queue.entries)

    assert before == 0
    assert texts_read(read) == 1


@pytest.mark.parametrize("microsecond", [0, 1, 10, 120_000, 123_456, 500_000, 999_999])
def test_moments_are_written_to_the_microsecond(root, microsecond):
    moment = datetime(2026, 1, 31, 9, 30, 1, microsecond, tzinfo=UTC)
    Acceptance.objects.update(accepted_at=moment)

    with Corpus(make_config(root)) as corpus:
        entries = list(read_warn_queue(corpus, QueueFilter()).entries)

    assert {entry.accepted_at for entry in entries} == {f"2026-01-31T09:30:01.{microsecond:06}Z"}


class TestNotesBesideRows:
    def test_problems_of_notes_without_an_entry_are_not_told(self, tmp_path):
        gates = {name: make_gate(name) for name in GATES}
        root = make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE}, gates=gates)
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "prose/y"), review=WARN)
        for name in ("a.md", "b.md"):
            (root / "kb/notes" / name).write_text("---\nnot: [closed\n---\nText.\n")
        gate = root / "kb/instructions/review-gates/prose/y.md"
        gate.write_text(make_gate("prose/y", body="Another question.\n"))

        with Corpus(make_config(root)) as corpus:
            queue = read_warn_queue(corpus, QueueFilter())

            assert places(queue.entries) == [("a.md", "prose/x")]
            assert [problem.path for problem in queue.problems] == ["kb/notes/a.md"]

    def test_what_is_wrong_with_the_look_is_raised(self, root, monkeypatch):
        def refuse(_corpus, _paths):
            raise PermissionError("no look")

        monkeypatch.setattr(Corpus, "notes_at", refuse)

        with Corpus(make_config(root)) as corpus, pytest.raises(PermissionError, match="no look"):
            read_warn_queue(corpus, QueueFilter())

    def test_a_base_without_reviews_has_an_empty_queue(self, tmp_path):
        root = make_root(tmp_path, notes={"a.md": NOTE}, gates={"prose/x": make_gate("prose/x")})

        with Corpus(make_config(root)) as corpus:
            queue = read_warn_queue(corpus, QueueFilter())

            assert [*queue.entries, *queue.deleted_notes, *queue.problems] == []


def texts_read(read: CaptureQueriesContext) -> int:
    return sum('FROM "review_texts"' in query["sql"] for query in read.captured_queries)
