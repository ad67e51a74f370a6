"""A start-up check that the static files of the pages were collected."""

from __future__ import annotations

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.core.exceptions import ImproperlyConfigured


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
