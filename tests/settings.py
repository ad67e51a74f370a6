"""Settings for the suite: the web settings over a store that pytest-django makes."""

from __future__ import annotations

import os

SECRET_KEY = "tests-only"  # noqa: S105
DEBUG = False
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["review"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("COMMONPLACE_TEST_SQLITE", ":memory:"),
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
}
