"""The embedded reviewer: deterministic checks over one note, by rule name; it is not a model."""

from __future__ import annotations
