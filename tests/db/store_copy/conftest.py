"""A filled store, an empty one and a copy, each made once for all tests here and cloned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from review import store
from review.store_copy.copy import temporary_alias
from tests.helpers.copied_stores import cloned, copy, nowhere_yet
from tests.helpers.filled_store import make_filled


@pytest.fixture(scope="package")
def filled(tmp_path_factory, django_db_setup, django_db_blocker) -> Path:
    """A store with rows in every table; never written to."""
    with django_db_blocker.unblock():
        return make_filled(tmp_path_factory.mktemp("filled") / "store.sqlite", seed=1)


@pytest.fixture
def source(filled, tmp_path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "source.sqlite"))


@pytest.fixture(scope="package")
def empty_place(tmp_path_factory, django_db_setup, django_db_blocker):
    """An empty store of the database that the suite runs on, to be cloned."""
    with nowhere_yet(tmp_path_factory.mktemp("empty")) as place, django_db_blocker.unblock():
        with temporary_alias("empty", place, named="the test"):
            store.ensure_store(write=True, using="empty")
        yield place


@pytest.fixture(scope="package")
def copied_place(filled, empty_place, tmp_path_factory, django_db_blocker):
    """A copy of the filled store, to be cloned."""
    with cloned(empty_place, tmp_path_factory.mktemp("copied")) as place:
        with django_db_blocker.unblock():
            assert copy(filled, place).exit == 0
        yield place


@pytest.fixture
def nowhere(tmp_path):
    """Where nothing is yet: a file, or a database of the server."""
    with nowhere_yet(tmp_path) as place:
        yield place


@pytest.fixture
def target(empty_place, tmp_path):
    """An empty store."""
    with cloned(empty_place, tmp_path) as place:
        yield place


@pytest.fixture
def copied(copied_place, tmp_path):
    """A copy of the source."""
    with cloned(copied_place, tmp_path) as place:
        yield place
