"""The application that a WSGI server runs."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from commonplace_site.collected import refuse_uncollected

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "commonplace_site.settings.web")

application = get_wsgi_application()

# At the start, and not on each page, where nobody who can mend it reads it.
refuse_uncollected()
