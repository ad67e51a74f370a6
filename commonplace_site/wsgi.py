"""The application that a WSGI server runs."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "commonplace_site.settings.web")

application = get_wsgi_application()
