"""Threads of one server, and checks while files change: what passes by itself is no fault."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from review.errors import ExitCode
from review.knowledge_base import Corpus
from review.store.errors import refusal_of
from review.upkeep import doctor as machine_checks
from review.upkeep.doctor import check_file_index
from review.upkeep.documents import CheckState
from tests.builders import make_config, make_root, write_note

NOW = datetime(2026, 1, 31, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def error_of(code: int) -> OperationalError:
    """An error as Django raises it for one of SQLite."""
    cause = sqlite3.OperationalError("some words")
    cause.sqlite_errorcode = code
    error = OperationalError("some words")
    error.__cause__ = cause
    return error


class TestErrorsThatPass:
    @pytest.mark.parametrize(
        "code",
        [
            pytest.param(sqlite3.SQLITE_BUSY, id="busy"),
            pytest.param(sqlite3.SQLITE_BUSY_SNAPSHOT, id="busy-snapshot"),
            pytest.param(sqlite3.SQLITE_BUSY_RECOVERY, id="busy-recovery"),
            pytest.param(sqlite3.SQLITE_LOCKED, id="locked"),
            pytest.param(sqlite3.SQLITE_PROTOCOL, id="too-many-at-once"),
        ],
    )
    @pytest.mark.usefixtures("db")
    def test_are_worth_another_try(self, code):
        refusal = refusal_of(error_of(code))

        assert refusal.code == "store-busy"
        assert refusal.exit_code is ExitCode.TRY_AGAIN


class TestTheCheckOfTheFileIndex:
    def test_blames_no_file_system_for_an_edit_between_its_looks(self, tmp_path, monkeypatch):
        root = make_root(tmp_path)
        config = make_config(root)
        with Corpus(config) as corpus:
            corpus.notes()
        config.index_path.parent.mkdir(parents=True, exist_ok=True)
        config.index_path.touch()
        real, looks = machine_checks.Corpus, []

        def opened(*args: Any, **how: Any) -> Corpus:
            looks.append(None)
            if len(looks) == 2:
                write_note(root, "a.md", "# Another\n\nBy somebody who did not wait.\n")
            return real(*args, **how)

        monkeypatch.setattr(machine_checks, "Corpus", opened)

        check = check_file_index(config, repair=False)

        assert check.state is CheckState.OK
        assert len(looks) == 4
