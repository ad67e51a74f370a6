"""The application that a WSGI server runs."""

from __future__ import annotations

import gc
import os

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application
from django.urls import resolve


def refuse_uncollected() -> None:
    """Refuse to start where a page could not name its files; without a manifest none is needed.

    :raises ImproperlyConfigured: a file of the program is not among those collected.
    """
    storage: object = staticfiles_storage
    if not isinstance(storage, ManifestFilesMixin):
        return
    for finder in get_finders():
        for name, _storage in finder.list([]):
            if name not in storage.hashed_files:
                raise ImproperlyConfigured(
                    f"the static files are not collected ({name} is not in"
                    f" {settings.STATIC_ROOT}): run commonplace collectstatic --noinput"
                    " with the environment of this server, then start it again"
                )


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "commonplace_site.settings.web")

application = get_wsgi_application()

# What the program itself consists of lives as long as the server: a collection that walks through it
# finds nothing and takes a third of a page's time.
resolve("/")
gc.collect()
gc.freeze()

# At the start, and not on each page, where nobody who can mend it reads it.
refuse_uncollected()
