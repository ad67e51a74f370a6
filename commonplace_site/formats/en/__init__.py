"""The formats of the one language there is."""

from __future__ import annotations
