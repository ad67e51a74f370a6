"""A board that is brought up to date says what one made anew says, whatever happened in between."""

from __future__ import annotations

from datetime import timedelta

import pytest
from review.queries.queue_board import QueueBoard

from review.models import CurrentAcceptance, ReviewStore
from review.orchestration.rebuilding import rebuild_acceptances
from review.queries import files_now as looking
from review.queries import queue_boards
from tests.builders import NOTE, NOW, make_root, write_note
from tests.helpers.eventful import eventful_root, history
from tests.helpers.reviewed import open_corpus
from tests.helpers.triage import board_of, decide, report

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


def told(board: QueueBoard) -> list[tuple[object, ...]]:
    """All that a board says, line by line."""
    placing, standing = board.placing, board.standing
    ids = [board.last_word_id(line.fingerprint) for line in board.lines]
    return list(
        zip(
            board.lines,
            placing.current,
            placing.latest,
            placing.since,
            standing.state,
            standing.seen,
            ids,
            strict=True,
        )
    )


class TestUpToDate:
    def test_after_everything_that_can_happen(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        root = eventful_root(tmp_path)
        seen = []

        for step in history(root):
            kept = told(board_of(root))
            seen.append(kept)
            assert kept == told(board_of(root, fresh=True)), step

        assert len({str(item) for item in seen}) > len(seen) // 2

    def test_after_more_moves_than_are_worth_reading_one_by_one(self, root, monkeypatch):
        monkeypatch.setattr(queue_boards, "_MOVED_AT_MOST", 1)
        report(root, "a.md", "prose/x", "vague")
        board_of(root)
        report(root, "a.md", "prose/x", "vague", "unclear")
        report(root, "b.md", "prose/x", "vague")

        assert told(board_of(root)) == told(board_of(root, fresh=True))
        assert len(board_of(root).lines) == 3

    def test_after_current_acceptances_were_made_again(self, root):
        report(root, "a.md", "prose/x", "vague")
        CurrentAcceptance.objects.update(decision="pass")
        assert board_of(root, fresh=True).lines == []

        rebuild_acceptances()

        assert [line.note_path for line in board_of(root).lines] == ["kb/notes/a.md"]

    def test_in_a_store_that_took_the_place_of_another(self, root):
        report(root, "a.md", "prose/x", "vague")
        board_of(root)
        ReviewStore.objects.update(store_id="6" * 32)
        CurrentAcceptance.objects.all().delete()

        assert board_of(root).lines == []


class TestCheapness:
    def test_a_page_after_nothing_happened_takes_the_board_as_it_is(
        self, root, django_assert_num_queries
    ):
        report(root, "a.md", "prose/x", "vague")
        board = board_of(root)

        with django_assert_num_queries(3):
            assert board_of(root) is board

    def test_a_disposition_reads_no_line_again(self, root, django_assert_num_queries):
        (mark,) = report(root, "a.md", "prose/x", "vague")
        board = board_of(root)
        decide(mark, "rejected")

        with django_assert_num_queries(4):
            after = board_of(root)

        assert after.layout is board.layout
        assert list(after.standing.state) == ["rejected"]

    def test_the_statements_do_not_grow_with_the_findings(self, tmp_path, monkeypatch, root):
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        counts = []
        for number in (2, 30):
            report(root, "a.md", "prose/x", *(f"point {n} of it" for n in range(number)))
            with CaptureQueriesContext(connection) as seen:
                board_of(root, fresh=True)
            counts.append(len(seen))

        assert counts[0] == counts[1]


class TestFiles:
    def test_of_a_small_base_are_looked_at_each_time(self, root):
        report(root, "a.md", "prose/x", "vague")
        board_of(root)

        write_note(root, "a.md", NOTE + "\nMore.\n")

        assert board_of(root).placing.since == ["changed"]

    def test_of_a_large_base_are_looked_at_once_a_minute(self, root, monkeypatch):
        monkeypatch.setattr(looking, "SMALL_BASE", 1)
        report(root, "a.md", "prose/x", "vague")
        board_of(root, now=NOW)
        write_note(root, "a.md", NOTE + "\nMore.\n")

        soon = board_of(root, now=NOW + timedelta(seconds=59)).placing.since
        later = board_of(root, now=NOW + timedelta(seconds=61)).placing.since

        assert (soon, later) == (["same"], ["changed"])

    def test_that_say_the_same_leave_the_board_as_it_is(self, root, monkeypatch):
        monkeypatch.setattr(looking, "SMALL_BASE", 1)
        report(root, "a.md", "prose/x", "vague")
        board = board_of(root, now=NOW)

        assert board_of(root, now=NOW + timedelta(minutes=5)) is board

    def test_looked_at_before_a_finding_was_deferred_do_not_open_it(self, root, monkeypatch):
        monkeypatch.setattr(looking, "SMALL_BASE", 1)
        (mark,) = report(root, "a.md", "prose/x", "vague")
        board_of(root, now=NOW)
        write_note(root, "a.md", NOTE + "\nMore.\n")
        sha256 = open_corpus(root).read_note("kb/notes/a.md").sha256
        decide(mark, "deferred", at=NOW + timedelta(seconds=20), note_sha256=sha256)

        soon = list(board_of(root, now=NOW + timedelta(seconds=30)).standing.state)
        write_note(root, "a.md", NOTE + "\nAnd more.\n")
        later = list(board_of(root, now=NOW + timedelta(seconds=90)).standing.state)

        assert (soon, later) == (["deferred"], ["open"])
