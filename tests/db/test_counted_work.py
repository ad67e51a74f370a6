"""What questions and ingests cost, counted in rows and files: the same in a small base and a larger one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import CaptureQueriesContext

from review.ingest.ingest import ingest_jobs
from review.ingest.load import IngestRequest
from review.knowledge_base import Corpus
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from review.selection.select import SelectionRequest, select_targets
from tests.builders import NOTE, NOW, PARTITION, make_config, make_gate, make_root, write_note
from tests.helpers.jobs import queued, write_output
from tests.helpers.reviewed import PASS, WARN, ingest, review_pairs

pytestmark = pytest.mark.django_db

GATES = ("prose/x", "prose/y")
ONE = "a.md"
SMALL, LARGE = 2, 14


def make_base(folder: Path, notes: int) -> Path:
    """Every pair is accepted; `a.md` has one warning."""
    names = [ONE, *(f"n{number:02}.md" for number in range(1, notes))]
    root = make_root(
        folder, notes=dict.fromkeys(names, NOTE), gates={name: make_gate(name) for name in GATES}
    )
    review_pairs(root, *((name, gate) for name in names for gate in GATES), review=PASS)
    review_pairs(root, (ONE, "prose/x"), review=WARN)
    return root


@contextmanager
def counted_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One entry a row that a query gave."""
    real, found = SQLCompiler.results_iter, []

    def counting(self, *args, **kwargs):
        for row in real(self, *args, **kwargs):
            found.append(1)
            yield row

    with monkeypatch.context() as patch:
        patch.setattr(SQLCompiler, "results_iter", counting)
        yield found


@contextmanager
def opened_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the notes that are opened."""
    real, found = os.open, []

    def counting(path, *args, **kwargs):
        if str(path).endswith(".md"):
            found.append(Path(path).name)
        return real(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", counting)
        yield found


def select_one(root: Path) -> dict[str, int]:
    request = SelectionRequest(
        all_gates=True, notes=(f"kb/notes/{ONE}",), model_partition=PARTITION
    )
    with Corpus(make_config(root)) as corpus:
        selection = select_targets(corpus, request)
        list(selection.targets())
    return dict(selection.counts)


class TestSelectorOfOneNote:
    def test_fetches_no_row_of_another_note(self, tmp_path, monkeypatch):
        root = make_base(tmp_path, SMALL)
        with counted_rows(monkeypatch) as before:
            select_one(root)
        for number in range(SMALL, LARGE):
            write_note(root, f"n{number:02}.md")
            review_pairs(root, *((f"n{number:02}.md", gate) for gate in GATES), review=PASS)
        queued(root, ("n01.md", "prose/x"))

        with counted_rows(monkeypatch) as after:
            counts = select_one(root)

        assert counts["fresh"] == len(GATES)
        assert len(after) == len(before)

    def test_opens_no_other_note(self, tmp_path, monkeypatch):
        root = make_base(tmp_path, LARGE)
        make_config(root).index_path.unlink(missing_ok=True)

        with opened_files(monkeypatch) as opened:
            select_one(root)

        gates = [f"{name.partition('/')[2]}.md" for name in GATES]
        assert sorted(opened) == sorted([ONE, *gates])


class TestWarnQueue:
    def test_fetches_rows_and_opens_notes_of_its_findings_only(self, tmp_path, monkeypatch):
        root = make_base(tmp_path, SMALL)
        with Corpus(make_config(root)) as corpus, counted_rows(monkeypatch) as before:
            list(read_warn_queue(corpus, QueueFilter()).entries)
        for number in range(SMALL, LARGE):
            write_note(root, f"n{number:02}.md")
            review_pairs(root, *((f"n{number:02}.md", gate) for gate in GATES), review=PASS)
        make_config(root).index_path.unlink(missing_ok=True)

        with (
            Corpus(make_config(root)) as corpus,
            counted_rows(monkeypatch) as after,
            opened_files(monkeypatch) as opened,
        ):
            entries = list(read_warn_queue(corpus, QueueFilter()).entries)

        assert len(entries) == 1
        assert len(after) == len(before)
        assert [name for name in opened if name.startswith(("a", "n"))] == [ONE]


class TestIngest:
    def test_fetches_as_many_rows_whatever_the_store_holds(self, tmp_path, monkeypatch):
        root = make_base(tmp_path, SMALL)
        write_note(root, "first.md")
        write_note(root, "second.md")
        first = queued(root, *(("first.md", gate) for gate in GATES))
        with counted_rows(monkeypatch) as before:
            ingest(root, first, review=WARN)
        for number in range(SMALL, LARGE):
            write_note(root, f"n{number:02}.md")
            review_pairs(root, *((f"n{number:02}.md", gate) for gate in GATES), review=WARN)
        second = queued(root, *(("second.md", gate) for gate in GATES))

        with counted_rows(monkeypatch) as after:
            ingest(root, second, review=WARN)

        assert len(after) == len(before)

    @pytest.mark.parametrize("review", [PASS, WARN])
    def test_takes_as_many_statements_for_many_jobs_as_for_a_few(self, tmp_path, review):
        root = make_base(tmp_path, 20)
        request = IngestRequest(actor="agent:test")
        taken = []
        for count in (2, 20):
            ids = [
                queued(root, *((f"n{number:02}.md", gate) for gate in GATES))
                for number in range(1, count)
            ]
            for job_id in ids:
                write_output(root, job_id, review)
            with CaptureQueriesContext(connection) as statements:
                told = ingest_jobs(ids, request=request, config=make_config(root), now=NOW)
            assert len(told[0]) == len(ids)
            taken.append(len(statements))

        assert taken[0] == taken[1] <= 23
