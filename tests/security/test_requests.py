"""What another site, another user of the machine or a reader of the pages sends, and gets."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from review.models import Acceptance, Disposition, ReviewJob
from review.models.reviews import ReviewPair
from tests.security.routes import addresses, routes

OPEN_TO_ALL = {"healthz", "favicon.ico", "login/", "logout/", "preferences/"}
SHOWN = (
    "/", "/jobs/", "/jobs/1", "/events/", "/looks/", "/notes/", "/notes/kb/notes/a.md", "/matrix/", "/gates/",
    "/gates/prose/x", "/search?q=note", "/queue/", "/diff/kb/notes/a.md", "/login/", "/nowhere", "/admin/",
    "/admin/review/reviewjob/",
)  # fmt: skip
CHANGES = (
    "/ack/", "/override/", "/request-review/", "/matrix/request", "/queue/dispose", "/queue/all",
    "/queue/undo", "/admin/review/reviewjob/recover/fail/", "/admin/review/reviewjob/recover/replace/",
)  # fmt: skip


def changes_of(pair_id: int) -> list[str]:
    """The addresses that change something."""
    mark = ReviewPair.objects.get(pk=pair_id).findings.values_list("fingerprint", flat=True)[0]
    return [*CHANGES, f"/reviews/{pair_id}/decision", f"/findings/{mark}/decision"]


def state() -> tuple[object, ...]:
    """What a change would change."""
    return (
        Disposition.objects.count(),
        Acceptance.objects.count(),
        list(ReviewJob.objects.values_list("pk", "status")),
    )


class TestAnybody:
    @pytest.mark.parametrize("route", routes())
    def test_sees_nothing_but_the_login(self, anybody, reviewed, route):
        if route in OPEN_TO_ALL or route.startswith("enter/"):
            return
        for address in addresses(route):
            html = anybody.get(address)
            document = anybody.get(address, headers={"accept": "application/json"})

            assert html.status_code in (301, 302, 400, 404), address
            assert document.status_code in (301, 302, 400, 401, 404), address
            assert b"Retrieval basics" not in html.content + document.content


class TestAnotherSite:
    def test_cannot_have_a_person_s_browser_change_anything(self, operator, reviewed):
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(operator)
        before = state()

        for address in (*changes_of(reviewed), "/logout/", "/preferences/"):
            answer = browser.post(address, {"decision": "rejected", "reason": "x"})

            assert answer.status_code == 403, address
        assert state() == before

    def test_cannot_log_a_browser_in_as_somebody_else(self, operator, reviewed):
        browser = Client(enforce_csrf_checks=True)

        answer = browser.post("/login/", {"username": "ana", "password": "a long password"})

        assert answer.status_code == 403

    def test_cannot_change_anything_by_a_link(self, web, reviewed):
        before = state()

        for address in changes_of(reviewed):
            for method in (web.get, web.head, web.put, web.delete, web.patch, web.trace):
                # `/queue/all` asks again before it acts, on a page of its own.
                allowed = {200, 302} if address == "/queue/all" else set()
                assert method(address).status_code in {400, 403, 404, 405} | allowed, address
        assert state() == before

    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "localhost:80@evil"]
    )
    def test_under_another_name_is_refused(self, web, reviewed, host):
        assert web.get("/notes/kb/notes/a.md", headers={"host": host}).status_code == 400

    @pytest.mark.parametrize("address", SHOWN)
    def test_can_neither_frame_nor_script_nor_read_a_page(self, web, reviewed, address):
        headers = web.get(address).headers
        policy = headers["Content-Security-Policy"]

        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "object-src 'none'" in policy
        assert "base-uri 'none'" in policy
        assert "form-action 'self'" in policy
        assert "unsafe" not in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
        assert re.search("private|no-store", headers["Cache-Control"])


class TestAReader:
    def test_may_change_nothing(self, reader, reviewed):
        before = state()

        for address in changes_of(reviewed):
            for accept in ("text/html", "application/json"):
                answer = reader.post(
                    address,
                    {"decision": "rejected", "reason": "x", "note_path": "kb/notes/a.md"},
                    headers={"accept": accept},
                )

                assert answer.status_code == 403, address
        assert state() == before

    @pytest.mark.parametrize(
        "path", ["review/reviewjob", "review/acceptance", "review/filesnapshot", "auth/user"]
    )
    def test_may_change_nothing_in_the_administration(self, reader, reviewed, path):
        assert reader.get(f"/admin/{path}/add/").status_code == 403
        assert reader.post(f"/admin/{path}/add/", {"username": "x"}).status_code == 403
        assert reader.post(f"/admin/{path}/1/delete/", {"post": "yes"}).status_code in (302, 403)

    def test_sees_no_user_of_the_site(self, reader, operator):
        assert reader.get("/admin/auth/user/").status_code == 403

    def test_is_made_no_more_than_that_by_himself(self, reader):
        answer = reader.post("/admin/auth/user/1/change/", {"is_superuser": "on"})

        assert answer.status_code in (302, 403)


class TestTexts:
    @pytest.mark.parametrize(
        "address", ["/reviews/{0}/review.txt", "/reviews/{0}/note.txt", "/texts/{1}"]
    )
    def test_are_shown_and_never_interpreted(self, web, reviewed, address):
        snapshot = ReviewPair.objects.get(pk=reviewed).note_snapshot_id
        answer = web.get(address.format(reviewed, snapshot))

        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer["X-Content-Type-Options"] == "nosniff"

    @pytest.mark.parametrize(
        "name", ["../MANIFEST.json", "..%2fprompt.md", "run-1", ".", "", "x\r\nA: b"]
    )
    def test_of_a_job_are_those_it_has(self, web, reviewed, name):
        answer = web.get(f"/jobs/1/{name}")

        assert answer.status_code in (301, 302, 404)
        assert "A" not in answer.headers
