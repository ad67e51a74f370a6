"""Tests of `review/settings` without a database."""

from __future__ import annotations
