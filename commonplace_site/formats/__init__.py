"""How moments are written where Django writes them, by language."""

from __future__ import annotations
