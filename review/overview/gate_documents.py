"""`gate/1`: what the page of one gate says; no command prints it."""

from __future__ import annotations

from review.documents.base import Document
from review.documents.problems import ProblemJson
from review.selection.gate_documents import GateJson


class GateCoverJson(Document, kw_only=True):
    """A gate in one model partition: pairs by state; `fresh` is passed, `warn` and `fail` are fresh
    too. `would_go_stale` are those that an edit of the gate makes stale."""

    model_partition: str
    counts: dict[str, int]
    would_go_stale: int


class GateTextJson(Document, kw_only=True):
    """A stored text of the gate; `is_now` where the file still holds it."""

    snapshot_id: int
    sha256: str
    captured_at: str | None
    byte_size: int
    is_now: bool


class ExampleJson(Document, kw_only=True):
    """An example of the gate; `holds` is null where there is no rule to try it with."""

    kind: str
    expected: str
    found: str | None
    holds: bool | None


class GatePageJson(Document, kw_only=True):
    """The answer of a gate's page; `gate` is null when its file is gone or cannot be used."""

    schema: str = "gate/1"
    gate_id: str
    gate: GateJson | None
    partitions: list[GateCoverJson]
    dispositions: dict[str, int]
    texts: list[GateTextJson]
    examples: list[ExampleJson]
    problems: list[ProblemJson]
