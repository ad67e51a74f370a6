"""Logins, sessions and the link of `serve`: what a copy, a guess or an old one is worth."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.conf import settings as site
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils import timezone

from commonplace_site.logs import SafeFormatter
from commonplace_site.operators import local_operator
from review.web.entering import entry_path

PASSWORD = "a long password"


def with_cookie(value: str) -> Client:
    """A browser that sends this session."""
    browser = Client()
    browser.cookies[site.SESSION_COOKIE_NAME] = value
    return browser


def is_in(browser: Client) -> bool:
    """Whether the browser is let in."""
    return browser.get("/events/").status_code == 200


@pytest.fixture
def session(operator, root) -> str:
    """The session cookie of a person who logged in with a password."""
    browser = Client()
    browser.post("/login/", {"username": operator.username, "password": PASSWORD})
    return browser.cookies[site.SESSION_COOKIE_NAME].value


class TestSession:
    def test_lets_in_who_logged_in(self, session):
        assert is_in(with_cookie(session))

    def test_dies_with_the_password(self, session, operator):
        operator.set_password("another long password")
        operator.save()

        assert not is_in(with_cookie(session))

    def test_dies_with_its_person_s_account(self, session, operator):
        operator.is_active = False
        operator.save()

        assert not is_in(with_cookie(session))

    def test_sees_no_more_who_is_no_longer_staff(self, session, operator):
        operator.is_staff = False
        operator.save()

        assert not is_in(with_cookie(session))

    def test_dies_with_the_key(self, session, settings):
        settings.SECRET_KEY = "k" * 50

        assert not is_in(with_cookie(session))

    def test_dies_of_age(self, session, settings):
        settings.SESSION_COOKIE_AGE = -1

        assert not is_in(with_cookie(session))

    @pytest.mark.parametrize("place", [0, 5, -1], ids=["first", "middle", "signature"])
    def test_that_was_changed_is_nobody_s(self, session, place):
        letters = list(session)
        letters[place] = "A" if letters[place] != "A" else "B"

        assert not is_in(with_cookie("".join(letters)))

    def test_of_another_kind_of_signature_is_nobody_s(self, operator):
        forged = signing.dumps({"_auth_user_id": str(operator.pk)}, salt="another")

        assert not is_in(with_cookie(forged))

    def test_is_taken_from_the_browser_that_logs_out(self, operator, root):
        browser = Client()
        browser.force_login(operator)

        browser.post("/logout/")

        assert not is_in(browser)

    def test_is_read_by_no_script_and_sent_for_no_other_site(self, operator):
        answer = Client().post("/login/", {"username": operator.username, "password": PASSWORD})
        cookie = answer.cookies[site.SESSION_COOKIE_NAME]

        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"

    def test_holds_nothing_but_who_it_is_and_what_was_shown(self, session):
        held = signing.loads(session, salt="django.contrib.sessions.backends.signed_cookies")

        assert set(held) <= {"_auth_user_id", "_auth_user_backend", "_auth_user_hash"}


class TestLink:
    def test_has_what_no_guess_has(self, operator):
        token = entry_path(operator).rstrip("/").rpartition("/")[2]

        assert len(token.partition("-")[2]) * 4 >= 128

    def test_of_another_user_does_not_fit(self, operator, db):
        other = User.objects.create_user("bob", is_staff=True)
        token = entry_path(operator).rstrip("/").rpartition("/")[2]

        assert Client().get(f"/enter/{other.pk}/{token}/").status_code == 403

    def test_dies_with_the_key(self, operator, settings):
        link = entry_path(operator)
        settings.SECRET_KEY = "k" * 50

        assert Client().get(link).status_code == 403

    def test_cannot_be_moved_to_a_later_time(self, operator):
        head, token = entry_path(operator).rstrip("/").rsplit("/", 1)

        assert Client().get(f"{head}/zzzzzz-{token.partition('-')[2]}/").status_code == 403

    def test_is_for_the_user_of_this_machine_alone(self, db):
        local_operator()
        User.objects.update(is_active=False)
        User.objects.create_user("ana", is_staff=True)

        with pytest.raises(Exception, match="no user"):
            local_operator()

    def test_leaves_no_trace_where_it_leads(self, operator, root):
        answer = Client().get(entry_path(operator))

        assert answer["Referrer-Policy"] == "same-origin"
        assert (
            answer["Cache-Control"] == "private, no-cache" or "no-store" in answer["Cache-Control"]
        )

    def test_is_in_no_line_of_the_log(self, operator):
        link = entry_path(operator)
        record = logging.LogRecord(
            "django.server",
            logging.WARNING,
            "",
            0,
            '"%s" %s',
            (f"HEAD {link} HTTP/1.1", "405"),
            None,
        )

        line = SafeFormatter("%(message)s").format(record)

        assert link.rstrip("/").rpartition("/")[2] not in line
        assert line == '"HEAD /enter/… HTTP/1.1" 405'


class TestNext:
    @pytest.mark.parametrize(
        "place",
        [
            "https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
            "http:evil.example", "javascript:alert(1)", "\t//evil.example", "https:///evil.example", "/%0d%0aX: y\r\n",
            "//127.0.0.1@evil.example/",
        ],
    )  # fmt: skip
    def test_leads_to_no_other_site(self, operator, root, place):
        sent = {"username": operator.username, "password": PASSWORD, "next": place}
        by_link = Client().get(entry_path(operator), {"next": place})
        by_password = Client().post("/login/", sent)
        by_form = Client().post("/preferences/", {"theme": "dark", "next": place})

        for answer in (by_link, by_password, by_form):
            assert answer.status_code in (302, 303)
            assert answer["Location"].startswith("/")
            assert not answer["Location"].startswith(("//", "/\\"))
            assert "\n" not in answer["Location"]


def test_a_link_is_spent_by_the_first_who_follows_it(operator):
    operator.last_login = timezone.now() - timedelta(days=1)
    operator.save()
    link = entry_path(operator)

    assert [Client().get(link).status_code for _ in range(3)] == [303, 403, 403]
