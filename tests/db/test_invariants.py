"""The invariants of a store hold after everything that commands do, and each is missed when broken."""

from __future__ import annotations

import pytest
from django.db import connection

from review.queries.invariants import broken_invariants, invariant_names
from tests.helpers.commands import run
from tests.helpers.story import Story, story_root

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_ACTOR", "human:test")
    Story(story_root(tmp_path), run).tell()


def test_hold_in_an_empty_store():
    assert broken_invariants() == ()


def test_hold_after_everything_that_commands_do(told):
    assert broken_invariants() == ()
