"""Settings of the review commands: one app and nothing that is not needed to start."""

from __future__ import annotations

import os

from commonplace_site.settings.base import *  # noqa: F403

# Commands sign nothing; a key that nobody knows cannot be misused.
SECRET_KEY = os.urandom(32).hex()
INSTALLED_APPS = ["review"]
LOGGING_CONFIG = None
