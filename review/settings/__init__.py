"""Settings: environment variables and `kb/review.toml`."""

from __future__ import annotations

from review.settings.config import (
    JOBS_FOLDER,
    REPORTS_FOLDER,
    Config,
    EnvironmentRefused,
    RootNotFound,
    current,
    root_to_start,
)

__all__ = [
    "JOBS_FOLDER",
    "REPORTS_FOLDER",
    "Config",
    "EnvironmentRefused",
    "RootNotFound",
    "current",
    "root_to_start",
]
