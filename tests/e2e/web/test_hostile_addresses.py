"""Addresses nobody wrote by hand: every page answers, or refuses by name; none breaks."""

from __future__ import annotations

import random
import re
from urllib.parse import quote, urlencode

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.fuzz.mutating import mutants
from tests.fuzz.targets import seeds

HOSTILE = [
    "..", "%2e%2e%2f", "a\nb", "\0", "\x1b[31m", "é", "e\u0301", "\udcff", "a" * 3_000, "-1", "0",
    "9" * 30, "::", "' OR 1=1 --", "<script>", "{{7}}", "%s%n", "kb/notes/a.md", "../../etc/passwd",
]  # fmt: skip
# What the pages filter by, and what other sites would.
NAMES = (
    "after", "format", "note", "gate", "model", "partition", "decision", "status", "severity", "lens",
    "q", "kind", "actor", "job", "pair", "from", "to", "folder", "show", "against", "age", "as", "code",
    "fold", "judged", "lines", "mode", "needs", "seen", "since", "state", "what",
)  # fmt: skip
FINE = {200, 301, 302, 400, 401, 403, 404, 405, 410, 414}


def patterns(resolver: URLResolver, before: str = "") -> list[str]:
    """Every route of the site, as written, those of the admin left out."""
    found: list[str] = []
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            found.append(route)
        elif not route.startswith("admin"):
            found += patterns(entry, route)
    return found


ROUTES = [route for route in patterns(get_resolver()) if "^" not in route and "logout" not in route]


def filled(route: str, value: str) -> str:
    """The route with each of its parameters set to one value, as a browser writes it."""
    written = quote(value.encode("utf-8", "surrogateescape"), safe="/")
    return "/" + re.sub(r"<[^>]+>", written.replace("\\", r"\\"), route)


class TestAddresses:
    def test_are_known(self):
        assert len(ROUTES) > 15

    @pytest.mark.parametrize("route", ROUTES)
    def test_with_hostile_parameters_are_refused_by_name(self, web, root, route):
        for value in HOSTILE if "<" in route else ("",):
            response = web.get(filled(route, value))

            assert response.status_code in FINE, (route, value)

    @pytest.mark.parametrize("route", ROUTES)
    def test_with_hostile_values_of_their_filters_are_refused_by_name(self, web, root, route):
        chance = random.Random(route)  # noqa: S311 - the same addresses each time
        place = filled(route, "1")

        for _ in range(15):
            asked = [
                (chance.choice(NAMES), chance.choice(HOSTILE)) for _ in range(chance.randint(1, 2))
            ]
            query = urlencode(asked, encoding="utf-8", errors="surrogateescape")
            response = web.get(place, QUERY_STRING=query)

            assert response.status_code in FINE, (place, query)

    @pytest.mark.parametrize("route", [route for route in ROUTES if "<" not in route])
    def test_with_hostile_queries_are_refused_by_name(self, web, root, route):
        kept = [seed.read_bytes() for seed in seeds("address")]
        chance = random.Random(route)  # noqa: S311 - the same queries each time
        queries = [*kept, *mutants(kept[0], count=5, chance=chance, others=kept)]

        for query in queries:
            response = web.get(f"/{route}", QUERY_STRING=query.decode("latin-1"))

            assert response.status_code in FINE, (route, query)


class TestNumbersThatNothingHas:
    @pytest.mark.parametrize("number", ["9" * 30, "9" * 5_000], ids=["a-key", "python"])
    @pytest.mark.parametrize(
        "place",
        [
            "/gates/prose/x?against={}", "/reviews/{}/review.txt", "/reviews/{}/note.txt",
            "/jobs/{}/prompt.md", "/admin/review/reviewpair/{}/change/",
        ],
    )  # fmt: skip
    def test_in_an_address_are_refused_by_name(self, web, root, place, number):
        assert web.get(place.format(number)).status_code in FINE

    @pytest.mark.parametrize("lists", ["reviewpair", "reviewjob", "acceptance"])
    def test_in_a_search_of_the_administration_find_nothing(self, web, root, lists):
        response = web.get(f"/admin/review/{lists}/?q={'9' * 30}")

        assert response.context["cl"].result_count == 0

    @pytest.mark.parametrize(
        ("place", "form"),
        [
            pytest.param("/ack/", {"pick": "opus - - {} prose/x"}, id="ack"),
            pytest.param("/request-review/", {"pick": "opus - - {} prose/x"}, id="request"),
            pytest.param("/matrix/request", {"r": "{}", "n": "a", "model": "m"}, id="matrix"),
            pytest.param("/queue/dispose", {"one": "fixed abc {}"}, id="dispose"),
            pytest.param("/queue/all", {"as": "fixed", "number": "{}"}, id="all"),
        ],
    )
    def test_in_a_form_are_refused_by_name(self, web, root, place, form):
        sent = {name: value.format("9" * 5_000) for name, value in form.items()}

        assert web.post(place, {"note": "kb/notes/a.md"} | sent).status_code in {400, 422}
