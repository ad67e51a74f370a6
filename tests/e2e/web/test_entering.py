"""Logging in by link and by password, and what is kept for a browser."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from review.web.core import responses as entering
from review.web.core.responses import entry_path


def get_in(link: str) -> Client | None:
    """A browser that followed the link, if it was let in."""
    browser = Client()
    return browser if browser.get(link).status_code == 303 else None


class TestLink:
    def test_logs_in_and_leads_to_an_address_that_tells_nothing(self, operator, root):
        browser = Client()

        response = browser.get(entry_path(operator))

        assert (response.status_code, response["Location"]) == (303, "/")
        assert browser.get("/").status_code == 200

    def test_works_once(self, operator):
        link = entry_path(operator)

        assert get_in(link) is not None
        assert get_in(link) is None

    def test_dies_with_any_other_login(self, operator):
        first, second = entry_path(operator), entry_path(operator)

        get_in(second)

        assert get_in(first) is None

    def test_a_second_request_at_the_same_moment_comes_too_late(self, operator):
        now = timezone.now()
        twin = type(operator).objects.get(pk=operator.pk)

        assert entering._spend(operator, now)
        assert not entering._spend(twin, now)

    def test_two_logins_within_one_second_differ(self, operator):
        moment = timezone.now().replace(microsecond=1)
        operator.last_login = moment
        operator.save()
        link = entry_path(operator)
        operator.last_login = moment + timedelta(microseconds=1)
        operator.save()

        assert get_in(link) is None

    def test_holds_for_a_quarter_of_an_hour(self, operator, settings):
        link = entry_path(operator)
        settings.PASSWORD_RESET_TIMEOUT = -1

        assert get_in(link) is None

    def test_of_who_was_let_go_is_dead(self, operator):
        link = entry_path(operator)
        operator.is_active = False
        operator.save()

        assert get_in(link) is None

    @pytest.mark.parametrize("link", ["/enter/1/x/", "/enter/9/a-b/", f"/enter/{10**30}/a-b/"])
    def test_that_was_never_made_says_how_to_make_one(self, operator, link):
        response = Client().get(link)

        assert response.status_code == 403
        assert "commonplace serve --link" in response.content.decode()

    def test_is_no_password_reset_token(self, operator):
        from django.contrib.auth.tokens import default_token_generator

        token = default_token_generator.make_token(operator)

        assert get_in(f"/enter/{operator.pk}/{token}/") is None

    @pytest.mark.parametrize(
        ("wanted", "place"),
        [("/jobs/", "/jobs/"), ("https://evil.example/", "/"), ("//evil.example", "/")],
    )
    def test_leads_nowhere_else(self, operator, wanted, place):
        assert Client().get(entry_path(operator), {"next": wanted})["Location"] == place


class TestPassword:
    def test_is_asked_for_without_saying_which_half_was_wrong(self, operator, client):
        wrong = client.post("/login/", {"username": "ana", "password": "x"}).content.decode()
        nobody = client.post("/login/", {"username": "bob", "password": "x"}).content.decode()

        assert "password is wrong" in wrong
        assert "password is wrong" in nobody

    def test_leads_nowhere_else(self, operator, client):
        sent = {"username": "ana", "password": "a long password", "next": "https://evil.example/"}

        assert client.post("/login/", sent)["Location"] == "/"

    def test_log_out_takes_a_form(self, web):
        assert web.get("/logout/").status_code == 405


class TestPreferences:
    def test_are_kept_in_this_browser(self, web, root):
        web.post("/preferences/", {"theme": "dark", "keys": "off", "next": "/jobs/"})

        page = web.get("/jobs/").content.decode()

        assert 'data-theme="dark" data-keys="off"' in page

    @pytest.mark.parametrize(
        ("sent", "place"),
        [("/jobs/?status=failed", "/jobs/?status=failed"), ("//evil.example", "/"), ("", "/")],
    )
    def test_lead_back_and_nowhere_else(self, web, sent, place):
        assert web.post("/preferences/", {"next": sent})["Location"] == place

    def test_take_only_what_there_is(self, web, root):
        web.post("/preferences/", {"theme": '"><script>'})

        assert 'data-theme="auto"' in web.get("/jobs/").content.decode()

    def test_what_a_browser_made_up_is_nothing(self, web, root):
        web.cookies["review-theme"] = "pink"

        assert 'data-theme="auto"' in web.get("/jobs/").content.decode()
