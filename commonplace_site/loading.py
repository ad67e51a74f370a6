"""Loads the apps under the settings that a command needs, and no more."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from review.errors import ReviewError

CLI_SETTINGS = "commonplace_site.settings.cli"
WEB_SETTINGS = "commonplace_site.settings.web"
TEAM_SETTINGS = "commonplace_site.settings.team"


class WebPartMissing(ReviewError):
    """A package that only the pages need is not installed; the commands work without it."""


class McpMissing(ReviewError): ...


def serve_mcp() -> None:
    """Serve the tools of agents until standard input ends; Django is loaded when one is called.

    :raises McpMissing: the extra `mcp` is not installed.
    """
    gc.enable()
    with _needs(McpMissing, "the MCP server needs", "it: pip install 'commonplace-review[mcp]'"):
        from review.mcp.server import run
    run(partial(load_apps, CLI_SETTINGS))


def load_apps(settings_module: str) -> None:
    """Load the apps of `settings_module`; of a team's settings where these are set for the web's.

    `django.setup()` without what the lean settings leave out: it would load the URL resolver and
    the logging of Django's server, only to configure neither.

    :raises WebPartMissing: the web's settings name what is not installed.
    """
    is_web = settings_module == WEB_SETTINGS
    if not (is_web and os.environ.get("DJANGO_SETTINGS_MODULE") == TEAM_SETTINGS):
        os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    if is_web:
        _set_up_web()
        return
    from django.apps import apps
    from django.conf import settings

    apps.populate(settings.INSTALLED_APPS)


def _set_up_web() -> None:
    import django
    from django.conf import settings
    from django.utils.module_loading import import_string

    extras = "web,team" if os.environ["DJANGO_SETTINGS_MODULE"] == TEAM_SETTINGS else "web"
    hint = f"what they need: pip install 'commonplace-review[{extras}]'"
    with _needs(WebPartMissing, "the pages need", hint):
        django.setup()
        # The apps are loaded by now; the middleware would be with the first request.
        for dotted in settings.MIDDLEWARE:
            import_string(dotted)


@contextmanager
def _needs(kind: type[ReviewError], what: str, hint: str) -> Iterator[None]:
    """Name a package of others that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("review", "commonplace_site")):
            raise
        message = f"{what} {error.name}, which is not installed"
        raise kind(message, hint=f"install the project with {hint}") from error
