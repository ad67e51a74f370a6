"""What a page needs and takes a while the first time: made behind a page that says so and asks again.

A server that has just started knows nothing of a large base. Whoever comes first gets a page at once;
it reloads itself, without a script, until what it needs is there. Small bases are never kept waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.db import connections
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from review.models import CurrentAcceptance
from review.web.pages import wants_json
from review.web.remembered import this_store

# Seconds that a request waits before it says that figures are being counted.
PATIENCE = 0.7
# Seconds until a browser asks again.
AGAIN_AFTER = 2
# Acceptances of a base whose pages are made at once.
SMALL_STORE = 200_000

View = Callable[..., HttpResponse]


@dataclass(frozen=True)
class Source:
    """Something that pages are made of, and that a process keeps once it was made.

    :param what: completes "… is being counted for the first time since the server started".
    """

    what: str
    is_ready: Callable[[], bool]
    make: Callable[[datetime], object]


@dataclass
class _Task:
    done: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class Workshop:
    """Makes sources behind requests, each once at a time; safe for the threads of one process."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, _Task] = {}
        self._lock = threading.Lock()

    def has_made(self, source: Source, *, now: datetime, patience: float) -> bool:
        """Whether the source is there after waiting for it, at most so many seconds.

        Whatever its making raised is raised here, once; the next to come has it tried again.
        """
        key = (source.what, this_store())
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                task = self._tasks[key] = _Task()
                work = (source, task, now)
                threading.Thread(target=self._make, args=work, daemon=True).start()
        if not task.done.wait(patience):
            return False
        with self._lock:
            if self._tasks.get(key) is task:
                del self._tasks[key]
        if task.error is not None:
            raise task.error
        return True

    def _make(self, source: Source, task: _Task, now: datetime) -> None:
        try:
            source.make(now)
        except Exception as error:  # noqa: BLE001 - it is raised where somebody waits for it
            task.error = error
        finally:
            connections.close_all()
            task.done.set()


_workshop = Workshop()


def needs(*sources: Source) -> Callable[[View], View]:
    """Mark a view as made of these sources; a program that asks for the document just waits."""

    def mark(view: View) -> View:
        @wraps(view)
        def ready_view(request: HttpRequest, **of_address: Any) -> HttpResponse:
            if request.method == "GET" and not wants_json(request):
                for source in sources:
                    if not _is_there(source):
                        return _counting(request, source)
            return view(request, **of_address)

        return ready_view

    return mark


def _is_there(source: Source) -> bool:
    if source.is_ready() or not _is_large():
        return True
    return _workshop.has_made(source, now=timezone.now(), patience=PATIENCE)


def _is_large() -> bool:
    """By the last key: counting the rows would take as long as some pages."""
    return (CurrentAcceptance.objects.aggregate(last=Max("pk"))["last"] or 0) > SMALL_STORE


def _counting(request: HttpRequest, source: Source) -> HttpResponse:
    context = {"what": source.what, "seconds": AGAIN_AFTER}
    answer = render(request, "review/counting.html", context, status=HTTPStatus.ACCEPTED)
    answer["Refresh"] = str(AGAIN_AFTER)
    return answer
