"""What is missing of a machine is named before anything is loaded."""

from __future__ import annotations

import sys

import django
import pytest
from django.conf import settings

from commonplace_site.loading import TEAM_SETTINGS, WEB_SETTINGS, WebPartMissing, load_apps
from review.settings import RootNotFound, find_root, root_to_start


def missing(name):
    def setup():
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    return setup


def test_what_the_pages_are_made_with_is_named_with_what_installs_it(monkeypatch):
    monkeypatch.setattr(django, "setup", missing("django_extensions"))

    with pytest.raises(WebPartMissing, match="django_extensions") as refused:
        load_apps(WEB_SETTINGS)

    assert "[web]" in refused.value.hint


def test_middleware_that_is_missing_is_named_before_the_first_request(monkeypatch):
    monkeypatch.setattr(django, "setup", lambda: None)
    monkeypatch.setattr(settings, "MIDDLEWARE", ["whitenoise.middleware.WhiteNoiseMiddleware"])
    monkeypatch.setitem(sys.modules, "whitenoise.middleware", None)

    with pytest.raises(WebPartMissing, match="whitenoise"):
        load_apps(WEB_SETTINGS)


def test_a_teams_server_needs_both_extras(monkeypatch):
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", TEAM_SETTINGS)
    monkeypatch.setattr(django, "setup", missing("axes"))

    with pytest.raises(WebPartMissing, match="axes") as refused:
        load_apps(WEB_SETTINGS)

    assert "[web,team]" in refused.value.hint


def test_a_module_of_ours_that_is_missing_is_a_fault_and_no_refusal(monkeypatch):
    monkeypatch.setattr(django, "setup", missing("review.web"))

    with pytest.raises(ModuleNotFoundError):
        load_apps(WEB_SETTINGS)


@pytest.mark.parametrize("look", [find_root, root_to_start])
def test_a_current_folder_that_is_gone_is_named(tmp_path, monkeypatch, look):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(RootNotFound, match="is gone"):
        look()
