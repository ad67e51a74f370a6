"""Loads the apps under the settings that a command needs, and no more."""

from __future__ import annotations

import os

CLI_SETTINGS = "commonplace_site.settings.cli"
WEB_SETTINGS = "commonplace_site.settings.web"
TEAM_SETTINGS = "commonplace_site.settings.team"


def load_apps(settings_module: str) -> None:
    """Load the apps of `settings_module`; of a team's settings where these are set for the web's.

    `django.setup()` without what the lean settings leave out: it would load the URL resolver and
    the logging of Django's server, only to configure neither.
    """
    is_web = settings_module == WEB_SETTINGS
    if not (is_web and os.environ.get("DJANGO_SETTINGS_MODULE") == TEAM_SETTINGS):
        os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    if is_web:
        import django

        django.setup()
        return
    from django.apps import apps
    from django.conf import settings

    apps.populate(settings.INSTALLED_APPS)
