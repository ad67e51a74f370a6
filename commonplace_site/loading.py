"""Loads the apps under the settings that a command needs, and no more."""

from __future__ import annotations

import os

CLI_SETTINGS = "commonplace_site.settings.cli"
WEB_SETTINGS = "commonplace_site.settings.web"


def load_apps(settings_module: str) -> None:
    """Load the apps of `settings_module`.

    `django.setup()` without what the lean settings leave out: it would load the URL resolver and
    the logging of Django's server, only to configure neither.
    """
    os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    if settings_module == WEB_SETTINGS:
        import django

        django.setup()
        return
    from django.apps import apps
    from django.conf import settings

    apps.populate(settings.INSTALLED_APPS)
