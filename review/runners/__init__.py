"""Reviewers: what judges the pairs of a claimed job."""

from __future__ import annotations
