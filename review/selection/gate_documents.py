"""`resolve-gates/1`: what gate names stand for, and which gates apply to a note."""

from __future__ import annotations

from review.documents.base import Document
from review.documents.problems import ProblemJson


class GateJson(Document, kw_only=True):
    """A gate; `rule` is null unless the embedded reviewer can judge it."""

    gate_id: str
    gate_path: str
    lens: str
    name: str
    description: str
    sha256: str
    watches: list[str]
    staleness: str
    requires_type: list[str]
    requires_trait: list[str]
    rule: str | None
    applies_to: list[str] = []
    language: str | None = None


class GatesJson(Document, kw_only=True):
    """The answer of `resolve_gates`; with a note, `gates` are those that apply to it."""

    schema: str = "resolve-gates/1"
    note_path: str | None
    gates: list[GateJson]
    not_applicable: list[str]
    problems: list[ProblemJson]
    next: str | None = None
    summary: dict[str, dict[str, int]] = {}
