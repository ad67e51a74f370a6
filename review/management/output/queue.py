"""Prints the warn queue as JSON, a few hundred entries at a time: whole it is tens of megabytes."""

from __future__ import annotations

from collections.abc import Iterator

from review.documents.problems import problem_json
from review.findings.documents import QueueJson
from review.management.kit.json_stream import encode_filled
from review.queue.entries import WarnQueue

_CHUNK = 200


def queue_chunks(queue: WarnQueue) -> Iterator[str]:
    """The document of `warn_selector --json`, in pieces: byte for byte what `encode` would give."""
    problems = [problem_json(problem) for problem in queue.problems]
    frame = QueueJson(
        entries=[], deleted_notes=[], problems=problems, waiting_findings=queue.waiting
    )
    return encode_filled(frame, queue.entries, queue.deleted_notes, at_once=_CHUNK)
