"""Tests of `review/sweeps` without a database."""

from __future__ import annotations
