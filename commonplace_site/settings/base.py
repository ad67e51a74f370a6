"""Settings that both kinds share: the store, and UTC."""

from __future__ import annotations

from typing import Any

from review import settings
from review.errors import ReviewError
from review.store.errors import database_settings


def _configured() -> settings.Config | None:
    # Help, and starting a repository, work where there is no configuration yet. A command that
    # needs the store asks for it again, and then meets the refusal.
    try:
        return settings.current()
    except ReviewError:
        return None


_config = _configured()

DEBUG = False
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DATABASES: dict[str, dict[str, Any]] = (
    {"default": database_settings(_config.database)} if _config else {}
)
