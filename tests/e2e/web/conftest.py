"""Who looks at the pages: a person who may act, one who may only see, one who is not let in."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

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
