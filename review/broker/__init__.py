"""The message broker: an application of Celery that carries job ids from sweeps to workers."""

from __future__ import annotations
