"""A real Chromium for the tests here; skipped without one, but never where CI decides."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser

from tests.browser.visiting import AXE, HEIGHT, Visit
from tests.builders import make_root
from tests.helpers.people import make_operator

# Playwright keeps an event loop in the thread that the tests of Django's ORM run in.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium on this machine; on Debian: apt-get install chromium"


def find_chromium() -> str:
    """COMMONPLACE_TEST_CHROMIUM, else the first that is on the path; "" when there is none."""
    named = os.environ.get("COMMONPLACE_TEST_CHROMIUM", "")
    return named or next(filter(None, map(shutil.which, BROWSERS)), "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests out where there is no browser, unless CI says that there must be one."""
    if find_chromium() or os.environ.get("CI"):
        return
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The machine's own browser: Playwright's cannot be downloaded everywhere."""
    path = find_chromium()
    if not path:
        pytest.fail(MISSING)
    return browser_type_launch_args | {
        "executable_path": path,
        "args": ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    }


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base of one note and one gate, which the pages show."""
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is made anew, however slow the machine: no test sees an old one."""
    monkeypatch.setattr("review.web.core.cached.QUICK", float("inf"))


@pytest.fixture
def operator(transactional_db: None) -> User:
    """`ana`, who may do everything."""
    return make_operator()


Opener = Callable[..., Visit]


@pytest.fixture
def new_visit(browser: Browser, live_server: Any, root: Path) -> Iterator[Opener]:
    """Opens tabs: `new_visit(user, script=False, width=360)`; afterwards none may have complained."""
    visits: list[Visit] = []

    def begin(user: User | None, *, script: bool = True, width: int = 1280) -> Visit:
        context = browser.new_context(
            java_script_enabled=script,
            color_scheme="light",
            viewport={"width": width, "height": HEIGHT},
            reduced_motion="reduce",
        )
        context.set_default_timeout(15_000)
        context.add_init_script(path=AXE)
        if user is not None:
            context.add_cookies([_session(user, live_server.url)])
        visits.append(Visit(context.new_page(), live_server.url))
        return visits[-1]

    yield begin
    complaints = [complaint for visit in visits for complaint in visit.complaints]
    for visit in visits:
        visit.page.context.close()
    _let_the_server_finish()
    assert complaints == []


@pytest.fixture
def visit(new_visit: Opener, operator: User) -> Visit:
    """A tab of `ana`, 1280 px wide, light."""
    return new_visit(operator)


@pytest.fixture
def plain_visit(new_visit: Opener, operator: User) -> Visit:
    """A tab of `ana` with JavaScript switched off."""
    return new_visit(operator, script=False)


def _let_the_server_finish() -> None:
    """Its threads share this process's one connection to the store in memory: what one of them takes
    back would take back the emptying of the tables with it."""
    for thread in threading.enumerate():
        if thread.name.endswith("(process_request_thread)"):
            thread.join(timeout=30)


def _session(user: User, url: str) -> dict[str, str]:
    client = Client()
    client.force_login(user)
    return {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": url}
