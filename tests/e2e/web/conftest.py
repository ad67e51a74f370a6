"""Who looks at the pages: a person who may act, one who may only see, one who is not let in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.builders import make_root
from tests.helpers.people import make_operator, make_reader


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base of one note and one gate, which the pages show."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path)


@pytest.fixture
def operator(db) -> User:
    """A person `ana` on the staff, who holds every `review.change_…` permission."""
    return make_operator()


@pytest.fixture
def web(operator: User) -> Client:
    """The browser of `ana`."""
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def reader(db) -> Client:
    """The browser of `rita`, who is on the staff and holds no permission."""
    client = Client()
    client.force_login(make_reader())
    return client


@pytest.fixture
def stranger(db) -> Client:
    """The browser of somebody who can log in and is not on the staff."""
    client = Client()
    client.force_login(User.objects.create_user("sam"))
    return client


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is made anew, however slow the machine: no test sees an old one."""
    monkeypatch.setattr("review.web.core.cached.QUICK", float("inf"))


@pytest.fixture
def count_queries(db) -> Callable[[Callable[[], object]], int]:
    """How many statements a call sends to the store."""

    def count(call: Callable[[], object]) -> int:
        with CaptureQueriesContext(connection) as seen:
            call()
        return len(seen)

    return count
