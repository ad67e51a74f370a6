"""People and commands who decide at the same moment: one word counts, and no page misses one.

On a server, where transactions overlap; SQLite lets one writer in at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from review.models import Disposition, FindingState
from review.protocol.fix_answers import FixAnswer
from review.queue.triage import (
    DispositionRequest,
    Triaged,
    dispose_each,
    dispose_findings,
    undo,
)
from review.vocabulary import DispositionState
from tests.builders import NOW, make_config, make_root
from tests.helpers.reviewed import open_corpus
from tests.helpers.triage import queue_of, report

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
LATER = NOW + timedelta(hours=1)
MANY = [f"point {number} of the note" for number in range(40)]


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path)


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Call all of them in threads of their own."""

    def run(call: Callable[[], object]) -> object:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def triage(root: Path, marks: list[str], *, actor: str, at: datetime = LATER) -> Triaged:
    request = DispositionRequest(DispositionState.REJECTED, actor, findings=dict.fromkeys(marks, 0))
    return dispose_findings(request, config=make_config(root), now=at)


class TestRaces:
    def test_of_two_who_decide_about_the_same_one_is_told_of_the_other(self, root):
        marks = report(root, "a.md", "prose/x", *MANY)

        done = at_once(
            *(lambda who=who: triage(root, marks, actor=who) for who in ("human:a", "human:b"))
        )

        assert Disposition.objects.count() == len(marks)
        moved = [mark for item in done for mark in item.moved]
        assert sorted(moved) == sorted(marks)
        assert {len(item.moved) + len(item.not_moved) for item in done} == {len(marks)}

    def test_no_page_misses_a_word_whoever_writes_meanwhile(self, root):
        marks = report(root, "a.md", "prose/x", *MANY)

        def one_by_one() -> None:
            for mark in marks[:20]:
                answer = FixAnswer(mark, DispositionState.FIXED, "")
                corpus = open_corpus(root)
                dispose_each([answer], actor="human:c", corpus=corpus, now=LATER)

        def in_tens() -> None:
            for start in (20, 30):
                triage(root, marks[start : start + 10], actor="human:d")

        def look() -> None:
            for _ in range(60):
                assert queue_of(root).rows().count() <= len(marks)

        at_once(one_by_one, in_tens, look, look)

        states = dict(FindingState.objects.values_list("fingerprint", "state"))
        assert {states[mark] for mark in marks[:20]} == {"fixed"}
        assert {states[mark] for mark in marks[20:]} == {"rejected"}

    def test_taken_back_twice_at_once_it_is_taken_back_once(self, root):
        marks = report(root, "a.md", "prose/x", *MANY)
        triage(root, marks, actor="human:a")

        done = at_once(
            *(
                lambda n=n: undo(LATER, actor="human:a", now=LATER + timedelta(hours=n))
                for n in (1, 2)
            )
        )

        assert sorted(len(item.moved) for item in done) == [0, len(marks)]
        assert Disposition.objects.filter(state="open").count() == len(marks)
