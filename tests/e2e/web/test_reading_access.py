"""Who may see the pages for reading, and who may act on them, address by address."""

from __future__ import annotations

import pytest
from django.test import Client

from review.models import Acceptance, DecisionEvent, ReviewJob, ReviewPair
from tests.builders import PARTITION, note_path
from tests.helpers.reviewed import WARN, review_pairs

pytestmark = pytest.mark.django_db
A = note_path("a.md")
PAGES = (
    "/reviews/{pair}/",
    "/reviews/{pair}/?show=note",
    "/reviews/{pair}/note.txt",
    "/reviews/{pair}/gate.txt",
    "/reviews/{pair}/review.txt",
    "/texts/{text}",
    "/notes/",
    f"/notes/{A}",
    f"/diff/{A}",
    f"/diff/{A}?gate=prose/x&model={PARTITION}",
    "/matrix/",
    "/gates/",
    "/gates/prose/x",
    "/search?q=reader",
)
CHANGES = (
    "/reviews/{pair}/decision",
    "/ack/",
    "/override/",
    "/request-review/",
    "/matrix/request",
)


@pytest.fixture
def fill(root):
    """Puts the keys of a review and of a text into an address."""
    (pair,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
    text = ReviewPair.objects.get(pk=pair).note_snapshot_id
    return lambda address: address.format(pair=pair, text=text)


def written() -> tuple[int, int, int]:
    """How much was written by people and for them."""
    return Acceptance.objects.count(), DecisionEvent.objects.count(), ReviewJob.objects.count()


@pytest.mark.parametrize("address", PAGES)
class TestSeeing:
    def test_an_anonymous_visitor_gets_the_login_and_nothing_else(self, client, fill, address):
        response = client.get(fill(address))

        assert response.status_code == 302
        assert response["Location"].startswith("/login/?next=")
        assert response.content == b""

    def test_who_is_not_on_the_staff_is_refused(self, stranger, fill, address):
        response = stranger.get(fill(address))

        assert response.status_code == 403
        assert b"the claim has no source" not in response.content

    def test_staff_see_it_without_a_permission(self, reader, fill, address):
        assert reader.get(fill(address)).status_code == 200

    def test_no_policy_is_loosened(self, reader, fill, address):
        response = reader.get(fill(address))

        assert "unsafe" not in response["Content-Security-Policy"]
        assert response["X-Content-Type-Options"] == "nosniff"
        assert "private" in response["Cache-Control"]


@pytest.mark.parametrize("address", CHANGES)
class TestActing:
    FORM = {
        "note": A, "gate": "prose/x", "model": PARTITION, "reason": "x", "decision": "pass",
        "pick": f"{PARTITION} - - - prose/x", "n": A, "g": "prose/x", "c": "0.0",
        "note_sha256": "0", "gate_sha256": "0",
    }  # fmt: skip

    @pytest.mark.parametrize("who", ["client", "stranger", "reader"])
    def test_takes_a_permission(self, request, fill, address, who):
        before = written()

        response = request.getfixturevalue(who).post(fill(address), self.FORM)

        assert response.status_code in (302, 403)
        assert written() == before

    def test_takes_a_form_of_ours(self, operator, fill, address):
        before = written()
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(operator)

        response = strict.post(fill(address), self.FORM)

        assert response.status_code == 403
        assert written() == before

    def test_is_no_get(self, web, fill, address):
        assert web.get(fill(address)).status_code == 405
