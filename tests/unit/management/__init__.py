"""Tests of `review/management` without a database."""

from __future__ import annotations
