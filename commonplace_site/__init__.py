"""The project: its settings, its entry point, its server."""

from __future__ import annotations

from commonplace_site import interrupts  # noqa: F401 - before all else, for its effect
