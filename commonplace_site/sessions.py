"""Sessions are rows of the store: a logout ends every copy of the cookie, wherever it was made.

A row is found by a digest of its cookie, so that whoever reads the store, or a backup of it, holds
nothing that logs in. It is written when somebody logs in or out and when a form is sent, never by
looking at a page.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.middleware import SessionMiddleware
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from review.web.core.responses import answer_to

_COOKIE = re.compile(r"[0-9a-z]{32}")
_ROW_LENGTH = 40  # hexadecimal digits: what the column holds


def row_key(cookie: str) -> str:
    """The key of the row of a session, by the value of its cookie."""
    return hashlib.sha256(cookie.encode()).hexdigest()[:_ROW_LENGTH]


class SessionStore(db.SessionStore):
    """Django's own, under the digest of the cookie."""

    def exists(self, session_key: str) -> bool:
        return _rows(session_key).exists()

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        made = super().create_model_instance(data)
        made.session_key = row_key(made.session_key)
        return made

    def save(self, must_create: bool = False) -> None:
        """Write the row; one that was ended meanwhile, in another tab, stays ended.

        :raises DatabaseError: the store did not take it.
        """
        try:
            super().save(must_create)
        except UpdateError as error:
            refused = error.__context__
            if isinstance(refused, DatabaseError) and refused.__cause__ is not None:
                raise refused from refused.__cause__

    def delete(self, session_key: str | None = None) -> None:
        if ended := session_key or self.session_key:
            _rows(ended).delete()

    def _get_session_from_db(self) -> Session | None:
        found = _rows(self.session_key or "").filter(expire_date__gt=timezone.now()).first()
        if found is None:
            self._session_key = None
        return found

    def _validate_session_key(self, key: str | None) -> bool:
        """Accept only keys of our own format: databases reject some texts with an error."""
        return key is not None and _COOKIE.fullmatch(key) is not None


def _rows(cookie: str) -> QuerySet[Session]:
    return Session.objects.filter(pk=row_key(cookie))


class KeptSessionMiddleware(SessionMiddleware):
    """Django's own; a store that cannot be written is refused in words, as it is everywhere else."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        try:
            return super().process_response(request, response)
        except DatabaseError as error:
            answer = answer_to(request, error)
            if answer is None:
                raise
            return answer
