"""Identifies the process that claims jobs on a host, so that others can check if it still runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Parent:
    """A process that takes jobs; `started_at` is None where its host does not say."""

    host: str
    pid: int
    started_at: datetime | None
