"""How much an address may ask for: what is longer is refused before anybody reads it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, QueryDict

from review.errors import UsageRefused
from review.web.pages import refusal

MAX_QUERY_BYTES = 8_000
MAX_FIELDS = 400
# A search becomes a condition for each word and column: a thousand are more than a database takes.
MAX_ADMIN_SEARCH = 200
_ADMIN = "/admin/"


class AddressTooLong(UsageRefused):
    """The address asks for more at once than a page takes."""

    code = "address-too-long"


class BoundsMiddleware:
    """Refuses an address whose part after `?` is too long, or has too many fields."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on, or answer 414; the administration asks the database for what it is given.

        :raises SuspiciousOperation: with what no database takes; answered with 400.
        """
        query = str(request.META.get("QUERY_STRING", ""))
        if len(query) > MAX_QUERY_BYTES or query.count("&") >= MAX_FIELDS:
            return _refused(request, f"{MAX_QUERY_BYTES:,} bytes in {MAX_FIELDS} fields")
        if request.path.startswith(_ADMIN):
            if len(request.GET.get("q", "")) > MAX_ADMIN_SEARCH:
                return _refused(request, f"a search of {MAX_ADMIN_SEARCH} characters")
            if "%00" in query:
                raise SuspiciousOperation("no text in a database holds a NUL character")
        return self.get_response(request)


def _refused(request: HttpRequest, most: str) -> HttpResponse:
    # Whoever reads the fields again, as the page of a refusal does, reads none.
    request.GET = QueryDict("")
    error = AddressTooLong(f"the address is too long; at most {most}", hint="start over at /")
    return refusal(request, error, status=HTTPStatus.REQUEST_URI_TOO_LONG)
