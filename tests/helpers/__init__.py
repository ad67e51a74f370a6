"""Helpers for the suite: builders and ways to run a command."""

from __future__ import annotations
