"""The store in a database that is open already: taken when ours, refused when older or somebody else's."""

from __future__ import annotations

import pytest

from review import store
from review.errors import StoreRefused
from review.models import ReviewStore
from review.store import opening
from review.store.errors import (
    StoreNewer,
    StoreOlder,
)
from tests.helpers.refusals import refuses


@pytest.mark.django_db
class TestOpenDatabase:
    """The store that this suite runs on, SQLite's or a server's."""

    def test_is_taken_as_it_is(self):
        store.ensure_store(write=True)

        assert ReviewStore.objects.get().store_id

    def test_has_an_id_of_its_own(self):
        assert len(ReviewStore.objects.get().store_id) == 32

    def test_is_refused_when_older(self, monkeypatch):
        monkeypatch.setattr(
            opening, "known_migrations", lambda: frozenset({"0001_initial", "9998_next"})
        )
        monkeypatch.setattr(
            opening, "applied_migrations", lambda **_kw: frozenset({"0001_initial"})
        )

        with pytest.raises(StoreOlder, match="9998_next"):
            store.ensure_store(write=False)

    def test_is_refused_when_newer(self, monkeypatch):
        monkeypatch.setattr(opening, "known_migrations", lambda: frozenset({"0001_initial"}))

        with pytest.raises(StoreNewer):
            store.ensure_store(write=True)

    def test_that_holds_something_else_is_refused(self, monkeypatch):
        monkeypatch.setattr(opening, "applied_migrations", lambda **_kw: frozenset())

        with refuses("store-foreign") as refused:
            store.ensure_store(write=True)

        assert isinstance(refused.value, StoreRefused)


def test_the_known_migrations_are_the_files(settings):
    from django.db.migrations.loader import MigrationLoader

    loaded = {name for app, name in MigrationLoader(None).disk_migrations if app == "review"}

    assert opening.known_migrations() == loaded
