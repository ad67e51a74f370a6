"""Moments in the administration: the pages say how long ago, and the exact moment on pointing."""

from __future__ import annotations

DATETIME_FORMAT = "Y-m-d H:i \\U\\T\\C"
