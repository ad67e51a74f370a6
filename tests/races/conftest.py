"""The counts of what was done in storms, told at the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

VERDICTS: dict[str, dict[str, Any]] = {}


@pytest.fixture(scope="session")
def verdicts() -> dict[str, dict[str, Any]]:
    """What was counted, by the name of a storm."""
    return VERDICTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the counts."""
    for name, verdict in VERDICTS.items():
        acts = sum(verdict.get("acts", {}).values())
        terminalreporter.section(f"{name}: {acts} acts")
        terminalreporter.write_line(json.dumps(verdict, indent=1))
