"""Answers from memory: quick ones are always new, slow ones are given with their age."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from review.web import remembered
from review.web.remembered import Remembered

NOW = datetime(2026, 1, 31, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def slow(monkeypatch):
    """Every answer counts as slow."""
    monkeypatch.setattr(remembered, "AT_ONCE", -1.0)


class TestRemembered:
    def test_what_is_quick_is_made_anew_each_time(self):
        memory = Remembered(lambda now: now)

        memory.ask("q", now=NOW)

        assert memory.ask("q", now=LATER).value == LATER

    def test_what_is_slow_is_given_from_memory_with_its_age(self, slow):
        memory = Remembered(lambda now: now)

        memory.ask("q", now=NOW)
        answer = memory.ask("q", now=LATER)

        assert (answer.value, answer.at) == (NOW, NOW)

    def test_an_old_one_is_renewed_behind_once(self, slow, monkeypatch):
        monkeypatch.setattr(Remembered, "_is_old", staticmethod(lambda kept: True))
        started, go_on, calls = threading.Event(), threading.Event(), []

        def find(now):
            calls.append(now)
            if now != NOW:
                started.set()
                go_on.wait(10)
            return now

        memory = Remembered(find)
        memory.ask("q", now=NOW)
        assert memory.ask("q", now=LATER).value == NOW
        assert started.wait(10)
        assert memory.ask("q", now=LATER).value == NOW
        go_on.set()
        _wait_for_threads()

        assert calls == [NOW, LATER]

    def test_two_who_ask_first_wait_for_one_answer(self, slow):
        started, go_on, calls = threading.Event(), threading.Event(), []

        def find(now):
            calls.append(now)
            started.set()
            go_on.wait(10)
            return now

        memory = Remembered(find)
        answers = []
        asking = [
            threading.Thread(target=lambda: answers.append(memory.ask("q", now=NOW).value))
            for _ in range(2)
        ]
        for thread in asking:
            thread.start()
        started.wait(10)
        go_on.set()
        for thread in asking:
            thread.join(10)

        assert (answers, calls) == ([NOW, NOW], [NOW])

    def test_questions_are_kept_apart(self, slow):
        memory = Remembered(lambda now: now)

        memory.ask("one", now=NOW)

        assert memory.ask("other", now=LATER).value == LATER

    def test_a_failure_behind_leaves_the_last_answer(self, slow, monkeypatch):
        monkeypatch.setattr(Remembered, "_is_old", staticmethod(lambda kept: True))
        monkeypatch.setattr(threading, "excepthook", lambda args: None)

        def find(now):
            if now != NOW:
                raise OSError("the disk is gone")
            return now

        memory = Remembered(find)
        memory.ask("q", now=NOW)
        memory.ask("q", now=LATER)
        _wait_for_threads()

        assert memory.ask("q", now=NOW).value == NOW


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread() and "_renew" in thread.name:
            thread.join(10)
