"""Settings of a server that a team shares: behind a proxy that speaks HTTPS, guesses counted.

Chosen with DJANGO_SETTINGS_MODULE, for the server and for `commonplace migrate` alike; see
docs/deploy.md.
"""

from __future__ import annotations

import os
from datetime import timedelta

from commonplace_site.settings.web import *  # noqa: F403
from commonplace_site.settings.web import INSTALLED_APPS, MIDDLEWARE, NAMED_HOSTS
from review import settings

INSTALLED_APPS = [*INSTALLED_APPS, "axes"]
MIDDLEWARE = [*MIDDLEWARE, "axes.middleware.AxesMiddleware"]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]

# After ten wrong passwords for one name from one address, that pair waits a quarter of an hour.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "commonplace_site.visitors.address_of"
AXES_LOCKOUT_CALLABLE = "commonplace_site.visitors.locked_out"
AXES_ENABLE_ADMIN = False

# The path on the proxy's host below which the pages are, such as /reviews; the proxy takes it off.
PREFIX = os.environ.get("COMMONPLACE_PATH_PREFIX", "").strip("/")
if PREFIX:
    FORCE_SCRIPT_NAME = f"/{PREFIX}"
    STATIC_URL = f"/{PREFIX}/static/"
    SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"/{PREFIX}/"

# The proxy ends HTTPS and says so; it must drop this header from what visitors send.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"(^|/)healthz$"]
SECURE_HSTS_SECONDS = 30 * 24 * 60 * 60
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
CSRF_TRUSTED_ORIGINS = [f"https://{name.strip()}" for name in NAMED_HOSTS]

# Static files are collected once a deployment, under names that may be cached for ever.
WHITENOISE_USE_FINDERS = False
STATIC_ROOT = os.environ.get("COMMONPLACE_STATIC", "") or (
    settings.current().root / settings.REPORTS_FOLDER / "static"
)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
for _database in DATABASES.values():  # noqa: F405
    _database["CONN_MAX_AGE"] = 60
    _database["CONN_HEALTH_CHECKS"] = True
