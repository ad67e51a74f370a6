"""Prints the warn queue as JSON, a few hundred entries at a time: whole it is tens of megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from review.contracts.base import encode
from review.contracts.queue import QueueEntryJson, QueueJson
from review.queries.problems import problem_json
from review.queries.warn_queue import WarnQueue

_CHUNK = 200
_SPOT = "[]"


def queue_chunks(queue: WarnQueue) -> Iterator[str]:
    """The document of `warn_selector --json`, in pieces: byte for byte what `encode` would give."""
    problems = [problem_json(problem) for problem in queue.problems]
    frame = encode(QueueJson(entries=[], deleted_notes=[], problems=problems))
    head, between, rest = frame.split(_SPOT, 2)
    yield f"{head}["
    yield from _items(queue.entries)
    yield f"]{between}["
    yield from _items(queue.deleted_notes)
    yield f"]{rest}"


def _items(entries: Sequence[QueueEntryJson]) -> Iterator[str]:
    for start in range(0, len(entries), _CHUNK):
        array = msgspec.json.encode(entries[start : start + _CHUNK])
        comma = "," if start else ""
        yield comma + array[1:-1].decode("utf-8", "surrogatepass")
