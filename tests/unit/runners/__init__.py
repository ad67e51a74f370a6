"""Tests of the doors to processes."""

from __future__ import annotations
