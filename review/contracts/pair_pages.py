"""The selector's document whole, for a page that shows one pair; the command streams the same."""

from __future__ import annotations

from review.contracts.base import Document
from review.contracts.renames import RenameJson
from review.contracts.selection import SELECTION_SCHEMA, DiffJson, ProblemJson, TargetJson


class SelectionJson(Document, kw_only=True):
    """The answer of `review_target_selector`."""

    schema: str = SELECTION_SCHEMA
    mode: str
    model_partition: str | None
    targets: list[TargetJson]
    diffs: list[DiffJson]
    counts: dict[str, int]
    problems: list[ProblemJson]
    renames: list[RenameJson] = []
