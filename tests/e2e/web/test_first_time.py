"""The first page of a large base after a server started: there at once, and it asks again by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from django.test import Client

from review.errors import TryAgain
from review.web import first_time
from review.web import start as start_page
from review.web.first_time import Source, Workshop

NOW = datetime(2026, 1, 31, tzinfo=UTC)
HANG = 30


class Held:
    """Something that takes as long as a test wants; it counts how often it is made."""

    def __init__(self, made: Callable[[datetime], object] = lambda now: now) -> None:
        self.go_on, self.calls, self.value = threading.Event(), 0, made(NOW)

    def __call__(self, _now: datetime) -> object:
        self.calls += 1
        self.go_on.wait(HANG)
        return self.value


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every base counts as large, and no request waits."""
    monkeypatch.setattr(first_time, "SMALL_STORE", -1)
    monkeypatch.setattr(first_time, "PATIENCE", 0)
    monkeypatch.setattr(first_time, "_workshop", Workshop())


@pytest.fixture
def held(root, web, monkeypatch) -> Iterator[Held]:
    """The start page's figures, ready to be given in another thread, and held back."""
    held = Held(start_page._find_standing)
    monkeypatch.setattr(start_page._standing, "_find", held)
    yield held
    held.go_on.set()


def wait_until_made() -> None:
    for task in list(first_time._workshop._tasks.values()):
        assert task.done.wait(HANG)


class TestLargeBase:
    def test_has_a_page_at_once_that_asks_again(self, web, large, held):
        page = web.get("/")

        assert page.status_code == 202
        assert int(page["Refresh"]) > 0
        assert "Where everything stands is being counted" in page.content.decode()

    def test_has_its_page_as_soon_as_it_is_counted(self, web, large, held):
        web.get("/")
        held.go_on.set()
        wait_until_made()

        page = web.get("/")

        assert page.status_code == 200
        assert "Refresh" not in page

    def test_is_counted_once_for_all_who_come_meanwhile(self, web, large, held):
        answers = [web.get("/").status_code for _ in range(5)]
        calls = held.calls

        assert answers == [202] * 5
        assert calls <= 1

    def test_keeps_a_program_waiting_instead(self, web, large, held):
        held.go_on.set()

        assert web.get("/?format=json").json()["schema"] == "review-status/1"

    def test_is_not_counted_for_somebody_who_is_not_logged_in(self, large, held):
        assert Client().get("/").status_code == 302

        assert first_time._workshop._tasks == {}
        assert held.calls == 0

    @pytest.mark.parametrize("path", ["/notes/", "/matrix/", "/gates/", "/looks/"])
    def test_says_so_on_every_page_that_needs_a_count(self, web, root, large, monkeypatch, path):
        monkeypatch.setattr(Workshop, "has_made", lambda *_args, **_kwargs: False)

        assert web.get(path).status_code == 202

    @pytest.mark.parametrize("path", ["/jobs/", "/events/", "/queue/"])
    def test_has_pages_that_need_none(self, web, root, large, monkeypatch, path):
        monkeypatch.setattr(Workshop, "has_made", lambda *_args, **_kwargs: False)

        assert web.get(path).status_code == 200

    def test_shows_why_it_cannot_be_counted(self, web, root, large, monkeypatch):
        def refuse(_now: datetime) -> object:
            raise TryAgain("the database is busy")

        monkeypatch.setattr(first_time, "PATIENCE", HANG)
        monkeypatch.setattr(start_page._standing, "_find", refuse)

        page = web.get("/")

        assert page.status_code == 503
        assert "the database is busy" in page.content.decode()


class TestSmallBase:
    def test_has_its_figures_in_the_first_answer(self, web, root):
        assert web.get("/").status_code == 200


class TestWorkshop:
    def source(self, make: Callable[[datetime], object]) -> Source:
        return Source("it", lambda: False, make)

    def test_makes_again_what_failed(self, root):
        calls = []

        def fail_once(now: datetime) -> None:
            calls.append(now)
            if len(calls) == 1:
                raise TryAgain("not yet")

        workshop, source = Workshop(), self.source(fail_once)
        with pytest.raises(TryAgain):
            workshop.has_made(source, now=NOW, patience=HANG)

        assert workshop.has_made(source, now=NOW, patience=HANG)
        assert len(calls) == 2

    def test_makes_one_thing_once_at_a_time(self, root):
        held = Held()
        workshop, source = Workshop(), self.source(held)
        before = [workshop.has_made(source, now=NOW, patience=0) for _ in range(3)]
        held.go_on.set()

        assert before == [False] * 3
        assert workshop.has_made(source, now=NOW, patience=HANG)
        assert held.calls == 1
