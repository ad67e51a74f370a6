"""Whose address a guess is counted for."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from commonplace_site.visitors import address_of, locked_out

PEER = "192.0.2.1"


class TestAddress:
    @pytest.mark.parametrize(
        ("forwarded", "address"),
        [
            pytest.param("203.0.113.9", "203.0.113.9", id="from-the-proxy"),
            pytest.param("198.51.100.7, 203.0.113.9", "203.0.113.9", id="a-visitor-lied-before-it"),
            pytest.param("2001:db8::1", "2001:db8::1", id="ipv6"),
            pytest.param("", PEER, id="no-proxy"),
            pytest.param("203.0.113.9, nonsense", PEER, id="no-address"),
        ],
    )
    def test_is_what_the_proxy_appended(self, forwarded, address):
        request = RequestFactory().get("/", REMOTE_ADDR=PEER, HTTP_X_FORWARDED_FOR=forwarded)

        assert address_of(request) == address


class TestLockedOut:
    def test_is_said_in_words(self):
        request = RequestFactory().get("/login/", HTTP_ACCEPT="application/json")

        response = locked_out(request, None, {"username": "ana"})

        assert response.status_code == 429
        assert b"too-many-guesses" in response.content
