"""Tests of `review/findings` without a database."""

from __future__ import annotations
