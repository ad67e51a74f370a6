"""Who is let in, and what those who are not get to see."""

from __future__ import annotations

import pytest
from django.db import connection
from django.urls import get_resolver

OPEN = {"login", "logout", "enter", "healthz", "preferences"}
ADDRESSES = ("/", "/jobs/", "/jobs/1", "/events/", "/queue/", "/nowhere", "/admin/", "/notes/a.md")


class TestAnonymous:
    @pytest.mark.parametrize("address", ADDRESSES)
    def test_is_led_to_the_login_wherever_he_goes(self, client, db, address):
        response = client.get(address)

        assert response.status_code == 302
        assert response["Location"].startswith("/login/?next=/")

    def test_a_program_is_refused_in_its_own_language(self, client, db):
        response = client.get("/jobs/", HTTP_ACCEPT="application/json")

        assert response.status_code == 401
        assert response.json()["code"] == "login-needed"

    def test_only_the_named_views_are_open(self):
        named = {
            pattern.name
            for pattern in _patterns(get_resolver().url_patterns)
            if getattr(pattern.callback, "login_required", True) is False
            and not str(pattern.pattern).startswith(("admin/", "favicon"))
        }

        assert named - {None} <= OPEN | {"login"}

    def test_liveness_asks_no_store(self, client):
        response = client.get("/healthz")

        assert (response.status_code, response.content) == (200, b"ok\n")


class TestLoggedIn:
    def test_who_is_not_staff_is_refused(self, stranger):
        response = stranger.get("/jobs/")

        assert response.status_code == 403
        assert "staff" in response.content.decode()

    def test_staff_see_without_any_permission(self, reader, root):
        assert reader.get("/jobs/").status_code == 200

    def test_an_address_with_nothing_at_it_is_said_in_words(self, web):
        response = web.get("/nowhere")

        assert response.status_code == 404
        assert "nothing is at this address" in response.content.decode()


def _patterns(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _patterns(pattern.url_patterns)
        else:
            yield pattern


class TestStoreWithoutTables:
    """As agents, or an older version, leave it; the store itself is one of today's."""

    @pytest.mark.parametrize("app", ["auth", "sessions"])
    def test_for_people_is_named_before_anything_is_asked_of_it(self, web, root, app):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = %s", [app])

        answer = web.get("/events/", HTTP_ACCEPT="application/json")

        assert answer.status_code == 503
        assert answer.json()["code"] == "store-lacks-logins"
        assert answer.json()["hint"] == "run: commonplace migrate"


class TestTheWayBackFromARefusal:
    @pytest.mark.parametrize(
        ("referer", "back"),
        [
            pytest.param(
                "http://testserver/queue/?severity=fail", "/queue/?severity=fail", id="us"
            ),
            pytest.param("http://elsewhere.example/queue/", "", id="another-site"),
            pytest.param("http://testserver/jobs/?colour=red", "", id="this-very-page"),
            pytest.param("http://[", "", id="no-address"),
            pytest.param("javascript:alert(1)", "", id="a-script"),
            pytest.param("", "", id="none"),
        ],
    )
    def test_leads_to_a_page_of_ours_only(self, web, referer, back):
        page = web.get("/jobs/?colour=red", headers={"host": "testserver", "referer": referer})

        assert page.status_code == 400
        assert page.context["back"] == back
        assert 'href="/jobs/">This page without filters' in page.content.decode()
