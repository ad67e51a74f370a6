"""Threads of one server, and checks while files change: what passes by itself is no fault."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from review.errors import ExitCode
from review.knowledge_base import Corpus
from review.overview.search import Searcher
from review.overview.search_index import SearchBusy
from review.store.errors import StoreBusy, refusal_of
from review.upkeep import environment_checks as machine_checks
from review.upkeep.checks import CheckState
from review.upkeep.environment_checks import check_file_index
from review.web.pages import search
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

        assert isinstance(refusal, StoreBusy)
        assert refusal.exit_code is ExitCode.TRY_AGAIN


class TestReadingOnForTheSearch:
    @pytest.fixture
    def said(self, monkeypatch) -> list[Any]:
        said: list[Any] = []
        monkeypatch.setattr(threading, "excepthook", said.append)
        return said

    def read_on(self, root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        def catch_up(searcher: Searcher, *, seconds: float) -> None:
            raise error

        monkeypatch.setattr(Searcher, "catch_up", catch_up)
        search._read_behind(make_config(root))
        for thread in threading.enumerate():
            if "_read_on" in thread.name:
                thread.join(60)

    @pytest.mark.usefixtures("db")
    def test_is_left_for_now_when_others_hold_the_index(self, tmp_path, monkeypatch, said):
        self.read_on(make_root(tmp_path), monkeypatch, SearchBusy("others use it"))

        assert said == []
        # and the next one may
        assert search._reading.acquire(blocking=False)
        search._reading.release()


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
