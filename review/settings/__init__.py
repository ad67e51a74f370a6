"""Settings: environment variables and `kb/review.toml`."""

from __future__ import annotations

from review.settings.config import JOBS_FOLDER as JOBS_FOLDER
from review.settings.config import REPORTS_FOLDER as REPORTS_FOLDER
from review.settings.config import Config as Config
from review.settings.config import EnvironmentRefused as EnvironmentRefused
from review.settings.config import RootNotFound as RootNotFound
from review.settings.config import current as current
from review.settings.config import root_to_start as root_to_start
