"""What a visitor writes into an address: no fault of ours, no header of his, no file but our texts."""

from __future__ import annotations

import pytest

from tests.security.routes import addresses, routes

QUERIES = (
    "after=%00", "after=[", "after=[[[[[[", f"after={'[' * 3000}", 'after=["%00"]', f"after=[{'9' * 5000}]",
    "after=[1e999]", "after=[true]", "after=null", 'after=["a","b","c"]', f"after=[{'1,' * 2000}1]",
    "format=json&after=[-1]", "format=%00", "page=99999999999999999999", "p=-1", "o=9.9.9", "q=%00", "q=%ff",
    f"q={'a%20' * 2000}", "q=%22%22%22", "q=(((((((((", "q=NEAR(a%20b)", "q=a*b*c*", "q=%27%20OR%201=1--", "q=^a:b-c",
    "job=%D9%A3", f"job={'9' * 5000}", "note=%00", "note=../../etc/passwd", "gate=%00", f"gate={'x' * 20000}",
    "id__exact=1e400", "id__exact=%00", "status__exact=%00", "pk__in=" + "1," * 3000, "e=1",
    "&".join(f"q={number}" for number in range(900)), "&".join("a=b" for _ in range(1001)), "next=%0d%0aX-Evil:1",
    "next=//evil.example", "kind=zzz", "size=1e9", "show=%00", "as=%00", "partition=%00", "from=%00", "to=%00",
)  # fmt: skip
SERVER_FAULTS = {500, 502}


class TestHostileAddresses:
    @pytest.mark.parametrize("route", routes())
    def test_are_answered_without_a_fault_of_ours(self, web, reviewed, route):
        for address in addresses(route):
            response = web.get(address)

            assert response.status_code not in SERVER_FAULTS, address
            assert "X-Evil" not in response.headers

    @pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[:30])
    def test_queries_are_answered_without_a_fault_of_ours(self, web, reviewed, query):
        for page in (
            "/", "/jobs/", "/events/", "/looks/", "/notes/", "/matrix/", "/gates/", "/search", "/queue/",
            "/notes/kb/notes/a.md", f"/reviews/{reviewed}/", "/gates/prose/x", "/diff/kb/notes/a.md", "/login/",
            "/admin/review/reviewjob/", "/admin/review/acceptance/",
        ):  # fmt: skip
            response = web.get(f"{page}?{query}")

            assert response.status_code not in SERVER_FAULTS, page
            assert "X-Evil" not in response.headers
