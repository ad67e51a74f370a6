"""Reviews with findings as a queue has them, and the queue as a page and as the command gives it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.contrib.messages import get_messages
from django.test import Client

from review.acceptance.accept import recompute_states
from review.models import Disposition, Finding
from review.queue.queue import Queue, QueueFilter, queue_now
from tests.builders import NOW, make_config
from tests.helpers.commands import run
from tests.helpers.reviewed import review_pairs

LATER = NOW + timedelta(hours=1)
LATE = NOW + timedelta(days=400)


def review_of(*findings: tuple[str, str, str], result: str = "WARN") -> str:
    """The text of a review; each finding is severity, text and quote ("" for none)."""
    lines = ["### Findings"]
    for severity, text, quote in findings:
        lines.append(f"- {severity.upper()}: {text}")
        lines += [f"  > {quote}"] if quote else []
    return "\n".join([*lines, "", f"## Result: {result}"])


def report(root: Path, note: str, gate_id: str, *texts: str, **more: Any) -> list[str]:
    """Have a note reviewed with a warn finding of each text; gives their fingerprints."""
    review = review_of(*(("warn", text, "") for text in texts))
    (pair_id,) = review_pairs(root, (note, gate_id), review=review, **more)
    found = Finding.objects.filter(pair_id=pair_id).order_by("ordinal")
    return list(found.values_list("fingerprint", flat=True))


def queue_of(root: Path, wanted: QueueFilter | None = None, *, now: datetime = LATE) -> Queue:
    """The queue as a page would find it."""
    return queue_now(make_config(root), wanted or QueueFilter(), now=now)


def decide(
    mark: str, state: str, *, at: datetime = LATER, actor: str = "human:bo", **more: Any
) -> int:
    """A disposition as another tab or command leaves it; gives its key."""
    row = Disposition.objects.create(fingerprint=mark, state=state, actor=actor, at=at, **more)
    recompute_states([mark])
    return row.pk


def command_document(*args: object) -> Any:
    """What `warn_selector --json` prints."""
    document = run("warn_selector", *args, "--json").json
    assert document.pop("next") is None
    return document


def page_document(web: Client, query: str = "") -> Any:
    """What the page gives to a program, all parts of it put together."""
    document: Any = None
    url = f"/queue/?{query}&format=json"
    while url:
        part = web.get(url).json()
        url = part.pop("next", "")
        if document is None:
            document = part
        else:
            document["entries"] += part["entries"]
            document["deleted_notes"] += part["deleted_notes"]
    return document


def send(web: Client, url: str, query: str = "", **fields: object) -> Any:
    """Send a form as the page at `/queue/?query` has it."""
    here = f"/queue/?{query}" if query else "/queue/"
    values = [
        (name, one)
        for name, value in {"next": here, **fields}.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return web.post(
        f"{url}?{query}" if query else url,
        urlencode(values),
        content_type="application/x-www-form-urlencoded",
    )


def states() -> dict[str, list[str]]:
    """All that was recorded of each fingerprint, first to last."""
    found: dict[str, list[str]] = {}
    for mark, state in Disposition.objects.order_by("pk").values_list("fingerprint", "state"):
        found.setdefault(mark, []).append(state)
    return found


def told(response: Any) -> list[str]:
    """What the page after it would say."""
    return [str(message) for message in get_messages(response.wsgi_request)]


def rows(web: Client, query: str = "") -> list[str]:
    """The texts of the rows of the queue."""
    page = web.get(f"/queue/?{query}")
    return [row.finding.text for group in page.context["notes"] for row in group.rows]
