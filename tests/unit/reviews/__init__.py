"""Tests of `review/reviews` without a database."""

from __future__ import annotations
