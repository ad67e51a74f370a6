"""The process that forks the commands, and the counts of what was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.crash import rooms
from tests.crash.harness import Zygote
from tests.crash.striking import Bench
from tests.crash.tracing import can_trace
from tests.crash.wider_scenarios import BY_NAME

TRIED: Counter[str] = Counter()


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """Where no child can be traced nothing is tried, and the summary says so."""
    if not can_trace():
        pytest.skip("this machine traces no child, or its system calls are not known")
    started = Zygote(tmp_path_factory.mktemp("zygote"), before=rooms.namespace() or ())
    yield started
    started.close()


@pytest.fixture(scope="session")
def bench(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bench]:
    """The bench of a scenario by its name, laid once."""
    known: dict[str, Bench] = {}

    def lay(name: str) -> Bench:
        if name not in known:
            known[name] = Bench(BY_NAME[name], zygote, tmp_path_factory.mktemp(name))
        return known[name]

    return lay


@pytest.fixture(scope="session")
def tried() -> Counter[str]:
    """Counts what was tried, by kind; told at the end."""
    return TRIED


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several side by side hands its counts on."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tried"] = dict(TRIED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts of one of several."""
    TRIED.update(getattr(node, "workeroutput", {}).get("tried", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the counts."""
    if TRIED:
        terminalreporter.section("what was tried on crashes")
        for kind, number in sorted(TRIED.items()):
            terminalreporter.write_line(f"{number:>6}  {kind}")
