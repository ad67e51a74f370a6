"""The entry point, the settings and the base of the commands."""

from __future__ import annotations
