"""What every test starts from: an environment of its own, and generated cases that repeat."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

ON_POSTGRESQL = bool(os.environ.get("COMMONPLACE_TEST_DATABASE_URL"))
STORE_ROW = {"store_id": "5" * 32, "created_at": datetime(2026, 1, 1, tzinfo=UTC)}
SLOW_TESTS = frozenset(
    (Path(__file__).parent / "slow_tests.txt").read_text(encoding="utf-8").split()
)
_DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences"}

# Two cores that others use too: a slow moment is no failure. And no luck: the same cases each time.
settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("suite")

# Who starts the suite in the background has its interrupts ignored, and so would our children; so it
# is with hangups under nohup, which go on being ignored here.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL keep what uses a database, also in processes; on SQLite what needs no server.

    Mark as slow what `slow_tests.txt` lists: a test, with all of its parameters.
    """
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW_TESTS:
            item.add_marker(pytest.mark.slow)
    kept = [item for item in items if _belongs(item)]
    config.hook.pytest_deselected(items=[item for item in items if not _belongs(item)])
    items[:] = kept


def _belongs(item: pytest.Item) -> bool:
    if item.get_closest_marker("sqlite" if ON_POSTGRESQL else "postgresql"):
        return False
    return not ON_POSTGRESQL or _uses_database(item) or _has_own_stores(item)


def _has_own_stores(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("own_stores")
    if marker is not None and marker.kwargs.get("on_server") == "soak":
        item.add_marker(pytest.mark.soak)
    return marker is not None


def _uses_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & _DATABASE_FIXTURES)


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with no `kb/` in it or above it."""
    return tmp_path_factory.mktemp("nowhere")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, empty_folder: Path) -> None:
    """Nothing of the developer's own is read or written: a test names its root itself."""
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_")]:
        if not name.startswith("COMMONPLACE_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(empty_folder)


@pytest.fixture(autouse=True)
def _store_row(request: pytest.FixtureRequest) -> None:
    """A store knows its id. A test that commits is cleaned up by emptying every table, this too."""
    if not _uses_database(request.node):
        return
    request.getfixturevalue("transactional_db" if _commits(request) else "db")
    from review.models import ReviewStore

    ReviewStore.objects.get_or_create(pk=1, defaults=STORE_ROW)


def _commits(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker("django_db")
    by_mark = marker is not None and bool(marker.kwargs.get("transaction"))
    return by_mark or "transactional_db" in request.fixturenames
