"""Who attacks the pages, and a knowledge base whose review holds what would like to act."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders import make_root
from tests.helpers.people import make_operator, make_reader
from tests.helpers.reviewed import review_pairs
from tests.security.hostile_texts import EVIL_REVIEW


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base of one note and one gate."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path)


@pytest.fixture
def reviewed(root: Path, db: None) -> int:
    """The pair of a note whose review tries everything; gives its id."""
    return review_pairs(root, ("a.md", "prose/x"), review=EVIL_REVIEW)[0]


@pytest.fixture
def operator(db: None) -> User:
    """A person on the staff who holds every permission on the review system."""
    return make_operator()


@pytest.fixture
def web(operator: User) -> Client:
    """The operator's browser; a fault of ours gives its page, not an exception."""
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    return client


@pytest.fixture
def reader(db: None) -> Client:
    """The browser of a person on the staff who holds no permission."""
    client = Client(raise_request_exception=False)
    client.force_login(make_reader())
    return client


@pytest.fixture
def anybody(db: None) -> Client:
    """A browser that is not logged in."""
    return Client(raise_request_exception=False)
