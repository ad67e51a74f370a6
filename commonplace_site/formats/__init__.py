"""Date and time formats of Django's own output, by language."""

from __future__ import annotations
