"""Tests of the embedded reviewer's rules."""

from __future__ import annotations
